import Foundation
import NestModel
import NestTestSupport
import Testing

/// A user of a terminal who runs `nestc` against one server in one session.
struct CommandLineUser {
    let environment: [String: String]

    /// `session`: `nil` for the session that `nestc` stores below `directory`.
    init(server: String, directory: TemporaryDirectory, session: String? = nil) {
        // Puts the program under test first in the path, for commands that start it themselves.
        let programs = Program.nestc.split(separator: "/").dropLast().joined(separator: "/")
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        var environment = [
            "NEST_SERVER": server, "XDG_STATE_HOME": "\(directory.path)/state", "NEST_SESSION": "", "NEST_GROUP": "",
            "XDG_CONFIG_HOME": "\(directory.path)/config", "NEST_CONTEXT": "", "NEST_TOKEN_FILE": "", "NEST_USER": "",
            "PATH": "/\(programs):\(path)",
        ]
        if let session { environment["NEST_SESSION"] = session }
        self.environment = environment
    }

    init(_ server: ServerProcess, session: String? = nil) async {
        self.init(server: await server.address, directory: server.directory, session: session)
    }

    /// Starts a command without waiting for its end.
    func start(_ arguments: [String], input: [UInt8] = []) throws -> ChildProcess {
        try ChildProcess(Program.nestc, arguments, environment: self.environment, input: input)
    }

    func start(_ arguments: String..., input: [UInt8] = []) throws -> ChildProcess {
        try self.start(arguments, input: input)
    }

    /// Runs a shell command line in which `nestc` is the program under test.
    func shell(_ line: String) async throws -> Result {
        let process = try ChildProcess(
            "/bin/bash",
            ["-c", "set -o pipefail; nestc() { '\(Program.nestc)' \"$@\"; }; \(line)"],
            environment: self.environment
        )
        return try await Result(process)
    }

    /// Runs a command and waits for its end.
    func run(_ arguments: [String], input: [UInt8] = []) async throws -> Result {
        try await Result(
            ChildProcess(Program.nestc, arguments, environment: self.environment, input: input)
        )
    }

    func run(_ arguments: String..., input: String = "") async throws -> Result {
        try await self.run(arguments, input: Array(input.utf8))
    }

    /// Runs a command, which must succeed without writing to standard error, and returns its output.
    @discardableResult
    func output(
        _ arguments: String...,
        input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        try await self.output(arguments, input: input, sourceLocation: sourceLocation)
    }

    @discardableResult
    func output(
        _ arguments: [String],
        input: String = "",
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let result = try await self.run(arguments, input: Array(input.utf8))
        #expect(result.status == 0, "\(result.report)", sourceLocation: sourceLocation)
        #expect(result.errors == "", "\(result.report)", sourceLocation: sourceLocation)
        return result.output
    }

    struct Result {
        /// The exit status, or -1 if the process did not exit normally.
        let status: Int32
        let output: String
        let outputBytes: [UInt8]
        let errors: String
        let report: String

        init(_ process: ChildProcess) async throws {
            let end = try await process.waitForEnd()
            if case .exit(let status) = end { self.status = status } else { self.status = -1 }
            self.output = process.output
            self.outputBytes = process.outputBytes
            self.errors = process.errors
            self.report = await process.report
        }
    }
}

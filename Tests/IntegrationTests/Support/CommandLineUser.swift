import Foundation
import NestModel
import NestTestSupport
import Testing

/// A person with a terminal: runs `nestc` against one server as one session.
struct CommandLineUser {
    let environment: [String: String]

    /// `session` of `nil`: the one that `nestc` keeps itself, below `directory`.
    init(server: String, directory: TemporaryDirectory, session: String? = nil) {
        // With the program under test in front, for commands that start it themselves.
        let programs = Program.nestc.split(separator: "/").dropLast().joined(separator: "/")
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        var environment = [
            "NEST_SERVER": server, "XDG_STATE_HOME": "\(directory.path)/state", "NEST_SESSION": "", "NEST_GROUP": "",
            "XDG_CONFIG_HOME": "\(directory.path)/config", "NEST_CONTEXT": "", "NEST_TOKEN_FILE": "",
            "PATH": "/\(programs):\(path)",
        ]
        if let session { environment["NEST_SESSION"] = session }
        self.environment = environment
    }

    init(_ server: ServerProcess, session: String? = nil) async {
        self.init(server: await server.address, directory: server.directory, session: session)
    }

    /// Starts a command that goes on.
    func start(_ arguments: [String], input: [UInt8] = []) throws -> ChildProcess {
        try ChildProcess(Program.nestc, arguments, environment: self.environment, input: input)
    }

    func start(_ arguments: String..., input: [UInt8] = []) throws -> ChildProcess {
        try self.start(arguments, input: input)
    }

    /// Runs a line of the shell, with `nestc` as the program under test.
    func shell(_ line: String) async throws -> Result {
        let process = try ChildProcess(
            "/bin/bash",
            ["-c", "set -o pipefail; nestc() { '\(Program.nestc)' \"$@\"; }; \(line)"],
            environment: self.environment
        )
        return try await Result(process)
    }

    /// Runs a command to its end.
    func run(_ arguments: [String], input: [UInt8] = []) async throws -> Result {
        try await Result(
            ChildProcess(Program.nestc, arguments, environment: self.environment, input: input)
        )
    }

    func run(_ arguments: String..., input: String = "") async throws -> Result {
        try await self.run(arguments, input: Array(input.utf8))
    }

    /// Runs a command that must succeed and say nothing on standard error; returns what it printed.
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
        /// -1 for one that did not exit.
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

import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A program under test. It writes its output to files, so it never blocks on a reader. It is killed on deinit, so that
/// a failed test leaves no process.
public actor ChildProcess {
    /// The end of a process.
    public enum End: Equatable, Sendable {
        case exit(Int32)
        case signal(Int32)
    }

    public nonisolated let name: String
    public nonisolated let pid: pid_t
    /// The directory of the input and output files.
    private let files: TemporaryDirectory
    private var end: End?

    /// Starts a program. `environment` is added to the tests' environment; `input` is the standard input.
    public init(_ path: String, _ arguments: [String], environment: [String: String] = [:], input: [UInt8] = []) throws
    {
        self.name = "\(path.split(separator: "/").last ?? "") \(arguments.joined(separator: " "))"
        self.files = TemporaryDirectory()
        let directory = self.files.path
        try Data(input).write(to: URL(filePath: "\(directory)/input"))

        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "\(directory)/input", O_RDONLY, 0)
        let writing = O_WRONLY | O_CREAT | O_APPEND
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "\(directory)/output", writing, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "\(directory)/errors", writing, 0o600)

        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let argumentPointers = ([path] + arguments).map { strdup($0) } + [nil]
        let variablePointers = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in argumentPointers + variablePointers { free(pointer) } }
        var attributes = SpawnAttributes.unblocked()
        defer { posix_spawnattr_destroy(&attributes) }
        var pid: pid_t = 0
        let result = posix_spawn(&pid, path, &actions, &attributes, argumentPointers, variablePointers)
        guard result == 0 else { throw ProcessFailure("cannot start \(path): \(String(cString: strerror(result)))") }
        self.pid = pid
    }

    deinit {
        guard self.end == nil else { return }
        kill(self.pid, SIGKILL)
        waitpid(self.pid, nil, 0)
    }

    // MARK: Output

    /// The text on standard output so far.
    public nonisolated var output: String { Self.text("\(self.files.path)/output") }
    /// The text on standard error so far.
    public nonisolated var errors: String { Self.text("\(self.files.path)/errors") }

    public nonisolated var outputBytes: [UInt8] { Self.bytes("\(self.files.path)/output") }

    /// The complete lines of standard output.
    public nonisolated var lines: [String] {
        var lines = self.output.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        lines.removeLast()
        return lines
    }

    /// Waits until standard output has `count` lines. Fails if the process ends before.
    public func lines(atLeast count: Int) async throws -> [String] {
        try await self.wait(for: "\(count) lines") {
            let isOver = self.poll() != nil
            let lines = self.lines
            if lines.count >= count { return lines }
            guard !isOver else { throw ProcessFailure("ended after \(lines.count) lines, not \(count)\(self.report)") }
            return nil
        }
    }

    /// Waits until standard output contains `text`. Fails if the process ends before.
    public func waitForOutput(_ text: String) async throws { try await self.wait(for: text, in: { self.output }) }

    /// Waits until standard error contains `text`. Fails if the process ends before.
    public func waitForErrors(_ text: String) async throws { try await self.wait(for: text, in: { self.errors }) }

    private func wait(for text: String, in written: () -> String) async throws {
        _ = try await self.wait(for: text) {
            let isOver = self.poll() != nil
            if written().contains(text) { return true }
            guard !isOver else { throw ProcessFailure("ended without '\(text)'\(self.report)") }
            return nil
        }
    }

    // MARK: Ending

    /// Waits until the process has ended.
    @discardableResult
    public func waitForEnd() async throws -> End {
        try await self.wait(for: "the end") { self.poll() }
    }

    /// Waits for the end of the process, and fails with its output if it ended differently.
    public func wait(forEnd expected: End) async throws {
        let end = try await self.waitForEnd()
        guard end == expected else { throw ProcessFailure("ended with \(end), not \(expected)\(self.report)") }
    }

    public func send(signal: Int32) {
        // After the process was waited for, its id may belong to another process.
        if self.poll() == nil { kill(self.pid, signal) }
    }

    /// Sends SIGKILL and waits for the end of the process.
    public func killNow() async throws {
        self.send(signal: SIGKILL)
        try await self.waitForEnd()
    }

    /// Returns the end of the process, or `nil` while it runs.
    public func poll() -> End? {
        if let end { return end }
        var status: Int32 = 0
        guard waitpid(self.pid, &status, WNOHANG) == self.pid else { return nil }
        let signal = status & 0x7f
        self.end = signal == 0 ? .exit(status >> 8 & 0xff) : .signal(signal)
        return self.end
    }

    private func wait<Value>(for what: String, _ look: () throws -> Value?) async throws -> Value {
        try await waitFor("\(what) of '\(self.name)'\(self.report)", look)
    }

    /// The end and the output, for failure messages.
    public var report: String {
        let end = self.poll().map { "\($0)" } ?? "running"
        return
            "\n'\(self.name)' (\(end))\n--- output\n\(self.output.suffix(4_000))\n--- errors\n\(self.errors.suffix(4_000))"
    }

    private static func bytes(_ path: String) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: path) else { return [] }
        return [UInt8](data)
    }

    private static func text(_ path: String) -> String { String(decoding: self.bytes(path), as: UTF8.self) }
}

enum SpawnAttributes {
    // POSIX_SPAWN_SETSIGMASK and POSIX_SPAWN_SETSID of Linux; the Glibc module does not import the second.
    private static let setMask: Int16 = 0x08
    static let newSession: Int16 = 0x80

    /// Returns attributes for a process with no blocked signals, as a shell starts it. Threads of Swift's concurrency
    /// block almost all signals, and a process inherits that.
    static func unblocked(_ flags: Int16 = 0) -> posix_spawnattr_t {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, flags | Self.setMask)
        return attributes
    }
}

/// The error for a process that did not behave as the test requires.
public struct ProcessFailure: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}

/// The programs built with the tests.
public enum Program {
    public static let nestd = Program.path("nestd")
    public static let nestc = Program.path("nestc")
    public static let nestbench = Program.path("nestbench")
    public static let nestexamples = Program.path("nestexamples")

    private static func path(_ name: String) -> String {
        // The test program is in the same directory.
        let tests = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let directory = URL(filePath: tests).deletingLastPathComponent().path()
        return "\(directory)/\(name)".replacing("//", with: "/")
    }
}

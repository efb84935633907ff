import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A full-screen terminal program that runs in tmux. A test reads the screen and sends keys.
public final class Screen: Sendable {
    public static let columns = 80
    public static let isAvailable = FileManager.default.isExecutableFile(atPath: Screen.tmux)
    private static let tmux = "/usr/bin/tmux"

    private let socket: String
    private let environment: [String: String]
    /// The process id of this screen's own tmux server. When the server ends, the program loses its terminal and ends.
    public let pid: pid_t

    /// Starts a shell command.
    public init(_ command: String, rows: Int, directory: String, environment: [String: String]) async throws {
        let socket = "\(directory)/.tmux-\(UInt32.random(in: 0...UInt32.max))"
        let settings = "\(directory)/.tmux.conf"
        try Data("set -g status off\nset -g remain-on-exit on\n".utf8).write(to: URL(filePath: settings))
        let start = [
            "-f", settings, "new-session", "-d", "-P", "-F", "#{pid}", "-x", "\(Self.columns)", "-y", "\(rows)",
            "-c", directory, command,
        ]
        let printed = try await Self.tmux(start, socket, environment)
        guard let pid = pid_t(printed.prefix { $0.isNumber }) else { throw ProcessFailure("tmux printed \(printed)") }
        self.socket = socket
        self.environment = environment
        self.pid = pid
    }

    deinit { kill(self.pid, SIGKILL) }

    /// Sends keys by tmux's names, for example `Down`, `PPage`, `Space`, `q`.
    public func press(_ keys: [String]) async throws {
        _ = try await Self.tmux(["send-keys"] + keys, self.socket, self.environment)
    }

    /// Returns the lines of the screen without trailing empty lines.
    public func lines() async throws -> [String] {
        let text = try await Self.tmux(["capture-pane", "-p"], self.socket, self.environment)
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    private static func tmux(
        _ arguments: [String],
        _ socket: String,
        _ environment: [String: String]
    ) async throws -> String {
        let process = try ChildProcess(Self.tmux, ["-S", socket] + arguments, environment: environment)
        try await process.wait(forEnd: .exit(0))
        return process.output
    }
}

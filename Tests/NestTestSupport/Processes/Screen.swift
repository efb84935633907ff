import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A full-screen terminal program that runs in tmux. A test reads the screen and sends keys.
public final class Screen: Sendable {
    public static let usualColumns = 80
    public static let isAvailable = FileManager.default.isExecutableFile(atPath: Screen.tmux)
    private static let tmux = "/usr/bin/tmux"

    private let socket: String
    private let environment: [String: String]
    /// The process id of this screen's own tmux server. When the server ends, the program loses its terminal and ends.
    public let pid: pid_t

    /// Starts a shell command.
    public init(
        _ command: String,
        columns: Int = Screen.usualColumns,
        rows: Int,
        directory: String,
        environment: [String: String]
    ) async throws {
        let socket = "\(directory)/.tmux-\(UInt32.random(in: 0...UInt32.max))"
        let settings = "\(directory)/.tmux.conf"
        try Data("set -g status off\nset -g remain-on-exit on\n".utf8).write(to: URL(filePath: settings))
        let start = [
            "-f", settings, "new-session", "-d", "-P", "-F", "#{pid}", "-x", "\(columns)", "-y", "\(rows)",
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

    /// Types a text, character by character.
    public func type(_ text: String) async throws {
        _ = try await Self.tmux(["send-keys", "-l", "--", text], self.socket, self.environment)
    }

    public func resize(columns: Int, rows: Int) async throws {
        let size = ["resize-window", "-x", "\(columns)", "-y", "\(rows)"]
        _ = try await Self.tmux(size, self.socket, self.environment)
    }

    /// What a program has switched: whether the alternate screen is on, the cursor is visible, and lines wrap.
    public struct Modes: Equatable, Sendable {
        public var isAlternate: Bool
        public var hasCursor: Bool
        public var wraps: Bool

        public init(isAlternate: Bool, hasCursor: Bool, wraps: Bool) {
            self.isAlternate = isAlternate
            self.hasCursor = hasCursor
            self.wraps = wraps
        }
    }

    public func modes() async throws -> Modes {
        let format = "#{alternate_on} #{cursor_flag} #{wrap_flag}"
        let text = try await Self.tmux(["display-message", "-p", format], self.socket, self.environment)
        let flags = text.split(whereSeparator: \.isWhitespace).map { $0 == "1" }
        guard flags.count == 3 else { throw ProcessFailure("tmux printed \(text)") }
        return Modes(isAlternate: flags[0], hasCursor: flags[1], wraps: flags[2])
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

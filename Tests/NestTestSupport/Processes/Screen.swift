import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A program that draws on the whole terminal, run by tmux: a test reads the screen and presses keys.
public final class Screen: Sendable {
    public static let columns = 80
    public static let isAvailable = FileManager.default.isExecutableFile(atPath: Screen.tmux)
    private static let tmux = "/usr/bin/tmux"

    private let name: String
    private let environment: [String: String]

    /// Starts a command of the shell.
    public init(_ command: String, rows: Int, directory: String, environment: [String: String]) async throws {
        self.name = "nest-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
        self.environment = environment
        let settings = "\(directory)/.tmux.conf"
        try Data("set -g status off\nset -g remain-on-exit on\n".utf8).write(to: URL(filePath: settings))
        try await self.tmux(
            ["-f", settings, "new-session", "-d", "-x", "\(Self.columns)", "-y", "\(rows)", "-c", directory, command]
        )
    }

    deinit {
        _ = try? ChildProcess(Self.tmux, ["-L", self.name, "kill-server"])
    }

    /// Presses keys, by tmux's names: `Down`, `PPage`, `Space`, `q`.
    public func press(_ keys: [String]) async throws {
        try await self.tmux(["send-keys"] + keys)
    }

    /// The lines of the screen, without the empty ones at its end.
    public func lines() async throws -> [String] {
        let text = try await self.tmux(["capture-pane", "-p"])
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { line in
            String(line.reversed().drop { $0 == " " }.reversed())
        }
        while lines.last == "" { lines.removeLast() }
        return lines
    }

    @discardableResult
    private func tmux(_ arguments: [String]) async throws -> String {
        let process = try ChildProcess(Self.tmux, ["-L", self.name] + arguments, environment: self.environment)
        try await process.wait(forEnd: .exit(0))
        return process.output
    }
}

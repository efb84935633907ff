import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A full-screen terminal program that runs in tmux. A test reads the screen and sends keys.
public final class Screen: Sendable {
    public static let columns = 80
    public static let isAvailable = FileManager.default.isExecutableFile(atPath: Screen.tmux)
    private static let tmux = "/usr/bin/tmux"

    private let name: String
    private let environment: [String: String]

    /// Starts a shell command.
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

    /// Sends keys by tmux's names, for example `Down`, `PPage`, `Space`, `q`.
    public func press(_ keys: [String]) async throws {
        try await self.tmux(["send-keys"] + keys)
    }

    /// Returns the lines of the screen without trailing empty lines.
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

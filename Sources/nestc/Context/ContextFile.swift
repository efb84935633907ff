import Foundation
import NestClient

/// The user's contexts by name, as JSON in `$XDG_CONFIG_HOME/nest/config` (default `~/.config/nest/config`). Only the
/// user can read the file.
struct ContextFile: Codable {
    /// The context that applies if no flag or variable specifies a server.
    var current: String?
    var contexts: [String: SavedContext] = [:]

    private static let bytesMax = 1 << 20

    static func path() throws -> String {
        if let home = environment("XDG_CONFIG_HOME") { return "\(home)/nest/config" }
        if let home = environment("HOME") { return "\(home)/.config/nest/config" }
        throw CommandFailure(.configuration, "contexts need a directory: set XDG_CONFIG_HOME or HOME")
    }

    /// Returns the contents of the file, or no contexts if there is no file.
    static func read() throws -> ContextFile {
        let path = try self.path()
        guard let bytes = try PrivateFile.read(path, max: self.bytesMax) else { return ContextFile() }
        do {
            return try JSONDecoder().decode(ContextFile.self, from: Data(bytes))
        } catch {
            throw CommandFailure(.configuration, "\(path) is not a valid file of contexts: fix or remove it")
        }
    }

    /// Reads the file, or returns no contexts if the environment does not specify where it is.
    static func readIfAny() throws -> ContextFile {
        guard environment("XDG_CONFIG_HOME") != nil || environment("HOME") != nil else { return ContextFile() }
        return try self.read()
    }

    func write() throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(self)
        try PrivateFile.write(Array(data) + [UInt8(ascii: "\n")], to: try Self.path())
    }

    func context(_ name: String) throws -> SavedContext {
        guard var context = self.contexts[name] else {
            throw CommandFailure(.configuration, "there is no context '\(name)': list them with 'nestc context list'")
        }
        // The user may have edited the file: the address may have any form.
        let servers = try ConnectOptions.addresses(context.server, from: "the context '\(name)'")
        context.server = servers.description
        if servers.usesTLS { context.tls = true }
        return context
    }
}

import Foundation

/// `$XDG_CONFIG_HOME/nest/config` (default `~/.config/nest/config`): the servers of this user by name, as JSON, readable by
/// the user alone.
struct ContextFile: Codable {
    /// The context in use when nothing else is said.
    var current: String?
    var contexts: [String: SavedContext] = [:]

    private static let bytesMax = 1 << 20

    static func path() throws -> String {
        if let home = environment("XDG_CONFIG_HOME") { return "\(home)/nest/config" }
        if let home = environment("HOME") { return "\(home)/.config/nest/config" }
        throw CommandFailure(.configuration, "neither XDG_CONFIG_HOME nor HOME is set: there is no place for contexts")
    }

    /// What is in the file; nothing when there is none.
    static func read() throws -> ContextFile {
        let path = try self.path()
        guard let bytes = try PrivateFile.read(path, max: self.bytesMax) else { return ContextFile() }
        do {
            return try JSONDecoder().decode(ContextFile.self, from: Data(bytes))
        } catch {
            throw CommandFailure(.configuration, "\(path) is not a file of contexts: mend or remove it")
        }
    }

    /// The same, unless nobody said where that would be: then there are none.
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
        guard let context = self.contexts[name] else {
            throw CommandFailure(.configuration, "there is no context '\(name)': 'nestc context list' names them")
        }
        return context
    }
}

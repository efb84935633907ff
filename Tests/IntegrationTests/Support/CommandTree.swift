import Foundation
import NestTestSupport
import Testing

/// The commands of `nestc`, from its own description, so that a test of all commands cannot forget a new one.
enum CommandTree {
    /// Returns the commands that have no subcommands, such as `token create`.
    static func leaves(_ user: CommandLineUser) async throws -> [String] {
        let description = try await user.output("--experimental-dump-help")
        let root = try JSONDecoder().decode(JSONValue.self, from: Data(description.utf8))["command"]
        return try self.leaves(root, path: [])
    }

    private static func leaves(_ command: JSONValue, path: [String]) throws -> [String] {
        let below = ((try? command["subcommands"])?.elementsIfAny ?? []).filter { (try? $0["commandName"]) != "help" }
        guard !below.isEmpty else { return [path.joined(separator: " ")] }
        return try below.flatMap { try self.leaves($0, path: path + [try $0["commandName"].text]) }
    }
}

extension JSONValue {
    fileprivate var elementsIfAny: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
}

import NestModel
import ArgumentParser
import NestDocuments

/// Finds the command that the arguments name. A name that does not exist is refused with the nearest one; the parser
/// would report an unexpected argument.
enum CommandNames {
    /// Throws if the arguments name a command that does not exist. Returns the words after `help`, or `nil` if they are
    /// no request for help.
    static func check(_ arguments: [String]) throws -> [String]? {
        var command: any ParsableCommand.Type = Nestc.self
        var path: [String] = []
        var rest = arguments[...]
        while !command.configuration.subcommands.isEmpty {
            rest = Nestc.droppingGlobalOptions(rest)
            // Options come before the name of a command only if they are those of every command.
            guard let name = rest.popFirst(), !name.hasPrefix("-") else { return nil }
            if path.isEmpty, name == "help" {
                let words = rest.filter { !["--json", "--quiet", "-q"].contains($0) }
                return words.contains { $0.hasPrefix("-") } ? nil : Array(words)
            }
            guard let next = Self.command(name, of: command) else {
                throw Self.unknown(name, after: path, among: Self.names(of: command))
            }
            command = next
            path.append(name)
        }
        return nil
    }

    /// Throws if `nestc help` has no page of this name. `words`: a command, or a topic.
    static func checkHelp(_ words: [String]) throws {
        var command: any ParsableCommand.Type = Nestc.self
        var path: [String] = []
        for word in words {
            guard let next = Self.command(word, of: command) else {
                let topics = path.isEmpty ? HelpTopic.allCases.map(\.rawValue) : []
                throw Self.unknown(word, after: path, among: Self.names(of: command) + topics)
            }
            command = next
            path.append(word)
        }
    }

    /// The commands and topics that `nestc help` accepts first.
    static var helpWords: [String] { Self.names(of: Nestc.self) + HelpTopic.allCases.map(\.rawValue) }

    private static func unknown(_ name: String, after path: [String], among names: [String]) -> CommandFailure {
        let typed = (path + [name]).joined(separator: " ")
        let near = NearestName.find(name, among: names).map {
            "Did you mean '\((path + [$0]).joined(separator: " "))'?"
        }
        let page = (["nestc"] + path + ["--help"]).joined(separator: " ")
        return CommandFailure(
            .usage,
            "there is no command '\(typed)'. \(near ?? "'\(page)' lists the commands\(path.isEmpty ? " and topics" : "").")"
        )
    }

    private static func names(of command: any ParsableCommand.Type) -> [String] {
        command.configuration.subcommands.flatMap { [$0._commandName] + $0.configuration.aliases }
    }

    private static func command(_ name: String, of command: any ParsableCommand.Type) -> (any ParsableCommand.Type)? {
        command.configuration.subcommands.first { $0._commandName == name || $0.configuration.aliases.contains(name) }
    }

    /// Removes the parser's suggestion from its message about an unknown option if no option has a similar name: the
    /// parser suggests any that differs in three letters.
    static func withoutFarSuggestion(_ message: String) -> String {
        guard let match = message.firstMatch(of: /Unknown option '([^']*)'(\. Did you mean '([^']*)'\?)/),
            NearestName.find(String(match.1), among: [String(match.3)]) == nil
        else { return message }
        return message.replacing(match.2, with: "")
    }
}

import ArgumentParser

/// The command line of nest.
struct Nestc: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestc",
        abstract: "View, edit and follow the objects that a nestd server holds.",
        usage: "nestc [--server HOST:PORT] COMMAND …",
        discussion: """
            Examples:
              nestc add Milk Bread
              nestc tree
              nestc subscribe                 follow the top of the outline
              nestc undo
              nestc insert User name=Ann
              nestc fetch --entity User --sort name
              nestc import notes.opml
            """,
        version: "nestc 0.1.0",
        groupedSubcommands: [
            CommandGroup(
                name: "Look",
                subcommands: [List.self, Tree.self, Show.self, FetchRows.self, GetLargeValue.self, Explain.self]
            ),
            CommandGroup(
                name: "Change",
                subcommands: [
                    Add.self, Insert.self, FindOrCreate.self, SetValues.self, PutLargeValue.self, Move.self,
                    Relate.self, Unrelate.self,
                    Remove.self, RunTransaction.self,
                ]
            ),
            CommandGroup(
                name: "Undo",
                subcommands: [
                    UndoLast.self, RedoLast.self, PreviewUndo.self, HistoryList.self, ShowUndoState.self, RunGroup.self,
                ]
            ),
            CommandGroup(name: "Follow", subcommands: [Subscribe.self, FollowChanges.self]),
            CommandGroup(name: "Import and export", subcommands: [Import.self, Export.self, Copy.self]),
            CommandGroup(
                name: "Connect",
                subcommands: [Contexts.self, KeptSession.self, Tokens.self, PingServer.self]
            ),
            CommandGroup(
                name: "Operate",
                subcommands: [
                    Stat.self, ListClients.self, KickClient.self, CheckStore.self, BackUp.self, Model.self,
                    Clusters.self,
                ]
            ),
            CommandGroup(name: "Help", subcommands: [Completion.self, ExitCodes.self]),
        ]
    )

    @OptionGroup var global: GlobalOptions

    /// Whether nestc leaves Ctrl-C to the command that it runs, such as an editor or a shell. That command receives the
    /// signal too, and may continue.
    static func leavesInterrupt(_ arguments: some Collection<String>) -> Bool {
        self.movingGlobalOptions(Array(arguments)).first == RunGroup.configuration.commandName
    }

    /// Lays out a page of help. The page of nestc itself also lists the topics.
    static func page(_ text: String, _ layout: HelpText) -> String {
        guard text.contains("\nUSAGE: \(self.configuration.usage ?? "")\n") else { return layout.page(text) }
        let topics = layout.list(HelpTopic.allCases.map { ($0.rawValue, $0.abstract) })
        return layout.page(text, ending: ["HELP TOPICS ('nestc help TOPIC'):"] + topics)
    }

    /// The options of every command that take a value.
    static let valueOptions = ConnectOptions.valueOptions + ["--session", "--timeout"]
    private static let flags = ["--json", "--quiet", "-q"] + ConnectOptions.flags

    /// Moves options that precede the command's name behind it, where the parser accepts them.
    static func movingGlobalOptions(_ arguments: [String]) -> [String] {
        let rest = self.droppingGlobalOptions(arguments[...])
        // If no command follows, let the parser report the error.
        guard let command = rest.first, !command.hasPrefix("-"), command != "help" else { return arguments }
        return [command] + arguments.prefix(arguments.count - rest.count) + rest.dropFirst()
    }

    /// Whether '--user' precedes 'token create', where it is the caller. Behind these words it is the user of the new
    /// token: moved there, a claim would become a checked label.
    static func hasUserBeforeTokenCreation(_ arguments: [String]) -> Bool {
        let afterOptions = self.droppingGlobalOptions(arguments[...])
        guard afterOptions.first == "token" else { return false }
        let command = self.droppingGlobalOptions(afterOptions.dropFirst())
        guard command.first == "create" else { return false }
        return arguments.prefix(arguments.count - command.count).contains { $0 == "--user" || $0.hasPrefix("--user=") }
    }

    /// Drops the options of every command, up to the first other argument.
    static func droppingGlobalOptions(_ arguments: ArraySlice<String>) -> ArraySlice<String> {
        var rest = arguments
        while let argument = rest.first {
            if self.flags.contains(argument) {
                rest = rest.dropFirst()
            } else if self.valueOptions.contains(argument) {
                rest = rest.dropFirst(2)
            } else if self.valueOptions.contains(where: { argument.hasPrefix("\($0)=") }) {
                rest = rest.dropFirst()
            } else {
                break
            }
        }
        return rest
    }
}

import ArgumentParser

/// The command line of nest.
struct Nestc: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "nestc",
        abstract: "Look at, edit and follow the objects that a nestd serves: an outline, or any model.",
        usage: "nestc [--server HOST:PORT] COMMAND …",
        discussion: """
            Examples:
              nestc add Milk Bread
              nestc tree
              nestc subscribe                 follow the top of the outline; edit it in another terminal
              nestc undo
              nestc insert User name=Ann
              nestc fetch --entity User --sort name
              nestc import notes.opml

            Environment: NEST_SERVER (HOST:PORT), NEST_CONTEXT (see 'nestc help context'), NEST_TOKEN_FILE (see \
            'nestc help token'), NEST_SESSION (32 hex digits), NEST_GROUP (see 'nestc help group'), NO_COLOR. \
            Data goes to standard output, messages to standard error; 'nestc help exit-codes' lists what it ends with.
            """,
        version: "nestc 0.1.0",
        subcommands: [
            Add.self, List.self, Tree.self, Move.self, Insert.self, FindOrCreate.self, Show.self, FetchRows.self,
            SetValues.self, Relate.self, Unrelate.self, Remove.self, RunTransaction.self, Subscribe.self,
            FollowChanges.self, Explain.self, UndoLast.self, RedoLast.self, PreviewUndo.self, HistoryList.self,
            ShowUndoState.self, RunGroup.self, KeptSession.self, Import.self, Export.self, Copy.self, BackUp.self,
            CheckStore.self, Stat.self, ListClients.self, KickClient.self, PingServer.self, Model.self, Contexts.self,
            Tokens.self, ExitCodes.self,
        ]
    )

    @OptionGroup var global: GlobalOptions

    /// Whether Ctrl-C is for the command that this one runs, which gets it too and may go on: an editor, a shell.
    static func leavesInterrupt(_ arguments: some Collection<String>) -> Bool {
        self.movingGlobalOptions(Array(arguments)).first == RunGroup.configuration.commandName
    }

    private static let valueOptions = ConnectOptions.valueOptions + ["--session", "--timeout"]

    /// Options that stand before the command's name are the command's: they are moved behind it.
    static func movingGlobalOptions(_ arguments: [String]) -> [String] {
        var moved: [String] = []
        var rest = arguments[...]
        while let argument = rest.first {
            switch argument {
            case _
            where argument == "--json" || argument == "--quiet" || argument == "-q"
                || ConnectOptions.flags.contains(argument):
                moved.append(argument)
                rest = rest.dropFirst()
            case _ where Self.valueOptions.contains(argument):
                moved += rest.prefix(2)
                rest = rest.dropFirst(2)
            case _ where Self.valueOptions.contains { argument.hasPrefix("\($0)=") }:
                moved.append(argument)
                rest = rest.dropFirst()
            default:
                // Not a command: leave the parser to say what is wrong.
                if argument.hasPrefix("-") || argument == "help" { return arguments }
                return [argument] + moved + rest.dropFirst()
            }
        }
        return arguments
    }
}

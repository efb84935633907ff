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

            Environment:
              NEST_SERVER       the server, HOST:PORT
              NEST_CONTEXT      the context: see 'nestc help context'
              NEST_TOKEN_FILE   the file with the token: see 'nestc help token'
              NEST_SESSION      the session, 32 hex digits: see 'nestc help session'
              NEST_GROUP        the group: see 'nestc help group'
              NO_COLOR          if set, output has no colours

            nestc writes data to standard output and messages to standard error. 'nestc help exit-codes' lists the \
            exit codes.
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

    /// Whether nestc leaves Ctrl-C to the command that it runs, such as an editor or a shell. That command receives the
    /// signal too, and may continue.
    static func leavesInterrupt(_ arguments: some Collection<String>) -> Bool {
        self.movingGlobalOptions(Array(arguments)).first == RunGroup.configuration.commandName
    }

    private static let valueOptions = ConnectOptions.valueOptions + ["--session", "--timeout"]

    /// Moves options that precede the command's name behind it, where the parser accepts them.
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
                // Not a command: let the parser report the error.
                if argument.hasPrefix("-") || argument == "help" { return arguments }
                return [argument] + moved + rest.dropFirst()
            }
        }
        return arguments
    }
}

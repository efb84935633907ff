import ArgumentParser

/// `nestc session …`: the session, whose undo stack this user's commands use.
struct KeptSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Show or change the session that nestc uses.",
        discussion: """
            Examples:
              nestc session                    its public number and undo state
              nestc session show --secret      its secret, for another machine
              nestc session adopt - < FILE     use that session from now on
              nestc session new                start another; the old one is kept
              nestc session list               list your sessions

            A session owns an undo stack. nestc keeps one session for each user and server, in \
            $XDG_STATE_HOME/nest/sessions (default ~/.local/state/nest/sessions), in files that only you can read. A \
            session is a secret: every client that has it can undo its work.
            """,
        subcommands: [ShowSession.self, ListSessions.self, AdoptSession.self, NewSession.self],
        defaultSubcommand: ShowSession.self
    )
}

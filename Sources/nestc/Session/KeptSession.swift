import ArgumentParser

/// `nestc session …`: whose undo stack the commands of this user work on.
struct KeptSession: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "session",
        abstract: "Look at the session that nestc works as, or work as another.",
        discussion: """
            Examples:
              nestc session                    its public number, and what it can undo
              nestc session show --secret      the digits, for another machine
              nestc session adopt - < FILE     work as that session from now on
              nestc session new                begin another; the old one is kept
              nestc session list               those that are kept for this user

            A session owns an undo stack. nestc keeps one per user and server, in $XDG_STATE_HOME/nest/sessions (default \
            ~/.local/state), in files that only the user can read. It is a secret: who has it can undo its work.
            """,
        subcommands: [ShowSession.self, ListSessions.self, AdoptSession.self, NewSession.self],
        defaultSubcommand: ShowSession.self
    )
}

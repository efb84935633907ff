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

            A session owns an undo stack. nestc keeps one session for each user, server and token, in \
            $XDG_STATE_HOME/nest/sessions (default ~/.local/state/nest/sessions), in files that only you can read: \
            HOST_PORT without a token, HOST_PORT_token3 with token 3. So a command with another token undoes and lists \
            other work. A list of servers (a,b,c) has one session, also for a command that names only one of them. To \
            go on with your work when a new token replaces an old one:

              nestc --token-file new.token session adopt - < FILE     FILE: see 'list'

            A session is a secret: every client that has it can undo its work.
            """,
        subcommands: [ShowSession.self, ListSessions.self, AdoptSession.self, NewSession.self],
        defaultSubcommand: ShowSession.self
    )
}

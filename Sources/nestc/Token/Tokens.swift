import ArgumentParser
import NestClient

/// `nestc token …`: who may connect, and do what.
struct Tokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Make, list and revoke the tokens by which a server lets clients in.",
        discussion: """
            Examples:
              nestc token create laptop --role admin -o ~/.config/nest/admin.token
              nestc token create dashboard --role read -o dashboard.token
              nestc token create guest --root 7 -o guest.token     item 7 and below
              nestc token list
              nestc token revoke 3                                 its connections end at once

            A server without tokens lets in everybody who can reach it; from the first one on, which has to be of role admin, nobody \
            gets in without one. Say --token-file FILE (or NEST_TOKEN_FILE, or keep it in a context). 'nestd token create' makes one \
            for a store whose nestd is stopped: the first one, or when all are lost.
            A token is shown once. The server keeps a hash of it.
            """,
        subcommands: [CreateTokenCommand.self, ListTokensCommand.self, RevokeTokens.self],
        defaultSubcommand: ListTokensCommand.self
    )
}

struct RevokeTokens: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Take tokens back. Connections with them end at once.",
        discussion: """
            Examples:
              nestc token revoke 3 4
            """
    )

    @Argument(help: "Their numbers.")
    var numbers: [UInt64]

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        for number in self.numbers { try await client.revokeToken(number) }
    }
}

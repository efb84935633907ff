import ArgumentParser
import NestClient
import NestDocuments

/// `nestc token …`: the access tokens of a server.
struct Tokens: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Create, list and revoke access tokens.",
        discussion: """
            Examples:
              nestc token create laptop --role admin -o ~/.config/nest/admin.token
              nestc token create dashboard --role read -o dashboard.token
              nestc token create guest --root 7 -o guest.token     item 7 and below
              nestc token list
              nestc token revoke 3                                 ends its connections

            A server without tokens accepts every client that can connect. Once it has a token, every client needs \
            one: specify it with --token-file FILE, NEST_TOKEN_FILE or a context. The first token must have the role \
            admin. 'nestd token create' creates a token in the store of a stopped nestd: the first one, or a new one \
            if all are lost.

            A token is shown once. The server stores only a hash of it.
            """,
        subcommands: [CreateTokenCommand.self, ListTokensCommand.self, RevokeTokens.self],
        defaultSubcommand: ListTokensCommand.self
    )
}

struct RevokeTokens: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "revoke",
        abstract: "Revoke tokens. Their connections end at once.",
        discussion: """
            Examples:
              nestc token revoke 3 4
            """
    )

    @Argument(help: "The numbers of the tokens.")
    var numbers: [UInt64]

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        for number in self.numbers {
            try await client.revokeToken(number)
            guard self.global.json else { continue }
            try output.line(.object { $0.field("revoked", number) })
            try output.flush()
        }
    }
}

import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct ListTokensCommand: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the tokens, without their secrets.",
        discussion: """
            Examples:
              nestc token list
              nestc token list --json
            """
    )

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let tokens = try await client.tokens()
        guard !self.global.json else {
            for token in tokens { try output.line(Self.json(token)) }
            return
        }
        guard !tokens.isEmpty else {
            return self.note("there are no tokens: every client that can connect is an administrator")
        }
        let rows = tokens.map { token in
            [
                "\(token.number)", token.grant.name, "\(token.grant.role)",
                token.grant.confinement.map { "\($0.root)" } ?? "",
                ShownText.time(microseconds: token.created),
                token.lastUsed == 0 ? "never" : ShownText.time(microseconds: token.lastUsed),
                "\(token.connections)",
            ]
        }
        try TextTable(header: ["token", "name", "role", "root", "created", "last used", "connections"], rows: rows)
            .print(&output)
    }

    private static func json(_ token: TokenDescription) -> JSONWriter {
        .object { json in
            json.field("token", token.number)
            json.field("name", token.grant.name)
            json.field("role", "\(token.grant.role)")
            json.key("root")
            if let root = token.grant.confinement?.root { json.integer(root.rawValue) } else { json.null() }
            json.field("created", DateText.text(microseconds: token.created))
            json.key("lastUsed")
            if token.lastUsed == 0 { json.null() } else { json.string(DateText.text(microseconds: token.lastUsed)) }
            json.field("connections", token.connections)
            json.key("limits")
            json.object { json in
                json.field("connections", token.grant.limits.connections)
                json.field("requestsInFlight", token.grant.limits.requestsInFlight)
                json.field("subscriptions", token.grant.limits.subscriptions)
                json.field("outputBytes", token.grant.limits.outputBytes)
            }
        }
    }
}

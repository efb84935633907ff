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

            'user' is the label that others see for what the token's clients write: --user of 'nestc token create', or \
            else the name. An expired token ends its connections and is refused. Revoke it to remove it from the list.
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
        // On a terminal, which may be narrow, columns without values are left out.
        let showsUsers = !output.isTerminal || tokens.contains { !$0.grant.user.isEmpty }
        let showsExpiries = !output.isTerminal || tokens.contains { $0.grant.expires != nil }
        let now = microsecondsNow()
        let rows = tokens.map { token in
            ["\(token.number)", token.grant.name] + (showsUsers ? [UserText.cell(token.grant.label)] : [])
                + [
                    "\(token.grant.role)", token.grant.confinement.map { "\($0.root)" } ?? "",
                    ShownText.time(microseconds: token.created),
                    token.lastUsed == 0 ? "never" : ShownText.time(microseconds: token.lastUsed),
                ]
                + (showsExpiries ? [Self.expiry(token, now: now)] : []) + ["\(token.connections)"]
        }
        let header =
            ["token", "name"] + (showsUsers ? ["user"] : []) + ["role", "root", "created", "last used"]
            + (showsExpiries ? ["expires"] : []) + ["connections"]
        try TextTable(header: header, rows: rows).print(&output)
    }

    /// Returns when a token expires; `expired` if it has, by this machine's clock.
    private static func expiry(_ token: TokenDescription, now: Int64) -> String {
        guard let expires = token.grant.expires else { return "never" }
        return token.grant.isExpired(at: now) ? "expired" : ShownText.time(microseconds: expires)
    }

    private static func json(_ token: TokenDescription) -> JSONWriter {
        .object { json in
            json.field("token", token.number)
            json.field("name", token.grant.name)
            json.field("role", "\(token.grant.role)")
            json.key("root")
            if let root = token.grant.confinement?.root { json.integer(root.rawValue) } else { json.null() }
            json.key("user")
            if let label = token.grant.label { json.string(label.text) } else { json.null() }
            json.field("created", DateText.text(microseconds: token.created))
            json.key("lastUsed")
            if token.lastUsed == 0 { json.null() } else { json.string(DateText.text(microseconds: token.lastUsed)) }
            json.key("expires")
            if let expires = token.grant.expires {
                json.string(DateText.text(microseconds: expires))
            } else {
                json.null()
            }
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

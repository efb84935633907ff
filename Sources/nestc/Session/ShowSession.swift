import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct ShowSession: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show the current session and its undo state.",
        discussion: """
            Examples:
              nestc session show
              nestc session show --json
              nestc session show --secret     print only the secret
            """
    )

    @Flag(help: "Print the session's secret, 32 hex digits.")
    var secret = false

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let session = try await client.session().hex
        if self.secret, !self.global.json {
            try output.line(session)
            return
        }
        let (servers, file) = try self.global.sessionFile()
        let source =
            self.global.session != nil ? "--session" : environment("NEST_SESSION") != nil ? "NEST_SESSION" : nil
        let path = source == nil ? file.path : nil
        // A node of a cluster shows no number before the session has written.
        let number = await client.server.flatMap { $0.sessionNumber == 0 ? nil : Int64($0.sessionNumber) }
        let state = try await client.undoState()
        guard !self.global.json else {
            try output.line(
                .object { json in
                    json.optional("session", number)
                    json.field("server", "\(servers)")
                    json.key("file")
                    if let path { json.string(path) } else { json.null() }
                    if self.secret { json.field("secret", session) }
                    json.key("state")
                    json.object { state.writeFields(into: &$0) }
                }
            )
            return
        }
        try output.line(
            "session \(number.map { "s\($0) " } ?? "")of \(servers), "
                + (source.map { "from \($0)" } ?? "kept in \(EscapedText.message(path ?? ""))")
        )
        for line in state.lines(output) { try output.line(line) }
    }
}

import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct ListClients: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "clients",
        abstract: "List the clients that are connected to the server.",
        discussion: """
            Examples:
              nestc clients
              nestc clients --json          one object a line
              nestc kick c12                close a connection

            The id is the connection's id in the server's log. The server does not reuse it while it runs. 'requests' \
            counts requests since the client connected. 'out' is the number of bytes that the client's socket \
            accepted, 'queued' the number that wait because it accepts no more.

            'user' is the label of the client's token. '~' marks a claim: the client has no token and says so itself.
            """
    )

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let clients = try await client.clients()
        if self.global.json {
            for client in clients {
                try output.line(
                    .object { json in
                        json.field("id", "c\(client.number)")
                        json.field("address", client.address)
                        json.field("name", client.name)
                        UserText.write(client.user, into: &json)
                        json.field("session", client.sessionNumber)
                        json.field("connected", DateText.text(microseconds: client.connectedAt))
                        json.field("subscriptions", client.subscriptions)
                        json.field("requests", client.requests)
                        json.field("inFlight", client.requestsInFlight)
                        json.field("bytesIn", client.bytesIn)
                        json.field("bytesOut", client.bytesOut)
                        json.field("bytesQueued", client.bytesQueued)
                    }
                )
            }
            return
        }
        // On a terminal, which may be narrow, a column without values is left out.
        let showsUsers = !output.isTerminal || clients.contains { $0.user != nil }
        let table = TextTable(
            header: ["id", "address", "name"] + (showsUsers ? ["user"] : [])
                + ["session", "connected", "subs", "requests", "in", "out", "queued"],
            rows: clients.map { client in
                ["c\(client.number)", client.address, client.name] + (showsUsers ? [UserText.cell(client.user)] : [])
                    + [
                        client.sessionNumber == 0 ? "" : "s\(client.sessionNumber)",
                        ShownText.time(microseconds: client.connectedAt), ShownText.number(client.subscriptions),
                    ]
                    + [client.requests, client.bytesIn, client.bytesOut, client.bytesQueued].map {
                        ShownText.number($0)
                    }
            }
        )
        try table.print(&output)
    }
}

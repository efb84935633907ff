import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct KickClient: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "kick",
        abstract: "Close connections of clients.",
        discussion: """
            Examples:
              nestc clients                 list the connections
              nestc kick c12 c13

            The server notifies the client. The client may reconnect, as nest's own clients do after a second, and \
            resume its subscriptions. To keep a client out, revoke its token.
            """
    )

    @Argument(help: ArgumentHelp("The connections, as 'nestc clients' lists them.", valueName: "id"))
    var ids: [ClientArgument]

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        for id in self.ids {
            try await client.kick(id.number)
            if self.global.json {
                try output.line(.object { $0.field("disconnected", "c\(id.number)") })
                try output.flush()
            } else {
                self.note("c\(id.number) is disconnected")
            }
        }
    }
}

/// A connection on the command line: 12, or c12 as in the log.
struct ClientArgument: ExpressibleByArgument {
    let number: UInt64

    init?(argument: String) {
        let digits = argument.hasPrefix("c") ? String(argument.dropFirst()) : argument
        // Larger numbers do not fit in a varint.
        guard let number = UInt64(digits), number > 0, number < 1 << 62 else { return nil }
        self.number = number
    }
}

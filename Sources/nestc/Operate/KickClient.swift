import ArgumentParser
import NestClient
import NestModel

struct KickClient: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "kick",
        abstract: "End another client's connection.",
        discussion: """
            Examples:
              nestc clients                 who is connected, and as what
              nestc kick c12 c13

            The client is told and may connect again, as nest's own clients do after a second: what it was following goes on. To \
            keep somebody out, take away what lets them in.
            """
    )

    @Argument(help: ArgumentHelp("The connections, as 'nestc clients' names them.", valueName: "id"))
    var ids: [ClientArgument]

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        for id in self.ids {
            try await client.kick(id.number)
            self.note("c\(id.number) is disconnected")
        }
    }
}

/// A connection on the command line: 12, or c12 as the log writes it.
struct ClientArgument: ExpressibleByArgument {
    let number: UInt64

    init?(argument: String) {
        let digits = argument.hasPrefix("c") ? String(argument.dropFirst()) : argument
        // What is above goes through no varint.
        guard let number = UInt64(digits), number > 0, number < 1 << 62 else { return nil }
        self.number = number
    }
}

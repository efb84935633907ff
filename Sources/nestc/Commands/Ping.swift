import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct PingServer: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "ping",
        abstract: "Measure the round trip to the server.",
        discussion: """
            Examples:
              nestc ping
              nestc ping --count 10
              nestc ping -q && echo up      exits with 69 if no server answers
            """
    )

    @Option(help: ArgumentHelp("The number of pings.", valueName: "n"))
    var count = 1

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.count < 1 { throw ValidationError("--count must be 1 or more") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        for number in 0..<self.count {
            if number > 0 { try await Task.sleep(for: .milliseconds(200)) }
            let elapsed = try await client.ping()
            let microseconds =
                elapsed.components.seconds * 1_000_000 + elapsed.components.attoseconds / 1_000_000_000_000
            if self.global.json {
                try output.line(.object { $0.field("roundTripMicroseconds", microseconds) })
            } else if !self.global.quiet {
                let fraction = "\(1_000 + microseconds % 1_000)".dropFirst()
                try output.line("pong in \(microseconds / 1_000).\(fraction) ms")
            }
            try output.flush()
        }
    }
}

import ArgumentParser
import NestClient
import NestFormats
import NestModel

struct Stat: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the server's counters and gauges.",
        discussion: """
            Examples:
              nestc stat
              nestc stat --json             one object with all of them
            """
    )

    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let statistics = try await client.statistics()
        if self.global.json {
            try output.line(.object { json in for value in statistics { json.field(value.name, value.value) } })
            return
        }
        let width = statistics.map(\.name.count).max() ?? 0
        for value in statistics {
            let name = value.name + String(repeating: " ", count: width - value.name.count)
            try output.line("\(output.dim(name))  \(value.value)")
        }
    }
}

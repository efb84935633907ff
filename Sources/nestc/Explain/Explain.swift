import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Explain: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say how the server follows a request, what that costs, and who shares it.",
        discussion: """
            Examples:
              nestc explain                          of the top of the outline, as 'nestc subscribe' follows it
              nestc explain --entity User --where 'company.name == "Acme"' --sort name:ci
              nestc explain --entity User --json

            Nothing is loaded for it: what a result holds is said when somebody follows the request, or did a minute ago.
            """
    )

    @OptionGroup var request: RequestOptions
    @OptionGroup var global: GlobalOptions

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let resolved = try await self.request.resolve(client, isOutline: true)
        let explanation = try await client.explain(resolved.request)
        if self.global.json {
            try output.line(explanation.json)
            return
        }
        let lines = explanation.lines
        let width = lines.map(\.name.count).max() ?? 0
        for line in lines {
            let name = line.name + String(repeating: " ", count: width - line.name.count)
            try output.line("\(output.dim(name))  \(output.shown(line.text))")
        }
    }
}

import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Explain: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show how the server evaluates a request.",
        discussion: """
            Examples:
              nestc explain                          the top of the outline
              nestc explain --entity User --where 'company.name == "Acme"' --sort name:c
              nestc explain --entity User --json

            explain shows how the server finds the rows and keeps them up to date, what that costs, and how many \
            clients share the result. It does not load a result: it shows the size only if a client follows the \
            request, or did within the last minute.
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
            try output.line("\(output.dim(name))  \(EscapedText.message(line.text))")
        }
    }
}

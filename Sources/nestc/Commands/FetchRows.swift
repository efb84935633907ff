import ArgumentParser
import NestClient
import NestFormats
import NestModel

struct FetchRows: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "List objects of an entity, or those a relationship leads to.",
        discussion: """
            Examples:
              nestc fetch --entity User --sort name,-createdAt
              nestc fetch --entity User --properties name,age --limit 20
              nestc fetch --of 12 --relationship tags
              nestc fetch --entity Tag --json        one JSON object a line

            Without --sort they come in the relationship's order, or by id. A fetch of an entity finds the objects of those
            below it too, and says of which each is. --limit and --offset choose from what the server sends, which is
            everything. Piped, each line is the id and the values, with tabs between.
            """
    )

    @OptionGroup var request: RequestOptions

    @Option(help: ArgumentHelp("At most so many.", valueName: "n"))
    var limit: Int?

    @Option(help: ArgumentHelp("Without the first so many.", valueName: "n"))
    var offset = 0

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let limit, limit < 0 { throw ValidationError("--limit is 0 or more") }
        if self.offset < 0 { throw ValidationError("--offset is 0 or more") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let resolved = try await self.request.resolve(client)
        let snapshot = try await client.fetch(resolved.request)
        let printer = RowPrinter(model: resolved.model, entity: resolved.entity, projection: snapshot.projection)
        let rows = snapshot.sections.flatMap(\.rows).dropFirst(self.offset).prefix(self.limit ?? .max)
        if self.global.json {
            for row in rows {
                var json = JSONWriter()
                printer.write(row, into: &json)
                try output.line(json)
            }
        } else if output.isTerminal {
            try TextTable(header: printer.header, rows: rows.map(printer.cells)).print(&output)
        } else {
            for row in rows { try output.line(printer.cells(row).map(singleLine).joined(separator: "\t")) }
        }
    }
}

import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct FetchRows: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "List objects of an entity, or those a relationship leads to.",
        discussion: """
            Examples:
              nestc fetch --entity User --sort name:ci,-createdAt
              nestc fetch --entity User --properties name,company.name,phones.@count --limit 20
              nestc fetch --entity User --section 'firstCharacter(name)' --sort name:ci
              nestc fetch --entity User --where 'ANY phones.number BEGINSWITH "12"' --count
              nestc fetch --entity User --sort name --window 100..120
              nestc fetch --entity User --sort name --around 90210:5
              nestc fetch --of 12 --relationship tags
              nestc fetch --entity Tag --json        one JSON object a line

            Without --sort they come in the relationship's order, or by id. A fetch of an entity finds the objects of those \
            below it too, and says of which each is. The server sends only the rows of --window, of --limit and --offset, or of --around. \
            Piped, each line is the id and the values, with tabs between; in sections the section's name comes before \
            the id. With --json rows in sections have a field "section", which is null for rows without a value.
            """
    )

    @OptionGroup var request: RequestOptions

    @OptionGroup var window: WindowOptions

    @Flag(help: "Print only how many there are.")
    var count = false

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.count, self.window.fetchWindow != nil {
            throw ValidationError("--count is of all rows: say it without --window, --limit, --offset and --around")
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        var resolved = try await self.request.resolve(client)
        if self.count {
            let count = try await client.count(resolved.request)
            if self.global.json {
                try output.line(.object { $0.field("count", count) })
            } else {
                try output.line("\(count)")
            }
            return
        }
        resolved.request.window = self.window.fetchWindow
        let (snapshot, total) = try await client.fetchWindow(resolved.request)
        let rows = FetchedRows(snapshot, resolved)
        if self.global.json {
            try rows.printJSON(&output)
        } else if output.isTerminal {
            try rows.printTable(&output)
            if snapshot.total < total, let position = snapshot.window {
                try output.line(output.dim(position.summary(snapshot.total)))
            }
        } else {
            try rows.printLines(&output)
        }
    }
}

import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct FetchRows: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "List objects of an entity or of a relationship.",
        discussion: """
            Examples:
              nestc fetch --entity User --sort name:c,-createdAt --limit 20
              nestc fetch --entity User --properties name,company.name,phones.@count
              nestc fetch --entity User --section 'firstCharacter(name)' --sort name:c
              nestc fetch --entity User --where 'ANY phones.number BEGINSWITH "12"' --count
              nestc fetch --entity Task --section owner.name --totals 'count, sum(minutes)'
              nestc fetch --entity Task --where 'due < tomorrow AND done == NO'
              nestc fetch --entity User --sort name --window 100..120
              nestc fetch --entity User --sort name --around 90210:5
              nestc fetch --of 12 --relationship tags
              nestc fetch --entity Tag --json        one JSON object a line

            Without --sort, the order is that of the relationship, or by id. A fetch of an entity includes objects of \
            the entities below it, and shows the entity of each; it leaves out the root object, such as item 1, unless \
            --with-root is given. The server sends only the rows of --window, of \
            --limit and --offset, or of --around.

            If standard output is not a terminal, each line is the id and the values, separated by tabs; with \
            --section, the section's name precedes the id. With --json and --section, each row has a field "section", \
            which is null for rows without a value.
            """
    )

    @OptionGroup var request: RequestOptions

    @OptionGroup var window: WindowOptions

    @Flag(help: "Print only the number of objects.")
    var count = false

    @OptionGroup var freshness: NewestOption
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.count, self.window.fetchWindow != nil {
            throw ValidationError(
                "--count counts all rows; it cannot be combined with --window, --limit, --offset or --around"
            )
        }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        var resolved = try await self.request.resolve(client)
        if self.count {
            let count = try await client.count(resolved.request, atLeast: self.freshness.atLeast)
            if self.global.json {
                try output.line(.object { $0.field("count", count) })
            } else {
                try output.line("\(count)")
            }
            return
        }
        resolved.request.window = self.window.fetchWindow
        let (snapshot, total) = try await client.fetchWindow(
            resolved.request,
            atLeast: self.freshness.atLeast
        )
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

import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Tree: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show an object and everything below it.",
        discussion: """
            Examples:
              nestc tree                    the whole outline
              nestc tree 2 --depth 1        item 2 and its children
              nestc tree --entity Folder    another hierarchy
              nestc tree --follow           the outline as it changes, until q
              nestc tree --json             one JSON object per item, with its depth

            With --follow, the tree is live: on a terminal it fills the screen, and the keys are those of 'nestc \
            subscribe --outline'; elsewhere its first 1,000 rows are printed, and again after each change. With --json, \
            it prints the events of 'nestc subscribe --outline --json'. --depth says how many levels are shown.

            A hierarchy is an entity with a relationship to itself. Without a root object, nestc shows the tree of \
            each object that has no parent. The root object itself is shown only with --with-root: it has no title.

            With --json, "extra" of an item is an object, as in an export.
            """
    )

    @Argument(help: ArgumentHelp("The object at the top. (default: the root)", valueName: "id"))
    var top: IDArgument?

    @Option(help: ArgumentHelp("The number of levels below it.", valueName: "n"))
    var depth: Int?

    @Flag(help: "Keep the tree on the screen, and follow its changes.")
    var follow = false

    @OptionGroup var root: RootOptions
    @OptionGroup var entity: OutlineEntityOptions
    @OptionGroup var freshness: NewestOption
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let depth, depth < 0 { throw ValidationError("--depth must be 0 or more") }
        guard self.follow else { return }
        let what = "--follow shows what is below the object"
        if self.depth == 0 { throw ValidationError("\(what): --depth must be 1 or more") }
        if self.freshness.newest { throw ValidationError("\(what) as it is: leave out --newest") }
        if self.root.withRoot { throw ValidationError("\(what): leave out --with-root") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let hierarchy = try await Hierarchy(client, self.entity, of: self.top?.id)
        if self.follow { return try await self.follow(hierarchy, client, &output) }
        if let top = self.top?.id ?? hierarchy.top {
            return try await self.print(top, hierarchy, client, &output)
        }
        var request = try hierarchy.request(childrenOf: nil)
        request.projection = []
        for row in try await client.fetch(request, atLeast: self.freshness.atLeast).sections.flatMap(\.rows) {
            try await self.print(row.id, hierarchy, client, &output)
        }
    }

    private func follow(_ hierarchy: Hierarchy, _ client: NestClient, _ output: inout Output) async throws {
        guard let top = self.top?.id ?? hierarchy.top else {
            throw CommandFailure(
                .usage,
                "the entity \(hierarchy.entity.name) has no root: nestc tree --follow ID shows what is below an object"
            )
        }
        var request = try hierarchy.request(childrenOf: top)
        let source = FetchSource(object: top, relationship: hierarchy.children.number)
        request.outline = FetchOutline(.all)
        if let depth {
            let objects = try await OutlineOptions.objects(below: source, levels: depth - 1, client)
            request.outline = FetchOutline(.none, exceptions: objects)
        }
        var resolved = RequestOptions.Resolved(
            request: request,
            model: hierarchy.model,
            entity: hierarchy.entity,
            title: "\(hierarchy.children.name) of \(top)"
        )
        if output.isTerminal, !self.global.json, TerminalScreen.isBrowsable {
            return try await OutlineScreen.show(resolved, below: top, at: nil, client)
        }
        let rowsMax = FetchWindow.range(offset: 0, limit: Limits.outlineWindowRowsMax)
        resolved.request.window = self.global.json ? rowsMax : PlainView.window(nil, output) ?? rowsMax
        try await client.withFetchedResults(resolved.request) { results in
            try await OutputReader.closingWhenGone(client) {
                var view = PlainView(resolved)
                guard self.global.json else {
                    return try await view.follow(results, limit: SubscriptionLimit(), &output)
                }
                try await EventJSON(resolved).print(results, &output)
            }
        }
    }

    private func print(
        _ top: ObjectID,
        _ hierarchy: Hierarchy,
        _ client: NestClient,
        _ output: inout Output
    ) async throws {
        let request = SubtreeRequest(root: top, relationship: hierarchy.children.number, depthLimit: self.depth)
        let hiddenDepths = hierarchy.isRoot(top) && !self.root.withRoot ? 1 : 0
        try await client.fetchSubtree(request, atLeast: self.freshness.atLeast) { subtree in
            let printer = hierarchy.printer(subtree.properties)
            for try await rows in subtree {
                for row in rows { try self.print(row, printer, hiddenDepths, &output) }
                try output.flush()
            }
        }
    }

    private func print(
        _ row: SubtreeRow,
        _ printer: RowPrinter,
        _ hiddenDepths: Int,
        _ output: inout Output
    ) throws {
        guard let id = row.id, row.depth >= hiddenDepths else { return }
        let depth = row.depth - hiddenDepths
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("depth", depth)
                    json.field("id", id.rawValue)
                    printer.writeValues(row.values, into: &json)
                }
            )
        } else {
            let indentation = String(repeating: "  ", count: depth)
            try output.line(indentation + printer.line(id: id, values: row.values, output))
        }
    }
}

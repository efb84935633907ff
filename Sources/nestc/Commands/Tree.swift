import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct Tree: NestCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show an item and everything below it.",
        discussion: """
            Examples:
              nestc tree                  the whole outline
              nestc tree 2 --depth 1      item 2 and its children
              nestc tree --json           one JSON object per item, with its depth
            """
    )

    @Argument(help: ArgumentHelp("The item at the top. (default: the root)", valueName: "id"))
    var top: IDArgument?

    @Option(help: ArgumentHelp("The number of levels below it.", valueName: "n"))
    var depth: Int?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if let depth, depth < 0 { throw ValidationError("--depth must be 0 or more") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let outline = try await Outline(client)
        let top = self.top?.id ?? outline.top
        let request = SubtreeRequest(root: top, relationship: outline.children, depthLimit: self.depth)
        let isRootHidden = outline.isRoot(top) && !self.global.json
        try await client.fetchSubtree(request) { subtree in
            let printer = RowPrinter(
                model: outline.model,
                entity: outline.entity,
                projection: subtree.properties
            )
            for try await rows in subtree {
                for row in rows { try self.print(row, printer, isRootHidden: isRootHidden, &output) }
                try output.flush()
            }
        }
    }

    private func print(
        _ row: SubtreeRow,
        _ printer: RowPrinter,
        isRootHidden: Bool,
        _ output: inout Output
    ) throws {
        guard let id = row.id else { return }
        if self.global.json {
            try output.line(
                .object { json in
                    json.field("depth", row.depth)
                    json.field("id", id.rawValue)
                    printer.writeValues(row.values, into: &json)
                }
            )
            return
        }
        // The root item has no title. Its children are the top level of the outline.
        if isRootHidden, row.depth == 0 { return }
        let indentation = String(repeating: "  ", count: row.depth - (isRootHidden ? 1 : 0))
        try output.line(indentation + printer.line(id: id, values: row.values, output))
    }
}

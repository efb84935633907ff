import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct List: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List the children of an object.",
        discussion: """
            Examples:
              nestc ls                    the children of the root
              nestc ls 2                  the children of item 2; same as --parent 2
              nestc ls --entity Folder    the top of another hierarchy
              nestc ls --json             one JSON object per child

            A hierarchy is an entity with a relationship to itself, such as Item with children, or Folder with \
            folders. Without a root object, its top is all objects without a parent.

            If standard output is not a terminal, each line is the id, a tab, and the title: see 'nestc help output'. \
            With --json, "extra" of an item is an object, as in an export.
            """
    )

    @Argument(help: ArgumentHelp("The object whose children to list. (default: the root)", valueName: "id"))
    var id: IDArgument?

    @Option(help: ArgumentHelp("The same object, as an option.", valueName: "id"))
    var parent: IDArgument?

    @OptionGroup var entity: OutlineEntityOptions
    @OptionGroup var freshness: NewestOption
    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.id != nil, self.parent != nil { throw ValidationError("use ID or --parent ID, not both") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let given = (self.id ?? self.parent)?.id
        let hierarchy = try await Hierarchy(client, self.entity, of: given)
        let request = try hierarchy.request(childrenOf: given ?? hierarchy.top)
        let snapshot = try await client.fetch(request, atLeast: self.freshness.atLeast)
        let printer = hierarchy.printer(snapshot.projection, of: request.entity)
        let label = hierarchy.model.entity(request.entity)?.labelAttribute
        let title = label.flatMap { snapshot.projection.firstIndex(of: $0) }
        for row in snapshot.sections.flatMap(\.rows) {
            if self.global.json {
                var json = JSONWriter()
                printer.write(row, into: &json)
                try output.line(json)
            } else if output.isTerminal {
                try output.line(printer.line(row, output))
            } else {
                try output.line("\(row.id)\t\(output.shown(title.map { ValueText.text(row.values[$0]) } ?? ""))")
            }
        }
    }
}

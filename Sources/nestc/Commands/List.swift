import ArgumentParser
import NestClient
import NestDocuments
import NestModel

struct List: NestCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls",
        abstract: "List the children of an item.",
        discussion: """
            Examples:
              nestc ls                    the children of the root
              nestc ls 2                  the children of item 2; same as --parent 2
              nestc ls --json             one JSON object per child

            If standard output is not a terminal, each line is the id, a tab, and the title.
            """
    )

    @Argument(help: ArgumentHelp("The item whose children to list. (default: the root)", valueName: "id"))
    var id: IDArgument?

    @Option(help: ArgumentHelp("The same item, as an option.", valueName: "id"))
    var parent: IDArgument?

    @OptionGroup var global: GlobalOptions

    func validate() throws {
        if self.id != nil, self.parent != nil { throw ValidationError("use ID or --parent ID, not both") }
    }

    func run(_ client: NestClient, _ output: inout Output) async throws {
        let outline = try await Outline(client)
        let snapshot = try await client.fetch(outline.childrenRequest(of: (self.id ?? self.parent)?.id ?? outline.top))
        let printer = RowPrinter(model: outline.model, entity: outline.entity, projection: snapshot.projection)
        let title = snapshot.projection.firstIndex(of: outline.title)
        for row in snapshot.sections.flatMap(\.rows) {
            if self.global.json {
                var json = JSONWriter()
                printer.write(row, into: &json)
                try output.line(json)
            } else if output.isTerminal {
                try output.line(printer.line(row, output))
            } else {
                try output.line("\(row.id)\t\(singleLine(title.map { ValueText.text(row.values[$0]) } ?? ""))")
            }
        }
    }
}

/// Returns a text on one line: line ends and tabs become escapes.
func singleLine(_ text: String) -> String {
    guard text.utf8.contains(where: { $0 == 0x0a || $0 == 0x0d || $0 == 0x09 }) else { return text }
    return escapingControls(text)
}

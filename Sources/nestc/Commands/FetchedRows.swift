import NestDocuments
import NestModel

/// Prints the rows that a fetch returned.
struct FetchedRows {
    private let snapshot: SectionedSnapshot
    private let printer: RowPrinter
    private let names: SectionNames

    init(_ snapshot: SectionedSnapshot, _ resolved: RequestOptions.Resolved) {
        self.snapshot = snapshot
        self.printer = RowPrinter(resolved, projection: snapshot.projection)
        self.names = SectionNames(resolved)
    }

    /// Prints one object a line. Rows in sections have the name of their section.
    func printJSON(_ output: inout Output) throws {
        for section in self.snapshot.sections {
            for row in section.rows {
                var json = JSONWriter()
                json.object { json in
                    json.field("id", row.id.rawValue)
                    if self.names.isSectioned {
                        json.key("section")
                        self.names.write(section.key, into: &json)
                    }
                    self.printer.writeValues(row.values, into: &json)
                }
                try output.line(json)
            }
        }
    }

    /// Prints columns, with a heading for each section.
    func printTable(_ output: inout Output) throws {
        let groups = self.snapshot.sections.map { section in
            TextTable.Group(
                heading: self.names.isSectioned ? output.heading(self.names.heading(section.key)) : nil,
                rows: section.rows.map(self.printer.cells)
            )
        }
        try TextTable(header: self.printer.header, groups: groups).print(&output)
    }

    /// Prints the values of each row with tabs between them. The section's name comes first.
    func printLines(_ output: inout Output) throws {
        for section in self.snapshot.sections {
            let name = self.names.isSectioned ? [self.names.text(section.key)] : []
            for row in section.rows {
                try output.line((name + self.printer.cells(row)).map(escapingControls).joined(separator: "\t"))
            }
        }
    }
}

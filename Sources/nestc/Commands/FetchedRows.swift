import NestDocuments
import NestModel

/// Prints the rows that a fetch returned.
struct FetchedRows {
    private let snapshot: SectionedSnapshot
    private let printer: RowPrinter
    private let names: SectionNames
    private let totals: TotalsText

    init(_ snapshot: SectionedSnapshot, _ resolved: RequestOptions.Resolved) {
        self.snapshot = snapshot
        self.printer = RowPrinter(resolved, projection: snapshot.projection)
        self.names = SectionNames(resolved)
        self.totals = TotalsText(resolved)
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
        guard !self.totals.isEmpty else { return }
        try output.line(
            .object { json in
                json.key("totals")
                self.totals.write(self.snapshot.totals, into: &json)
                guard self.names.isSectioned else { return }
                json.key("sections")
                json.array(self.snapshot.sections) { json, section in
                    json.object { json in
                        json.key("name")
                        self.names.write(section.key, into: &json)
                        json.key("totals")
                        self.totals.write(section.totals, into: &json)
                    }
                }
            }
        )
    }

    /// Prints columns, with a heading for each section.
    func printTable(_ output: inout Output) throws {
        let groups = self.snapshot.sections.map { section in
            TextTable.Group(
                heading: self.names.isSectioned ? self.heading(section, output) : nil,
                rows: section.rows.map(self.printer.cells)
            )
        }
        try TextTable(header: self.printer.header, groups: groups).print(&output)
        if !self.totals.isEmpty { try output.line(output.dim(self.totals.text(self.snapshot.totals))) }
    }

    private func heading(_ section: ResultsSection, _ output: Output) -> String {
        let totals = self.totals.text(section.totals)
        return output.heading(self.names.heading(section.key)) + (totals == "" ? "" : "  \(output.dim(totals))")
    }

    /// Prints the values of each row with tabs between them. The section's name comes first, totals last.
    func printLines(_ output: inout Output) throws {
        for section in self.snapshot.sections {
            let name = self.names.isSectioned ? [self.names.text(section.key)] : []
            for row in section.rows {
                try output.line((name + self.printer.cells(row)).map(escapingControls).joined(separator: "\t"))
            }
        }
        guard !self.totals.isEmpty else { return }
        if self.names.isSectioned {
            for section in self.snapshot.sections {
                let name = escapingControls(self.names.text(section.key))
                try output.line("\(name)\ttotals\t\(self.totals.text(section.totals))")
            }
        }
        try output.line("totals\t\(self.totals.text(self.snapshot.totals))")
    }
}

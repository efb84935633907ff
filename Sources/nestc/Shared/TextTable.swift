/// A table of text in columns.
struct TextTable {
    /// Rows below a heading of their own.
    struct Group {
        /// `nil`: the group has no heading.
        var heading: String?
        var rows: [[String]]
    }

    /// The maximum number of characters in a cell. A longer text is cut.
    private static let cellMax = 40

    var header: [String]
    var groups: [Group]

    init(header: [String], groups: [Group]) {
        self.header = header
        self.groups = groups
    }

    init(header: [String], rows: [[String]]) {
        self.init(header: header, groups: [Group(heading: nil, rows: rows)])
    }

    func print(_ output: inout Output) throws {
        let shown = self.groups.map { group in group.rows.map { row in row.map { Self.cut(escapingControls($0)) } } }
        let widths = self.header.indices.map { column in
            shown.joined().reduce(self.header[column].count) { max($0, $1[column].count) }
        }
        func line(_ cells: [String]) -> String {
            zip(cells, widths).enumerated().map { index, cell in
                let padding = index == cells.count - 1 ? 0 : cell.1 - cell.0.count
                return cell.0 + String(repeating: " ", count: padding)
            }.joined(separator: "  ")
        }
        try output.line(output.dim(line(self.header)))
        for (group, rows) in zip(self.groups, shown) {
            if let heading = group.heading { try output.line(heading) }
            for row in rows { try output.line(line(row)) }
        }
    }

    private static func cut(_ text: String) -> String {
        text.count > Self.cellMax ? "\(text.prefix(Self.cellMax - 1))…" : text
    }
}

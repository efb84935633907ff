/// Rows in columns, for people.
struct TextTable {
    /// A longer cell is cut.
    private static let cellMax = 40

    var header: [String]
    var rows: [[String]]

    func print(_ output: inout Output) throws {
        let shown = self.rows.map { row in row.map { Self.cut(escapingControls($0)) } }
        let widths = self.header.indices.map { column in
            (shown.map { $0[column].count } + [self.header[column].count]).max() ?? 0
        }
        func line(_ cells: [String]) -> String {
            zip(cells, widths).enumerated().map { index, cell in
                let padding = index == cells.count - 1 ? 0 : cell.1 - cell.0.count
                return cell.0 + String(repeating: " ", count: padding)
            }.joined(separator: "  ")
        }
        try output.line(output.dim(line(self.header)))
        for row in shown { try output.line(line(row)) }
    }

    private static func cut(_ text: String) -> String {
        text.count > Self.cellMax ? "\(text.prefix(Self.cellMax - 1))…" : text
    }
}

/// A table of text in columns.
struct TextTable {
    /// Rows below a heading of their own.
    struct Group {
        /// `nil`: the group has no heading.
        var heading: String?
        var rows: [[String]]
    }

    /// The maximum width of a cell that is printed to no terminal. A longer text is cut.
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
        for line in self.lines(columns: output.columns, output) { try output.line(line) }
    }

    /// Returns the lines of the table. `columns`: the width of the terminal; `nil` without a terminal.
    func lines(columns: Int?, _ output: Output) -> [String] {
        let shown = self.groups.map { group in group.rows.map { $0.map { escapingControls($0) } } }
        var natural = self.header.map { DisplayWidth.of($0) }
        for row in shown.joined() {
            for (column, cell) in row.enumerated() { natural[column] = max(natural[column], DisplayWidth.of(cell)) }
        }
        let widths = columns.map { ColumnWidths.fit(natural, in: $0) } ?? natural.map { min($0, Self.cellMax) }
        // Says that columns to the right are not shown, if there is a column for it.
        let isCut = widths.count < natural.count && widths.reduce(1, { $0 + $1 + ColumnWidths.gap }) <= columns ?? 0
        var lines = [output.dim(Self.line(self.header, widths, isPositioned: false) + (isCut ? "  …" : ""))]
        for (group, rows) in zip(self.groups, shown) {
            if let heading = group.heading { lines.append(heading) }
            lines += rows.map { Self.line($0, widths, isPositioned: output.positionsText) }
        }
        return lines
    }

    /// `isPositioned`: the terminal is sent to a column by number after text whose width is not certain.
    private static func line(_ cells: [String], _ widths: [Int], isPositioned: Bool) -> String {
        var line = ""
        var start = 0
        for (index, (cell, width)) in zip(cells, widths).enumerated() {
            let cell = DisplayWidth.cut(cell, to: width)
            guard index < widths.count - 1 else { return line + cell }
            start += width + ColumnWidths.gap
            line += DisplayWidth.padded(cell, to: width + ColumnWidths.gap)
            if isPositioned, !DisplayWidth.isCertain(cell) { line += "\u{1b}[\(start + 1)G" }
        }
        return line
    }
}

import NestModel

/// The columns of a list on the screen. They become wider as wider values appear, and never narrower, so that they stay
/// where they are while the user scrolls.
struct ListColumns {
    struct Cell: Equatable {
        var text: String
        /// The screen's column at which the text begins.
        var start: Int
    }

    private let names: [String]
    /// The widths of the widest values. `nil`: the column is not shown, because it was not asked for and has had no
    /// value so far.
    private var natural: [Int?]
    /// The name of a column that is never shown.
    private let hidden: String?

    /// `isChosen`: the user has specified the properties. Otherwise, properties without values are not shown.
    init(_ names: [String], isChosen: Bool, hidden: String? = nil) {
        self.names = names.map { escapingControls($0) }
        self.hidden = hidden
        // The first column is the id.
        self.natural = self.names.enumerated().map { $0 == 0 || isChosen ? DisplayWidth.of($1) : nil }
    }

    mutating func note(_ cells: [String]) {
        for (column, cell) in cells.enumerated() where cell != "" && self.names[column] != self.hidden {
            let width = max(DisplayWidth.of(escapingControls(cell)), DisplayWidth.of(self.names[column]))
            self.natural[column] = max(self.natural[column] ?? 0, width)
        }
    }

    /// Returns the names of the columns, in at most `room` columns of the screen.
    func header(_ room: Int) -> [Cell] { self.cells(self.names, room) }

    /// Returns the values of a row. Values that do not fit are cut, and columns that do not fit are left out.
    func cells(_ values: [String], _ room: Int) -> [Cell] {
        let shown = self.natural.indices.filter { self.natural[$0] != nil }
        let widths = ColumnWidths.fit(shown.compactMap { self.natural[$0] }, in: room)
        var cells: [Cell] = []
        var start = 0
        for (column, width) in zip(shown, widths) {
            let text = DisplayWidth.cut(escapingControls(values[column]), to: width)
            if text != "" { cells.append(Cell(text: text, start: start)) }
            start += width + ColumnWidths.gap
        }
        // Says that there are more columns, if there is room for it.
        if widths.count < shown.count, start < room, values == self.names {
            cells.append(Cell(text: "…", start: start))
        }
        return cells
    }
}

/// One line of a format in which lines are items or texts, and indentation is depth.
struct ItemLine: Equatable, Sendable {
    /// As in the file: see `LineEscape`.
    var title: [UInt8]
    var done = false
    var members = ItemMembers()
    /// Whether it is a text that is an item of its own.
    var isText = false
}

/// How such a format writes its lines. Lines are without their indentation, and not blank.
protocol ItemDialect: Sendable {
    /// The indentation of each level.
    var unit: [UInt8] { get }
    /// Whether notes are in quotation marks.
    var quotesNotes: Bool { get }

    /// Reads a line of any kind.
    func read(_ line: [UInt8]) -> ItemLine
    /// Whether the line is an item. Another line is text: of the note of the item before it, or an item of its own.
    func isItem(_ line: [UInt8]) -> Bool
    /// The reverse of `read`.
    func line(_ item: ItemLine) -> [UInt8]
    /// Returns the item of a row, and counts what a line cannot hold. `isBelow`: whether it is one level below the row
    /// before it, where a text would be of that row's note.
    func item(_ row: OutlineRow, isBelow: Bool, _ losses: inout LossCounts) -> ItemLine
    /// Counts what `read` has not understood.
    func count(_ item: ItemLine, isText: Bool, _ losses: inout LossCounts)
    /// Gives the row its mark and what `members` has.
    func apply(_ item: ItemLine, to row: inout OutlineRow, _ losses: inout LossCounts)
}

extension ItemDialect {
    /// Whether the line of the item with this title reads back as it is.
    func isPlain(_ title: [UInt8], of item: ItemLine) -> Bool {
        var item = item
        item.title = title
        let line = self.line(item)
        // A byte order mark at the beginning of a file would be dropped.
        guard !LineBytes.isBlank(line), !LineBytes.isBlank(line[0]), !line.starts(with: [0xef, 0xbb, 0xbf]) else {
            return false
        }
        return self.read(line) == item
    }
}

import NestModel

/// Reads a format in which lines are items or texts, and indentation is depth: `IndentationStack`.
///
/// A text to the right of the item before it is a line of the item's note, also after blank lines. Another text is an
/// item of its own. Blank lines that are not within a note are layout, and so are more than one step of indentation.
struct ItemReader<Dialect: ItemDialect>: OutlineReader {
    /// An item whose note may continue.
    private struct Pending: Sendable {
        var row: OutlineRow
        var line: Int
        var column: Int
        /// The column of the note's first line.
        var noteColumn = 0
        var note: [[UInt8]] = []
        var noteBytes = 0
        /// Whether the note has begun with a quotation mark and no line has ended with one.
        var hasOpenQuote = false
    }

    /// A line may have all values of an object, with their escapes.
    private static var lineBytesMax: Int { 128 * Limits.valueBytesMax }
    private static var noteBytesMax: Int { 8 * Limits.valueBytesMax }
    private static var columnsOfTab: Int { 4 }

    private let dialect: Dialect
    private var lines = LineSplitter(lineBytesMax: Self.lineBytesMax)
    private var losses = LossCounts()
    private var stack = IndentationStack()
    private var pending: Pending?
    private var blankCount = 0

    init(_ dialect: Dialect) {
        self.dialect = dialect
    }

    var warnings: [String] {
        var losses = self.losses
        losses.add("lines between two levels, moved to the nearest", count: self.stack.unevenCount)
        return losses.warnings
    }

    mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.read(bytes) { try self.take(line, &rows) }
    }

    mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.finish() { try self.take(line, &rows) }
        try self.flush(&rows)
    }

    private mutating func take(_ line: LineSplitter.Line, _ rows: inout [OutlineRow]) throws(FormatError) {
        _ = try line.text()
        let (column, start) = Self.indentation(line.bytes, columns: .max)
        guard start < line.bytes.count else {
            self.blankCount += 1
            return
        }
        defer { self.blankCount = 0 }
        let rest = Array(line.bytes[start...])
        let isItem = self.dialect.isItem(rest)
        if !isItem, try self.takesNote(line, column) { return }
        try self.flush(&rows)
        let item = self.dialect.read(rest)
        self.dialect.count(item, isText: !isItem, &self.losses)
        let title = LineEscape.text(of: item.title) { self.dialect.isPlain($0, of: item) }
        var row = OutlineRow(depth: self.stack.depth(column: column), title: LineBytes.text(title))
        self.dialect.apply(item, to: &row, &self.losses)
        self.pending = Pending(row: row, line: line.number, column: column)
    }

    /// Takes a line of the note of the item before it.
    private mutating func takesNote(_ line: LineSplitter.Line, _ column: Int) throws(FormatError) -> Bool {
        guard var pending = self.pending, column > pending.column || pending.hasOpenQuote else { return false }
        self.pending = nil
        if pending.note.isEmpty {
            pending.noteColumn = column
        } else {
            pending.noteBytes += self.blankCount
            if pending.noteBytes <= Self.noteBytesMax {
                pending.note += Array(repeating: [], count: self.blankCount)
            }
        }
        let start = Self.indentation(line.bytes, columns: pending.noteColumn).count
        let text = Array(line.bytes[start...])
        pending.noteBytes += text.count + 1
        guard pending.noteBytes <= Self.noteBytesMax else {
            throw FormatError(line: line.number, column: 1, "a note of more than \(Self.noteBytesMax) bytes")
        }
        let quote = UInt8(ascii: "\"")
        if pending.note.isEmpty {
            pending.hasOpenQuote =
                self.dialect.quotesNotes && text.first == quote
                && (text.count == 1 || text.last != quote)
        } else if text.last == quote {
            pending.hasOpenQuote = false
        }
        pending.note.append(text)
        self.pending = pending
        return true
    }

    /// Completes the pending item.
    private mutating func flush(_ rows: inout [OutlineRow]) throws(FormatError) {
        guard var pending = self.pending.take() else { return }
        if !pending.note.isEmpty { pending.row.note = ItemNote(dialect: self.dialect).note(pending.note) }
        try pending.row.check(at: TextLocation(line: pending.line))
        rows.append(pending.row)
    }

    /// Returns the indentation of a line up to a column, in columns and in bytes.
    private static func indentation(_ line: [UInt8], columns: Int) -> (column: Int, count: Int) {
        var column = 0
        var count = 0
        while count < line.count, column < columns {
            switch line[count] {
            case LineBytes.space: column += 1
            case LineBytes.tab: column = (column / Self.columnsOfTab + 1) * Self.columnsOfTab
            default: return (column, count)
            }
            count += 1
        }
        return (column, count)
    }
}

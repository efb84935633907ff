import NestModel

/// Reads Markdown as an outline.
///
/// - `-`, `*`, `+`, `1.` and `1)` begin an item. An item that begins at least two columns to the right of another is
///   its child; tabs go to multiples of four. A box `[x]` marks the item as done.
/// - A heading is an item. Everything up to the next heading of its level or above is below it.
/// - Other text is the note of the item before it, if no blank line is between them or the text begins as far right as
///   the item's text. Otherwise it is an item: the first line is the title, the others are the note. Blocks of code
///   keep every character.
/// - Leaves out rules, front matter and the numbers of numbered items, and counts them.
/// - Emphasis, links and code stay in the text. `MarkdownEscape` resolves escapes.
package struct MarkdownReader: OutlineReader {
    private enum Kind: Sendable {
        case heading
        case item
        case paragraph
    }

    /// An item whose note may continue.
    private struct Pending: Sendable {
        var row: OutlineRow
        var kind: Kind
        var line: Int
        /// The column at which the lines of its note begin.
        var column: Int
        var note: [String] = []
    }

    private static let lineBytesMax = 8 * Limits.valueBytesMax
    private static let columnsOfTab = 4
    /// An item that begins at least this many columns to the right of another is its child.
    private static let childColumns = 2

    private var lines = LineSplitter(lineBytesMax: Self.lineBytesMax)
    private var losses = LossCounts()
    private var isInFrontMatter = false
    /// The levels of the open headings.
    private var headings: [Int] = []
    /// The columns of the open items: of their marks, and of their texts.
    private var items: [(mark: Int, text: Int)] = []
    private var pending: Pending?
    private var blankCount = 0
    /// The mark that opened the current block of code.
    private var fence: String?

    package init() {}

    package var warnings: [String] { self.losses.warnings }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.read(bytes) { try self.take(line, &rows) }
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.finish() { try self.take(line, &rows) }
        try self.flush(&rows)
    }

    private mutating func take(_ line: LineSplitter.Line, _ rows: inout [OutlineRow]) throws(FormatError) {
        let text = try line.text()
        if self.skipsFrontMatter(text, number: line.number) { return }
        let (column, rest) = Self.splittingIndentation(text)
        if self.takesCode(text, column, rest) { return }
        guard !rest.isEmpty else {
            self.blankCount += 1
            return
        }
        defer { self.blankCount = 0 }
        let isInNote = self.pending.map { $0.kind == .item && column >= $0.column } ?? false
        switch MarkdownLine(rest) {
        case .item(let text, let isNumbered, let width):
            if isNumbered { self.losses.add("numbers of numbered items left out") }
            try self.item(text, column: column, width: width, line: line.number, &rows)
        case .heading(let level, let text) where !isInNote:
            try self.heading(text, level, line: line.number, &rows)
        case .rule where !isInNote && !self.takesUnderline(rest):
            try self.flush(&rows)
            self.items = []
            self.losses.add("rules left out")
        case .rule where !isInNote: break
        default:
            if self.takesUnderline(rest) { return }
            try self.text(text, column, rest, line: line.number, &rows)
        }
    }

    // MARK: What a line begins

    private mutating func item(
        _ text: String,
        column: Int,
        width: Int,
        line: Int,
        _ rows: inout [OutlineRow]
    ) throws(FormatError) {
        try self.flush(&rows)
        while let last = self.items.last, column < last.mark + Self.childColumns { self.items.removeLast() }
        var title = text.trimmingSpaces()
        var isDone = false
        if let box = MarkdownLine.box(title) {
            isDone = box.isDone
            title = String(box.text).trimmingSpaces()
        }
        let depth = self.headings.count + self.items.count
        self.items.append((column, column + width))
        let row = OutlineRow(depth: depth, title: MarkdownEscape.readTitle(title), done: isDone)
        self.pending = Pending(row: row, kind: .item, line: line, column: column + width)
        self.fence = MarkdownLine.fence(title).map(String.init)
    }

    private mutating func heading(
        _ text: String,
        _ level: Int,
        line: Int,
        _ rows: inout [OutlineRow]
    ) throws(FormatError) {
        try self.flush(&rows)
        self.items = []
        while let last = self.headings.last, last >= level { self.headings.removeLast() }
        let row = OutlineRow(depth: self.headings.count, title: MarkdownEscape.readTitle(text))
        self.headings.append(level)
        self.pending = Pending(row: row, kind: .heading, line: line, column: 0)
    }

    private mutating func text(
        _ whole: String,
        _ column: Int,
        _ rest: String,
        line: Int,
        _ rows: inout [OutlineRow]
    ) throws(FormatError) {
        self.fence = MarkdownLine.fence(rest).map(String.init)
        if let pending = self.pending, Self.continues(pending, column, isAfterBlank: self.blankCount > 0) {
            let text = Self.dropping(columns: pending.column, of: whole)
            self.addToNote(self.fence == nil ? MarkdownEscape.readNoteLine(text) : text)
            return
        }
        try self.flush(&rows)
        while let last = self.items.last, column < last.text { self.items.removeLast() }
        if !self.items.isEmpty { self.losses.add("texts after the children of their item, read as items") }
        let row = OutlineRow(
            depth: self.headings.count + self.items.count,
            title: MarkdownEscape.readTitle(rest.trimmingSpaces())
        )
        self.pending = Pending(row: row, kind: .paragraph, line: line, column: column)
    }

    private static func continues(_ pending: Pending, _ column: Int, isAfterBlank: Bool) -> Bool {
        switch pending.kind {
        case .heading: true
        case .paragraph: !isAfterBlank
        case .item: !isAfterBlank || column >= pending.column
        }
    }

    private mutating func addToNote(_ line: String) {
        guard self.pending != nil else { return }
        if self.pending?.note.isEmpty == false {
            self.pending?.note += Array(repeating: "", count: self.blankCount)
        }
        self.pending?.note.append(line)
        self.blankCount = 0
    }

    /// Completes the pending item.
    private mutating func flush(_ rows: inout [OutlineRow]) throws(FormatError) {
        self.fence = nil
        guard var pending = self.pending.take() else { return }
        if !pending.note.isEmpty { pending.row.note = pending.note.joined(separator: "\n") }
        try pending.row.check(at: TextLocation(line: pending.line))
        rows.append(pending.row)
    }

    // MARK: What a line belongs to

    /// Takes a line in a block of code. The block ends with its mark, or before a line to the left of its item's text.
    private mutating func takesCode(_ text: String, _ column: Int, _ rest: String) -> Bool {
        guard let fence = self.fence, let pending = self.pending else { return false }
        if !rest.isEmpty, column < pending.column, pending.kind == .item {
            self.fence = nil
            return false
        }
        self.addToNote(Self.dropping(columns: pending.column, of: text))
        if MarkdownLine.closes(rest, fence: fence) { self.fence = nil }
        return true
    }

    /// Takes a line of `=` or `-` below a paragraph of one line, which makes the paragraph a heading.
    private mutating func takesUnderline(_ rest: String) -> Bool {
        guard let pending = self.pending, pending.kind == .paragraph, pending.note.isEmpty, self.blankCount == 0,
            self.items.isEmpty, let first = rest.first, first == "=" || first == "-",
            rest.trimmingSpaces().allSatisfy({ $0 == first })
        else { return false }
        let level = first == "=" ? 1 : 2
        while let last = self.headings.last, last >= level { self.headings.removeLast() }
        self.pending?.kind = .heading
        self.pending?.column = 0
        self.pending?.row.depth = self.headings.count
        self.headings.append(level)
        return true
    }

    /// Skips front matter: lines `name: value` between two `---` at the beginning of the file.
    private mutating func skipsFrontMatter(_ text: String, number: Int) -> Bool {
        if number == 1, text.trimmingSpaces() == "---" {
            self.isInFrontMatter = true
            self.losses.add("lines of front matter left out")
            return true
        }
        guard self.isInFrontMatter else { return false }
        if ["---", "..."].contains(text.trimmingSpaces()) {
            self.isInFrontMatter = false
        } else if let first = text.first, !text.contains(":"), !" \t-#".contains(first) {
            self.isInFrontMatter = false
            return false
        }
        self.losses.add("lines of front matter left out")
        return true
    }

    private static func splittingIndentation(_ text: String) -> (column: Int, rest: String) {
        var column = 0
        var index = text.utf8.startIndex
        while index < text.utf8.endIndex {
            switch text.utf8[index] {
            case UInt8(ascii: " "): column += 1
            case UInt8(ascii: "\t"): column = (column / Self.columnsOfTab + 1) * Self.columnsOfTab
            default: return (column, String(text[index...]))
            }
            index = text.utf8.index(after: index)
        }
        return (column, "")
    }

    /// Returns the text without its indentation up to a column.
    private static func dropping(columns: Int, of text: String) -> String {
        var column = 0
        var index = text.utf8.startIndex
        while index < text.utf8.endIndex, column < columns {
            switch text.utf8[index] {
            case UInt8(ascii: " "): column += 1
            case UInt8(ascii: "\t"): column = (column / Self.columnsOfTab + 1) * Self.columnsOfTab
            default: return String(text[index...])
            }
            index = text.utf8.index(after: index)
        }
        return String(text[index...])
    }
}

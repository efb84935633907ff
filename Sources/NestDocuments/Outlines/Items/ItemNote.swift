/// Writes a note as lines below its item, and reads it back. `LineEscape` writes the lines that would be read as
/// something else: items, blank lines at the ends, spaces at the beginning, and lines of spaces.
struct ItemNote<Dialect: ItemDialect> {
    private let quote = UInt8(ascii: "\"")
    let dialect: Dialect

    /// Returns the note of the lines below an item.
    func note(_ lines: [[UInt8]]) -> String {
        var lines = lines
        let isQuoted = self.dialect.quotesNotes && Self.isQuoted(lines, self.quote)
        if isQuoted {
            lines[0].removeFirst()
            lines[lines.count - 1].removeLast()
        }
        let last = lines.count - 1
        let texts = lines.enumerated().map { index, line in
            LineEscape.text(of: line) { self.isPlain($0, isFirst: index == 0, isLast: index == last, isQuoted) }
        }
        return LineBytes.text(ofLines: texts)
    }

    func lines(_ note: String) -> [[UInt8]] {
        let texts = LineBytes.lines(note)
        let last = texts.count - 1
        let isQuoted = self.dialect.quotesNotes
        var lines = texts.enumerated().map { index, text in
            LineEscape.line(for: text) { self.isPlain($0, isFirst: index == 0, isLast: index == last, isQuoted) }
        }
        if isQuoted {
            lines[0].insert(self.quote, at: 0)
            lines[last].append(self.quote)
        }
        return lines
    }

    private static func isQuoted(_ lines: [[UInt8]], _ quote: UInt8) -> Bool {
        guard let first = lines.first, let last = lines.last, first.first == quote, last.last == quote else {
            return false
        }
        return lines.count > 1 || first.count > 1
    }

    private func isPlain(_ line: [UInt8], isFirst: Bool, isLast: Bool, _ isQuoted: Bool) -> Bool {
        if isQuoted, isFirst { return true }
        if LineBytes.isBlank(line) { return line.isEmpty && (isQuoted || !(isFirst || isLast)) }
        if isFirst, LineBytes.isBlank(line[0]) { return false }
        return !self.dialect.isItem(Array(line.drop(while: LineBytes.isBlank)))
    }
}

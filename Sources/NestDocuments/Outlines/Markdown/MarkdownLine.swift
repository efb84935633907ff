/// The kinds of Markdown lines, without their indentation.
enum MarkdownLine: Equatable {
    /// `text` is what follows the mark, and `width` the columns from the mark to it.
    case item(text: String, isNumbered: Bool, width: Int)
    case heading(level: Int, text: String)
    /// `---`, `***`, `___`.
    case rule
    case text

    init(_ line: String) {
        if Self.isRule(line) {
            self = .rule
        } else if let item = Self.item(line) {
            self = item
        } else if let heading = Self.heading(line) {
            self = heading
        } else {
            self = .text
        }
    }

    /// Whether a text means something else at the beginning of a title or of a note's line.
    static func isStructure(_ text: String, isTitle: Bool) -> Bool {
        MarkdownLine(text) != .text || Self.fence(text) != nil || (isTitle && Self.box(text) != nil)
    }

    /// The mark that opens a block of code, at least three characters; the language follows it.
    static func fence(_ line: String) -> Substring? {
        guard let first = line.first, first == "`" || first == "~" else { return nil }
        let mark = line.prefix { $0 == first }
        guard mark.count >= 3, first == "~" || !line[mark.endIndex...].contains("`") else { return nil }
        return mark
    }

    /// Whether a line closes the block of code that `fence` opened.
    static func closes(_ line: String, fence: some StringProtocol) -> Bool {
        guard let first = fence.first else { return false }
        let mark = line.prefix { $0 == first }
        return mark.count >= fence.count && line[mark.endIndex...].allSatisfy { $0 == " " || $0 == "\t" }
    }

    /// A task's box at the beginning of a title, and the text after it.
    static func box(_ text: String) -> (isDone: Bool, text: Substring)? {
        let box = text.prefix(3)
        guard ["[ ]", "[x]", "[X]"].contains(box) else { return nil }
        let rest = text[box.endIndex...]
        guard let space = rest.unicodeScalars.first else { return (box != "[ ]", rest) }
        guard space == " " || space == "\t" else { return nil }
        return (box != "[ ]", Substring(rest.unicodeScalars.dropFirst()))
    }

    private static func item(_ line: String) -> MarkdownLine? {
        var scalars = line.unicodeScalars[...]
        let digits = scalars.prefix { ("0"..."9").contains($0) }
        scalars = scalars[digits.endIndex...]
        guard let mark = scalars.popFirst() else { return nil }
        guard digits.isEmpty ? "-*+".unicodeScalars.contains(mark) : digits.count < 10 && (mark == "." || mark == ")")
        else {
            return nil
        }
        let text = scalars.drop { $0 == " " || $0 == "\t" }
        guard scalars.isEmpty || text.startIndex > scalars.startIndex else { return nil }
        let space = text.startIndex > scalars.startIndex && !text.isEmpty ? 1 : 0
        return .item(text: String(text), isNumbered: !digits.isEmpty, width: digits.count + 1 + max(space, 1))
    }

    private static func heading(_ line: String) -> MarkdownLine? {
        let scalars = line.unicodeScalars
        let marks = scalars.prefix { $0 == "#" }
        guard (1...6).contains(marks.count) else { return nil }
        let rest = scalars[marks.endIndex...]
        guard rest.isEmpty || rest.first == " " || rest.first == "\t" else { return nil }
        // A heading may also end with marks.
        var text = String(rest).trimmingSpaces()
        let body = text.unicodeScalars
        if let end = body.lastIndex(where: { $0 != "#" }) {
            let next = body.index(after: end)
            if next < body.endIndex, body[end] == " " || body[end] == "\t" {
                text = String(body[..<end]).trimmingSpaces()
            }
        } else {
            text = ""
        }
        return .heading(level: marks.count, text: text)
    }

    private static func isRule(_ line: String) -> Bool {
        guard let first = line.first, first == "-" || first == "*" || first == "_" else { return false }
        return line.allSatisfy { $0 == first || $0 == " " || $0 == "\t" } && line.count { $0 == first } >= 3
    }
}

/// Writes Markdown: one list item for each row, indented by two spaces for each level, with a box `[x]` if it is done.
/// The note follows, in the column of the item's text. Leaves out `extra` and counts it. `MarkdownEscape` writes the
/// texts.
package struct MarkdownWriter: OutlineWriter {
    /// A limit, because every line is indented by its depth: the size of a file grows with the square of the depth.
    package static let depthMax = 10_000

    private let hasOpenBoxes: Bool
    private var bytes: [UInt8] = []
    private var previousDepth = -1
    private var losses = LossCounts()

    /// `hasOpenBoxes`: whether items that are not done get an empty box.
    package init(hasOpenBoxes: Bool = false) {
        self.hasOpenBoxes = hasOpenBoxes
    }

    package var byteCount: Int { self.bytes.count }
    package var warnings: [String] { self.losses.warnings }

    package mutating func write(_ row: OutlineRow) throws(FormatError) {
        precondition(row.depth >= 0 && row.depth <= self.previousDepth + 1, "a row is at most one level below the last")
        guard row.depth < Self.depthMax else {
            throw FormatError(
                "more than \(Self.depthMax) levels in Markdown; the formats jsonl and opml have any depth"
            )
        }
        self.previousDepth = row.depth
        if row.extra != nil { self.losses.add("items whose extra was left out (Markdown cannot hold it)") }
        let attributes = row.attributes.count { $0.value != .null }
        self.losses.add("attributes left out (Markdown cannot hold them)", count: attributes)
        self.indent(row.depth)
        let box = row.done ? " [x]" : self.hasOpenBoxes ? " [ ]" : ""
        let title = MarkdownEscape.title(row.title)
        self.raw("-\(box)\(title.isEmpty ? "" : " ")\(title)\n")
        if let note = row.note { self.note(note, depth: row.depth) }
    }

    package mutating func finish() throws(FormatError) {}

    package mutating func take() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }

    private mutating func note(_ note: String, depth: Int) {
        guard !note.isEmpty else { return self.losses.add("empty notes left out (Markdown has no empty ones)") }
        for line in Self.lines(note) {
            if !line.isEmpty {
                self.indent(depth + 1)
                self.raw(line)
            }
            self.raw("\n")
        }
    }

    /// Returns the lines of a note. The first and the last are not empty; blocks of code keep every character.
    static func lines(_ note: String) -> [String] {
        var body = note.unicodeScalars[...]
        let leading = body.prefix { $0 == "\n" }.count
        body = body.dropFirst(leading)
        var trailing = 0
        while body.last == "\n" {
            body.removeLast()
            trailing += 1
        }
        var lines = body.split(separator: "\n", omittingEmptySubsequences: false).map { String(Substring($0)) }
        var closing: Int?
        for index in lines.indices {
            if let end = closing, index <= end {
                if index == end { closing = nil }
                continue
            }
            // The text is at the beginning of its line only if no references precede it.
            let isAtStart = index > 0 || leading == 0
            if isAtStart, let end = Self.endOfCode(lines, index, hasTail: trailing > 0) {
                closing = end
                continue
            }
            lines[index] = MarkdownEscape.noteLine(lines[index], isAtStart: isAtStart)
        }
        let reference = "&#10;"
        lines[0] = String(repeating: reference, count: leading) + lines[0]
        lines[lines.count - 1] += String(repeating: reference, count: trailing)
        return lines
    }

    /// Returns the line that closes the block of code that begins at `start`; `nil` when none begins or ends, or the
    /// block would not read back.
    private static func endOfCode(_ lines: [String], _ start: Int, hasTail: Bool) -> Int? {
        guard let fence = MarkdownLine.fence(lines[start].trimmingSpaces()) else { return nil }
        let rest = lines[(start + 1)...]
        guard let end = rest.firstIndex(where: { MarkdownLine.closes($0.trimmingSpaces(), fence: fence) }),
            !(hasTail && end == lines.count - 1), !lines[start...end].contains(where: { $0.utf8.contains(0x0d) })
        else { return nil }
        return end
    }

    private mutating func indent(_ depth: Int) {
        self.bytes += [UInt8](repeating: UInt8(ascii: " "), count: 2 * depth)
    }

    private mutating func raw(_ text: String) { self.bytes.append(contentsOf: text.utf8) }
}

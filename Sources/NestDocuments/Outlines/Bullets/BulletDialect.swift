/// The plain text of Workflowy and Dynalist: an item is a line `- title`, with a mark before the title if it is done.
struct BulletDialect: ItemDialect {
    let unit: [UInt8]
    let quotesNotes: Bool
    /// What stands before the title of an item that is done.
    private let done: [[UInt8]]
    /// What stands before the title of an item that has an empty box.
    private let open: [UInt8]?
    private let name: String

    /// `[COMPLETE]`, two spaces a level, notes in quotation marks.
    static let workflowy = BulletDialect(
        unit: Array("  ".utf8),
        quotesNotes: true,
        done: ["[COMPLETE]"].map { Array($0.utf8) },
        open: nil,
        name: "Workflowy's text"
    )

    /// `[x]` and `[ ]`, four spaces a level.
    static let dynalist = BulletDialect(
        unit: Array("    ".utf8),
        quotesNotes: false,
        done: ["[x]", "[X]"].map { Array($0.utf8) },
        open: Array("[ ]".utf8),
        name: "Dynalist's text"
    )

    private static let bullets = ["-", "*", "•"].map { Array($0.utf8) }
    /// The member of an item with an empty box, as Dynalist has it in OPML: the text `true`.
    private static let checkbox = "checkbox"

    func isItem(_ line: [UInt8]) -> Bool { Self.bullets.contains(Array(LineBytes.word(line[...]).word)) }

    func read(_ line: [UInt8]) -> ItemLine {
        let (word, rest) = LineBytes.word(line[...])
        guard Self.bullets.contains(Array(word)) else { return ItemLine(title: Array(LineBytes.trimmed(line[...]))) }
        let title = LineBytes.trimmed(rest)
        for mark in self.done {
            guard let text = Self.text(title, after: mark) else { continue }
            return ItemLine(title: text, done: true)
        }
        guard let open, let text = Self.text(title, after: open) else { return ItemLine(title: Array(title)) }
        var item = ItemLine(title: text)
        _ = item.members.add(Self.checkbox, .string("true"))
        return item
    }

    private static func text(_ title: ArraySlice<UInt8>, after mark: [UInt8]) -> [UInt8]? {
        guard title.starts(with: mark) else { return nil }
        let rest = title.dropFirst(mark.count)
        return rest.first.map(LineBytes.isBlank) ?? true ? Array(LineBytes.trimmed(rest)) : nil
    }

    func line(_ item: ItemLine) -> [UInt8] {
        var words = [Array("-".utf8)]
        if item.done { words.append(self.done[0]) } else if let open, item.members.count > 0 { words.append(open) }
        if !item.title.isEmpty { words.append(item.title) }
        return Array(words.joined(separator: [LineBytes.space]))
    }

    func item(_ row: OutlineRow, isBelow: Bool, _ losses: inout LossCounts) -> ItemLine {
        var item = ItemLine(title: Array(row.title.utf8), done: row.done)
        let attributes = row.attributes.count { $0.value != .null }
        losses.add("attributes left out (\(self.name) cannot hold them)", count: attributes)
        guard let extra = row.extra else { return item }
        let members = OutlineExtra(extra)
        if self.open != nil, !row.done, members?[Self.checkbox] == .string("true") {
            _ = item.members.add(Self.checkbox, .string("true"))
            if members?.members.count == 1 { return item }
        }
        losses.add("items whose extra was left out (\(self.name) cannot hold it)")
        return item
    }

    func count(_ item: ItemLine, isText: Bool, _ losses: inout LossCounts) {
        if isText { losses.add("lines without a bullet, read as items") }
    }

    func apply(_ item: ItemLine, to row: inout OutlineRow, _ losses: inout LossCounts) {
        row.done = item.done
        item.members.apply(to: &row, OutlineFields(), &losses)
    }
}

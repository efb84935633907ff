import NestModel

/// Writes Org: one headline for each row, with its members of `extra` and its attributes as `OrgReader` reads them.
/// What Org has no form for is in the property `nest-extra`, as JSON, so that everything reads back.
package struct OrgWriter: OutlineWriter {
    private let fields: OutlineFields
    private var bytes: [UInt8] = []
    private var previousDepth = -1
    private var losses = LossCounts()
    private var keywords = OrgKeywords()

    package init(_ fields: OutlineFields = OutlineFields()) {
        self.fields = fields
    }

    package var byteCount: Int { self.bytes.count }
    package var warnings: [String] { self.losses.warnings }

    package mutating func write(_ row: OutlineRow) throws(FormatError) {
        precondition(row.depth >= 0 && row.depth <= self.previousDepth + 1, "a row is at most one level below the last")
        try OutlineFormat.org.checkDepth(row.depth)
        var members = ItemMembers(row, &self.losses)
        if self.previousDepth < 0 { self.preamble(&members) }
        self.previousDepth = row.depth
        let keywords = self.keywords
        var headline = OrgHeadline(level: row.depth + 1, title: Array(row.title.utf8))
        headline.keyword = self.keyword(row, &members)
        if let priority = members.string("priority"), OrgHeadline.isPriority(priority) {
            headline.priority = priority
            members.remove("priority")
        }
        self.tags(&headline, &members)
        headline.title = LineEscape.line(for: headline.title) { headline.isPlain($0, keywords) }
        self.line(headline.line)
        var place = OrgSection.Place.dates
        let order = self.order(&members)
        let dates = self.dates(&members, order)
        if !dates.isEmpty {
            self.line(Array(OrgSection.line(dates).utf8))
            place = .properties
        }
        if self.properties(members, order) { place = .text }
        guard let note = row.note else { return }
        for line in OrgNote.lines(note, at: place) { self.line(line) }
    }

    package mutating func finish() throws(FormatError) {}

    package mutating func take() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }

    private mutating func line(_ line: [UInt8]) {
        self.bytes += line
        self.bytes.append(UInt8(ascii: "\n"))
    }

    /// Writes the text before the first headline, if it reads back as it is.
    private mutating func preamble(_ members: inout ItemMembers) {
        guard let text = members.string(OrgReader.preamble), !text.utf8.contains(UInt8(ascii: "\r")) else { return }
        let lines = LineBytes.lines(text)
        guard let first = lines.first, let last = lines.last, !LineBytes.isBlank(first), !LineBytes.isBlank(last),
            !lines.contains(where: { OrgHeadline.isHeadline($0) }), !first.starts(with: [0xef, 0xbb, 0xbf])
        else { return }
        for line in lines {
            self.keywords.take(line)
            self.line(line)
        }
        members.remove(OrgReader.preamble)
    }

    /// Returns the keyword of the row's `extra` if it agrees with the row's mark, otherwise the usual one.
    private mutating func keyword(_ row: OutlineRow, _ members: inout ItemMembers) -> String? {
        var keyword = row.done ? self.keywords.done : nil
        for (name, isDone) in [("todo", false), ("done", true)] {
            guard let word = members.string(name) else { continue }
            guard let known = self.keywords.isDone(word), known == isDone, word != self.keywords.done else {
                if name == "todo" {
                    self.losses.add("keywords written as properties (no line #+TODO: before the headlines has them)")
                }
                continue
            }
            // The mark has changed since the word was read: then the word is no longer true.
            members.remove(name)
            if row.done == isDone { keyword = word }
        }
        return keyword
    }

    private mutating func tags(_ headline: inout OrgHeadline, _ members: inout ItemMembers) {
        guard case .array(let elements) = members[ItemMembers.tags], !elements.isEmpty else { return }
        let tags = elements.compactMap { if case .string(let tag) = $0 { tag } else { nil } }
        guard tags.count == elements.count, tags.allSatisfy(OrgHeadline.isTag) else { return }
        headline.tags = tags
        members.remove(ItemMembers.tags)
    }

    /// Returns the place of each name in the order of the file.
    private func order(_ members: inout ItemMembers) -> [String: Int] {
        guard let order = members.string(OrgReader.order) else { return [:] }
        members.remove(OrgReader.order)
        return Dictionary(order.split(separator: " ").enumerated().map { (String($1), $0) }) { first, _ in first }
    }

    private static func sorted(_ names: [String], _ order: [String: Int]) -> [String] {
        names.sorted { (order[$0] ?? .max, $0) < (order[$1] ?? .max, $1) }
    }

    private func dates(_ members: inout ItemMembers, _ order: [String: Int]) -> [(name: String, stamp: String)] {
        var dates: [(name: String, stamp: String)] = []
        for name in Self.sorted(Array(OrgSection.names), order) {
            guard var text = members.string(name) else { continue }
            if self.fields.dates.contains(name) {
                text = FileDate.stamp(text, isActive: name != "closed") ?? text
            }
            guard OrgSection.isStamp(text) else { continue }
            dates.append((name, text))
            members.remove(name)
        }
        return dates
    }

    /// Writes the other members. Returns `false` if there are none.
    private mutating func properties(_ members: ItemMembers, _ order: [String: Int]) -> Bool {
        var lines: [[UInt8]] = []
        var others: [String] = []
        for name in Self.sorted(members.names, order) {
            guard let text = members.string(name), OrgSection.isName(name), lines.count < ItemMembers.countMax - 1
            else {
                others.append(name)
                continue
            }
            let value = LineEscape.line(for: Array(text.utf8), isPlain: OrgSection.isPlain)
            lines.append(OrgSection.line(name: name, value: value))
        }
        if let rest = members.restText(others) {
            lines.append(OrgSection.line(name: ItemMembers.rest, value: Array(rest.utf8)))
        }
        guard !lines.isEmpty else { return false }
        self.line(Array(":PROPERTIES:".utf8))
        for line in lines { self.line(line) }
        self.line(Array(":END:".utf8))
        return true
    }
}

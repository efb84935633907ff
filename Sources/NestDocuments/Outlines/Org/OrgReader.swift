import NestModel

/// Reads Org: one row for each headline.
///
/// - The item is done if its keyword means that (`OrgKeywords`). Members of `extra` hold any other keyword (`todo`, or
///   `done` if it means done), the `priority`, the `tags`, the dates `scheduled`, `deadline` and `closed` as they
///   stand, and the properties by their names. Attributes of these names get the values instead.
/// - The text below the headline is the note, with its lists, blocks and drawers. Blank lines at its ends, and white
///   space within a headline and before dates and properties, are layout.
/// - The text before the first headline goes into the member `preamble` of the first item.
/// - If dates and properties are in an unusual order, `property order` has their names in that order.
/// - Properties that are no members (a name twice, a line without one) stay in the note.
/// - Counts headlines that skip levels, and settings of keywords after the first headline.
package struct OrgReader: OutlineReader {
    static let preamble = "preamble"
    static let order = "property order"
    /// A line may have a value and its escapes, and the lines between two headlines all values of an object.
    private static let lineBytesMax = 16 * Limits.valueBytesMax
    private static let sectionBytesMax = 128 * Limits.valueBytesMax

    private let fields: OutlineFields
    private var lines = LineSplitter(lineBytesMax: Self.lineBytesMax)
    private var losses = LossCounts()
    private var keywords = OrgKeywords()
    /// The levels of the open headlines.
    private var levels: [Int] = []
    /// The last headline, with its line and its depth.
    private var headline: (headline: OrgHeadline, line: Int, depth: Int)?
    private var section: [[UInt8]] = []
    private var sectionBytes = 0
    private var preamble: String?

    package init(_ fields: OutlineFields = OutlineFields()) {
        self.fields = fields
    }

    package var warnings: [String] { self.losses.warnings }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.read(bytes) { try self.take(line, &rows) }
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.finish() { try self.take(line, &rows) }
        if self.headline == nil {
            self.losses.add(
                "lines left out (the file has no headline)",
                count: LineBytes.trimmed(self.section[...]).count
            )
        }
        try self.flush(&rows)
    }

    private mutating func take(_ line: LineSplitter.Line, _ rows: inout [OutlineRow]) throws(FormatError) {
        _ = try line.text()
        guard OrgHeadline.isHeadline(line.bytes) else {
            self.sectionBytes += line.bytes.count + 1
            guard self.sectionBytes <= Self.sectionBytesMax else {
                throw FormatError(
                    line: line.number,
                    column: 1,
                    "more than \(Self.sectionBytesMax) bytes without a headline"
                )
            }
            self.section.append(line.bytes)
            if self.headline == nil {
                self.keywords.take(line.bytes)
            } else if OrgKeywords.isSetting(line.bytes) {
                self.losses.add("lines like #+TODO: without effect (they are after the first headline)")
            }
            return
        }
        try self.flush(&rows)
        let headline = OrgHeadline(line.bytes, self.keywords)
        while let last = self.levels.last, last >= headline.level { self.levels.removeLast() }
        if headline.level > (self.levels.last ?? 0) + 1 { self.losses.add("headlines that skip levels, moved up") }
        self.headline = (headline, line.number, self.levels.count)
        self.levels.append(headline.level)
    }

    /// Completes the last headline.
    private mutating func flush(_ rows: inout [OutlineRow]) throws(FormatError) {
        let lines = self.section[...]
        self.section = []
        self.sectionBytes = 0
        guard let (headline, number, depth) = self.headline.take() else {
            let text = LineBytes.trimmed(lines)
            if !text.isEmpty { self.preamble = LineBytes.text(ofLines: text) }
            return
        }
        let keywords = self.keywords
        let title = LineEscape.text(of: headline.title) { headline.isPlain($0, keywords) }
        var row = OutlineRow(depth: depth, title: LineBytes.text(title))
        var members = self.members(of: headline, &row)
        var section = OrgSection(lines)
        for (name, stamp) in section.dates { _ = members.add(name, .string(stamp)) }
        if let all = Self.adding(section, to: members) { members = all } else { section.keepProperties() }
        row.note = OrgNote.note(LineBytes.trimmed(section.text), at: section.place)
        members.apply(to: &row, self.fields, &self.losses)
        try row.check(at: TextLocation(line: number))
        rows.append(row)
    }

    private mutating func members(of headline: OrgHeadline, _ row: inout OutlineRow) -> ItemMembers {
        var members = ItemMembers()
        if let preamble = self.preamble.take() { _ = members.add(Self.preamble, .string(preamble)) }
        if let keyword = headline.keyword {
            row.done = self.keywords.isDone(keyword) ?? false
            if !row.done {
                _ = members.add("todo", .string(keyword))
            } else if keyword != self.keywords.done {
                _ = members.add("done", .string(keyword))
            }
        }
        if let priority = headline.priority { _ = members.add("priority", .string(priority)) }
        if !headline.tags.isEmpty {
            _ = members.add(ItemMembers.tags, .array(headline.tags.map { .string($0) }))
        }
        return members
    }

    /// Returns the members with the properties; `nil` if one of them is known already.
    private static func adding(_ section: OrgSection, to members: ItemMembers) -> ItemMembers? {
        var members = members
        var names = section.dates.map(\.name)
        for (name, value) in section.properties {
            if name == ItemMembers.rest {
                guard members.add(rest: value) else { return nil }
                continue
            }
            let text = LineBytes.text(LineEscape.text(of: value, isPlain: OrgSection.isPlain))
            guard members.add(name, .string(text)) else { return nil }
            names.append(name)
        }
        let count = section.dates.count
        let usual = names[..<count].sorted() + names[count...].sorted()
        if names != usual, !members.add(Self.order, .string(names.joined(separator: " "))) { return nil }
        return members
    }
}

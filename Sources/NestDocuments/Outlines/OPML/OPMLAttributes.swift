/// Creates a row from the attributes of an outline element, and the reverse.
///
/// The title is read from `text`, the note from `_note`, the mark from `_complete="true"`. All other attributes become
/// members of the row's `extra`, and so does the information that these three would lose:
/// - `text`: the HTML of the title, if it differs from the title, or null when the element has no `text`;
/// - `_note`: the HTML of the note, if it differs from the note;
/// - the marks, if they differ from `_complete="true"`;
/// - `attribute order`, which is not a valid name in XML: the names in the order of the file, if they would be written
///   in another order.
///
/// The row determines what is written: HTML from `extra` only if it still shows the title, and marks that agree with
/// `done`.
enum OPMLAttributes {
    private static let title = "title"
    private static let text = "text"
    private static let note = "_note"
    private static let complete = "_complete"
    private static let status = "_status"
    /// The attributes that mean that an item is done, in various dialects.
    private static let marks: Set<String> = [complete, "complete", "checked", status]
    private static let doneValues: Set<String> = ["true", "checked", "yes", "1"]

    private static let order = "attribute order"

    /// `list` has the attributes in the order of the file, each name once.
    static func row(
        depth: Int,
        _ list: [(name: String, value: String)],
        hasHTML: Bool,
        _ fields: OutlineFields
    ) -> OutlineRow {
        var row = OutlineRow(depth: depth, title: "")
        var extra = OutlineExtra()
        for (name, value) in list where name != Self.text && name != Self.note {
            if fields.attributes.contains(name) {
                row.attributes.append(OutlineAttribute(name, .string(value), isText: true))
            } else {
                extra[name] = .string(value)
            }
        }
        let attributes = Dictionary(uniqueKeysWithValues: list.map { ($0.name, $0.value) })
        if let text = attributes[Self.text] {
            row.title = hasHTML ? HTMLText.plain(text) : text
            if !Self.equal(row.title, text) { extra[Self.text] = .string(text) }
        } else {
            row.title = attributes[Self.title] ?? ""
            extra[Self.text] = .null
        }
        if let note = attributes[Self.note] {
            let plain = hasHTML ? HTMLText.plain(note) : note
            row.note = plain
            if !Self.equal(plain, note) { extra[Self.note] = .string(note) }
        }
        let marks = attributes.filter { Self.marks.contains($0.key) }
        row.done = marks.contains { Self.isDone($0.value) }
        if marks == [Self.complete: "true"] { extra[Self.complete] = nil }
        row.extra = extra.text
        guard list.count > 1, fields.hasExtra else { return row }
        var losses = LossCounts()
        let names = list.map(\.name)
        guard Self.attributes(of: row, &losses).map(\.name) != names else { return row }
        extra[Self.order] = .string(names.joined(separator: " "))
        row.extra = extra.text
        return row
    }

    /// The attributes in the order in which they are written. `losses` counts what no attribute can hold.
    static func attributes(of row: OutlineRow, _ losses: inout LossCounts) -> [(name: String, value: String)] {
        var extra = OutlineExtra()
        if let text = row.extra {
            if let known = OutlineExtra(text) { extra = known } else { extra["extra"] = .string(text) }
        }
        var attributes = Self.texts(of: row, extra)
        attributes += Self.marks(of: row, extra)
        for member in extra.members
        where !Self.isOwn(member.name) && !attributes.contains(where: { $0.0 == member.name })
            && member.name != Self.order
        {
            guard XMLText.isName(member.name) else {
                losses.add("members of extra left out (XML allows no such name)")
                continue
            }
            if case .string(let value) = member.value {
                attributes.append((member.name, value))
            } else {
                losses.add("members of extra written as text (an attribute has no other type)")
                attributes.append((member.name, member.value.text))
            }
        }
        for attribute in row.attributes {
            guard let text = attribute.text else { continue }
            if attributes.contains(where: { $0.0 == attribute.name }) || !XMLText.isName(attribute.name) {
                losses.add("attributes left out (their names have another meaning in OPML)")
            } else {
                attributes.append((attribute.name, text))
            }
        }
        guard case .string(let order) = extra[Self.order] else { return attributes }
        return Self.ordered(attributes, order)
    }

    /// Sorts attributes into the order of the file; new attributes are last.
    private static func ordered(_ attributes: [(String, String)], _ order: String) -> [(name: String, value: String)] {
        let names = order.split(separator: " ")
        func index(_ name: String) -> Int { names.firstIndex { $0 == name } ?? names.count }
        return attributes.enumerated().sorted { a, b in
            (index(a.element.0), a.offset) < (index(b.element.0), b.offset)
        }.map(\.element)
    }

    private static func isOwn(_ name: String) -> Bool {
        name == Self.text || name == Self.note || Self.marks.contains(name)
    }

    private static func texts(of row: OutlineRow, _ extra: OutlineExtra) -> [(String, String)] {
        var attributes: [(String, String)] = []
        if extra[Self.text] == .null {
            // The element had no `text`: the title goes into `title`, if it had that.
            if extra[Self.title] != nil {
                attributes.append((Self.title, row.title))
            } else if !row.title.isEmpty {
                attributes.append((Self.text, row.title))
            }
        } else {
            attributes.append((Self.text, Self.written(row.title, extra[Self.text])))
        }
        if let note = row.note { attributes.append((Self.note, Self.written(note, extra[Self.note]))) }
        return attributes
    }

    /// Returns the HTML of the file, if it still shows the text; new HTML, if the file had HTML.
    private static func written(_ text: String, _ html: JSONElement?) -> String {
        guard case .string(let html) = html else { return text }
        return Self.equal(HTMLText.plain(html), text) ? html : HTMLText.encoded(text)
    }

    private static func marks(of row: OutlineRow, _ extra: OutlineExtra) -> [(String, String)] {
        var marks: [(name: String, value: String)] = []
        for member in extra.members where Self.marks.contains(member.name) {
            if case .string(let value) = member.value { marks.append((member.name, value)) }
        }
        // The marks of the file, if together they agree with the row; a single one may disagree.
        if !marks.isEmpty, marks.contains(where: { Self.isDone($0.value) }) == row.done { return marks }
        guard row.done else {
            return marks.compactMap { mark in
                guard Self.isDone(mark.value) else { return mark }
                return mark.name == Self.status ? (mark.name, "unchecked") : nil
            }
        }
        if marks.isEmpty { return [(Self.complete, "true")] }
        return marks.map { ($0.name, $0.name == Self.status ? "checked" : "true") }
    }

    private static func isDone(_ value: String) -> Bool { Self.doneValues.contains(value.lowercased()) }

    private static func equal(_ a: String, _ b: String) -> Bool { a.utf8.elementsEqual(b.utf8) }
}

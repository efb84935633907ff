/// What the attributes of an outline element say of a row, and which attributes say it.
///
/// Every attribute but `text`, `_note` and `_complete="true"` is a member of the row's `extra`. So are those three when
/// they are not what the row says letter for letter:
/// - `text` is the HTML whose reading is the title, or null when the element has none;
/// - `_note` is the HTML whose reading is the note;
/// - the attributes by which the item is done or not, when they are others than `_complete="true"`;
/// - `attribute order`, which is no name in XML: the names in the order of the file, when they would be written in another.
///
/// What is written follows the row: an HTML is used only if it still reads as the title, and the marks say
/// whether it is done now.
enum OPMLAttributes {
    private static let title = "title"
    private static let text = "text"
    private static let note = "_note"
    private static let complete = "_complete"
    private static let status = "_status"
    /// Those that say that an item is done, in one dialect or another.
    private static let marks: Set<String> = [complete, "complete", "checked", status]
    private static let doneValues: Set<String> = ["true", "checked", "yes", "1"]

    private static let order = "attribute order"

    /// `list`: the attributes in the order of the file, each name once.
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
        var losses = LossTally()
        let names = list.map(\.name)
        guard Self.attributes(of: row, &losses).map(\.name) != names else { return row }
        extra[Self.order] = .string(names.joined(separator: " "))
        row.extra = extra.text
        return row
    }

    /// The attributes in the order in which they are written. `losses` counts what has no place among them.
    static func attributes(of row: OutlineRow, _ losses: inout LossTally) -> [(name: String, value: String)] {
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

    /// As they were in the file; those that were not there come behind.
    private static func ordered(_ attributes: [(String, String)], _ order: String) -> [(name: String, value: String)] {
        let names = order.split(separator: " ")
        func place(_ name: String) -> Int { names.firstIndex { $0 == name } ?? names.count }
        return attributes.enumerated().sorted { a, b in
            (place(a.element.0), a.offset) < (place(b.element.0), b.offset)
        }.map(\.element)
    }

    private static func isOwn(_ name: String) -> Bool {
        name == Self.text || name == Self.note || Self.marks.contains(name)
    }

    private static func texts(of row: OutlineRow, _ extra: OutlineExtra) -> [(String, String)] {
        var attributes: [(String, String)] = []
        if extra[Self.text] == .null {
            // It had no text: its title, if any, is in the attribute of that name.
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

    /// The HTML that the file had when it still says the same; HTML that does when it had one.
    private static func written(_ text: String, _ html: JSONElement?) -> String {
        guard case .string(let html) = html else { return text }
        return Self.equal(HTMLText.plain(html), text) ? html : HTMLText.encoded(text)
    }

    private static func marks(of row: OutlineRow, _ extra: OutlineExtra) -> [(String, String)] {
        var marks: [(name: String, value: String)] = []
        for member in extra.members where Self.marks.contains(member.name) {
            if case .string(let value) = member.value { marks.append((member.name, value)) }
        }
        // As they were, when together they say what the row says; one alone may say otherwise.
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

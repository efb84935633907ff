import NestFormats
import NestModel

/// How rows of an outline and the objects of a server's `Item` stand for each other: by the attributes `title`, `note`,
/// `done` and `extra`, as far as the server's model has them.
struct OutlineMapping {
    /// The attributes, in the order of a row's values.
    let properties: [PropertyNumber]
    private let hasNote: Bool
    private let hasDone: Bool
    private let hasExtra: Bool
    private var lostCounts = [0, 0, 0]

    init(_ outline: Outline) throws {
        func isOf(_ type: AttributeType, _ number: PropertyNumber?) -> Bool {
            number.flatMap { number in outline.entity.attributes.first { $0.number == number } }?.type == type
        }
        guard isOf(.string, outline.title) else {
            throw CommandFailure(.refused, "the server's Item has a title that is no string")
        }
        self.hasNote = isOf(.string, outline.note)
        self.hasDone = isOf(.boolean, outline.done)
        self.hasExtra = isOf(.string, outline.extra)
        var properties = [outline.title]
        if self.hasNote, let note = outline.note { properties.append(note) }
        if self.hasDone, let done = outline.done { properties.append(done) }
        if self.hasExtra, let extra = outline.extra { properties.append(extra) }
        self.properties = properties
    }

    /// The values of a row; what the model has no place for is counted.
    mutating func values(of row: OutlineRow) -> [AttributeValue] {
        var values: [AttributeValue] = [.string(row.title)]
        values.reserveCapacity(self.properties.count)
        if self.hasNote { values.append(row.note.map { .string($0) } ?? .null) }
        if self.hasDone { values.append(.boolean(row.done)) }
        if self.hasExtra { values.append(row.extra.map { .string($0) } ?? .null) }
        if !self.hasNote, row.note != nil { self.lostCounts[0] += 1 }
        if !self.hasDone, row.done { self.lostCounts[1] += 1 }
        if !self.hasExtra, row.extra != nil { self.lostCounts[2] += 1 }
        return values
    }

    /// What the values of a row of the server say.
    func row(_ row: SubtreeRow, depth: Int) -> OutlineRow {
        var values = row.values[...]
        var outline = OutlineRow(depth: depth, id: row.id, title: values.popFirst()?.stringValue ?? "")
        if self.hasNote { outline.note = values.popFirst()?.stringValue }
        if self.hasDone { outline.done = values.popFirst() == .boolean(true) }
        if self.hasExtra { outline.extra = values.popFirst()?.stringValue }
        return outline
    }

    /// What was left out, in words for people.
    var losses: [String] {
        zip(["notes", "done marks", "items' extra"], self.lostCounts).filter { $0.1 > 0 }.map { name, count in
            "\(name) left out (the server's Item has no place for them): \(count)"
        }
    }
}

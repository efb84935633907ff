import NestDocuments
import NestModel

/// Maps rows of an outline to objects of a server's entity. Title, note, done mark and `extra` each map to one
/// attribute, if the entity has it. All other attributes map by name and type.
struct OutlineMapping {
    /// The attributes, in the order of a row's values.
    let properties: [PropertyNumber]
    /// The names of the attributes in files.
    private(set) var fields = OutlineFields()
    /// Whether a value without an attribute is an error. Otherwise it is left out.
    var isStrict = false

    private let entity: EntityDescription
    private let title: AttributeDescription
    private let note: AttributeDescription?
    private let done: AttributeDescription?
    private let extra: AttributeDescription?
    private let others: [(name: String, attribute: AttributeDescription)]
    /// Attributes that have the name of an outline's note, mark or extra but another type.
    private let mistyped: [String]
    private var lostCounts = [0, 0, 0]
    /// The values of attributes for rows that have none, by their numbers.
    private var assigned: [PropertyNumber: AttributeValue] = [:]

    init(_ outline: OutlineEntity, _ options: OutlineAttributeOptions = OutlineAttributeOptions()) throws {
        let entity = outline.entity
        func named(_ option: String?, _ type: AttributeType, _ flag: String) throws -> AttributeDescription? {
            guard let option else { return nil }
            guard let found = entity.attributes.first(where: { $0.name == option }), found.type == type else {
                let fitting = entity.attributes.filter { $0.type == type }.map(\.name).joined(separator: ", ")
                let known = fitting.isEmpty ? "it has none" : "it has \(fitting)"
                throw CommandFailure(.usage, "\(flag): \(entity.name) has no \(type) \(option); \(known)")
            }
            return found
        }
        func usual(_ name: String, _ type: AttributeType) -> AttributeDescription? {
            entity.attributes.first { $0.name == name && $0.type == type }
        }
        let label = entity.labelAttribute.flatMap { label in entity.attributes.first { $0.number == label } }
        guard let title = try named(options.titleAttribute, .string, "--title-attribute") ?? label,
            title.type == .string
        else {
            throw CommandFailure(.refused, "the server's \(entity.name) has no string attribute for titles")
        }
        var note = try named(options.noteAttribute, .string, "--note-attribute")
        if options.noteAttribute == nil, let found = usual("note", .string), found != title { note = found }
        let done = try named(options.doneAttribute, .boolean, "--done-attribute") ?? usual("done", .boolean)
        let extra = usual("extra", .string).flatMap { $0 == title || $0 == note ? nil : $0 }
        let own = [title, note, done, extra].compactMap { $0 }
        guard Set(own).count == own.count else {
            throw CommandFailure(.usage, "\(title.name) cannot be both title and note")
        }
        (self.entity, self.title, self.note, self.done, self.extra) = (entity, title, note, done, extra)
        let usualNames = outline.isUsual ? ["note", "done", "extra"] : []
        let others = entity.attributes.filter { !own.contains($0) }
        self.mistyped = others.filter { usualNames.contains($0.name) }.map(\.name)
        self.others = others.filter { !usualNames.contains($0.name) }.map { (OutlineFields.name(of: $0.name), $0) }
        self.properties = (own + self.others.map(\.attribute)).map(\.number)
        self.fields.title = OutlineFields.name(of: title.name)
        self.fields.note = note.map { OutlineFields.name(of: $0.name) } ?? (outline.isUsual ? "note" : nil)
        self.fields.done = done.map { OutlineFields.name(of: $0.name) } ?? (outline.isUsual ? "done" : nil)
        self.fields.hasExtra = extra != nil
        self.fields.attributes = self.others.map(\.name)
        self.fields.dates = Set(self.others.filter { $0.attribute.type == .date }.map(\.name))
    }

    /// Sets the values of attributes for rows that have none: `name=value` or `name:=null`.
    mutating func assign(_ assignments: [String]) throws {
        for assignment in assignments {
            do {
                try self.assign(assignment)
            } catch let failure as CommandFailure {
                throw CommandFailure(failure.status, "--set: \(failure.message)")
            }
        }
    }

    private mutating func assign(_ assignment: String) throws {
        let name = String(assignment.prefix { $0 != "=" && $0 != ":" })
        if let property = self.entity.propertyNumber(named: name), self.entity.relationship(property) != nil {
            throw CommandFailure(.usage, "\(self.entity.name).\(name) is a relationship; an import sets attributes")
        }
        guard let given = try ObjectValues([assignment], self.entity).assignments.first,
            case .value(let value) = given.value, let attribute = self.entity.attribute(given.property)
        else { throw CommandFailure(.usage, "'\(assignment)' sets no attribute of \(self.entity.name)") }
        if attribute == self.title {
            throw CommandFailure(
                .usage,
                "\(name) is the title, which each item of a file has: --set gives other attributes"
            )
        }
        if attribute == self.done {
            throw CommandFailure(
                .usage,
                "\(name) is the done mark, which the file gives: an item without a mark is not done; --set gives other attributes"
            )
        }
        guard self.properties.contains(attribute.number) else {
            throw CommandFailure(.usage, "an outline cannot hold \(name); use --entity \(self.entity.name)")
        }
        if let fault = attribute.fault(value) { throw CommandFailure(.usage, "\(name) \(fault.text)") }
        guard self.assigned.updateValue(value, forKey: attribute.number) == nil else {
            throw CommandFailure(.usage, "\(name) is set twice")
        }
    }

    /// Returns the values of a row. Counts values that the entity has no attribute for.
    mutating func values(of row: OutlineRow) throws -> [AttributeValue] {
        var values: [AttributeValue] = [.string(row.title)]
        values.reserveCapacity(self.properties.count)
        if let note { values.append(try row.note.map { .string($0) } ?? self.missing(note, row)) }
        if self.done != nil { values.append(.boolean(row.done)) }
        if let extra { values.append(try row.extra.map { .string($0) } ?? self.missing(extra, row)) }
        for (name, attribute) in self.others { values.append(try self.value(of: attribute, name, row)) }
        try self.noteLosses(row)
        return values
    }

    private mutating func noteLosses(_ row: OutlineRow) throws {
        if self.note == nil, row.note != nil { self.lostCounts[0] += 1 }
        if self.done == nil, row.done { self.lostCounts[1] += 1 }
        guard self.extra == nil, let text = row.extra else { return }
        if self.isStrict {
            let names = JSONElement.names(ofObject: text).map { "\"\($0)\"" }.joined(separator: ", ")
            throw row.location.failure(
                "\(self.entity.name) has no attribute for \(names); use --skip-unknown to leave such values out"
            )
        }
        self.lostCounts[2] += 1
    }

    private func value(of attribute: AttributeDescription, _ name: String, _ row: OutlineRow) throws -> AttributeValue {
        guard let given = row.attributes.first(where: { $0.name == name }) else {
            return try self.missing(attribute, row)
        }
        do {
            switch given.value {
            // An empty cell of a table is no value.
            case .null where given.isText && self.assigned[attribute.number] != nil:
                return try self.missing(attribute, row)
            case .null: return attribute.isOptional ? .null : try self.missing(attribute, row)
            case .string(let text) where given.isText:
                return try ValueText.value(text, for: attribute, isAssigned: false)
            default: return try ValueText.value(given.value, for: attribute, isAssigned: false)
            }
        } catch let failure as CommandFailure {
            throw (given.location ?? row.location).failure(failure.message)
        }
    }

    /// Returns the value of an attribute that the row does not specify.
    private func missing(_ attribute: AttributeDescription, _ row: OutlineRow) throws -> AttributeValue {
        if let value = self.assigned[attribute.number] { return value }
        if attribute.defaultsToNow { return .date(microsecondsNow()) }
        guard self.isRequired(attribute) else { return attribute.defaultValue }
        let given = Set(row.attributes.filter { $0.value != .null }.map(\.name))
        var names = self.others.filter { self.isRequired($0.attribute) && !given.contains($0.name) }
            .map(\.attribute.name)
        // A note or `extra`, which the row holds apart.
        if !names.contains(attribute.name) { names.insert(attribute.name, at: 0) }
        let list = names.joined(separator: ", ")
        throw row.location.failure(
            "\(list) \(names.count == 1 ? "is" : "are") missing, and \(self.entity.name) requires "
                + "\(names.count == 1 ? "it" : "them"); give a value to the items without one: "
                + names.map { "--set \($0)=…" }.joined(separator: " ")
        )
    }

    /// Whether a row must specify the attribute.
    private func isRequired(_ attribute: AttributeDescription) -> Bool {
        !attribute.isOptional && attribute.defaultValue.isNull && !attribute.defaultsToNow
            && self.assigned[attribute.number] == nil
    }

    /// Returns the row of an outline for a row of the server.
    func row(_ row: SubtreeRow, depth: Int) -> OutlineRow {
        var values = row.values[...]
        var outline = OutlineRow(depth: depth, id: row.id, title: values.popFirst()?.stringValue ?? "")
        if self.note != nil { outline.note = values.popFirst()?.stringValue }
        if self.done != nil { outline.done = values.popFirst() == .boolean(true) }
        if self.extra != nil { outline.extra = values.popFirst()?.stringValue }
        for ((name, attribute), value) in zip(self.others, values) {
            // Without a value, an import would assign the default.
            let isWritten = !value.isNull || !attribute.defaultValue.isNull || attribute.defaultsToNow
            if isWritten { outline.attributes.append(OutlineAttribute(name, JSONElement(value, of: attribute.type))) }
        }
        return outline
    }

    /// Descriptions of what an export leaves out in every format.
    var unwritten: [String] {
        self.mistyped.map {
            "the attribute \($0) was left out: an outline cannot hold its type; "
                + "--entity \(self.entity.name) exports it"
        }
    }

    /// Descriptions of what was left out.
    var losses: [String] {
        zip(["notes", "done marks", "items' extra"], self.lostCounts).filter { $0.1 > 0 }.map { name, count in
            "\(name) left out (the server's \(self.entity.name) has no attribute for them): \(count)"
        }
    }
}

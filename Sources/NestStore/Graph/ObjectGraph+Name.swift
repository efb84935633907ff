import NestModel
import NestSchema

/// Names undo entries in the words of the model.
extension ObjectGraph {
    /// Returns the name of an undo entry in the words of the model: `add item "Milk"`, `delete "Milk" and 41 items
    /// inside`, `move "Milk" to "Shopping"`, `edit "Milk"`. Call it after the steps have been performed.
    package func defaultName(of mutations: [Mutation]) throws(StoreError) -> String {
        guard mutations.count == 1 else { return try self.nameOfSeveral(mutations) }
        switch mutations[0] {
        case .insert(let entity, _, _), .findOrCreate(let entity, _, _, _), .insertAs(_, let entity, _, _):
            guard let id = self.results.last else { return "add" }
            guard let kind = self.layout[entity]?.kind(entity) else {
                return Self.nameOfInsert("add object", self.label(id))
            }
            // A found object may be of an entity below, whose label is in another slot.
            guard let slot = kind.labelSlot, let index = self.recorder.changedIndex(of: id),
                self.recorder.changedEntity(at: index) == entity
            else { return Self.nameOfInsert(kind.nameOfInsert, self.label(id)) }
            return self.recorder.withChangedText(at: index, slot) { Self.nameOfInsert(kind.nameOfInsert, utf8: $0) }
        case .update(let object, _):
            return "edit \(self.quoted(try self.resolve(object)))"
        case .move(let object, let placement):
            let name = "move \(self.quoted(try self.resolve(object)))"
            let owner = try self.resolve(placement.owner)
            return (self.label(owner) ?? "").isEmpty ? name : "\(name) to \(self.quoted(owner))"
        case .delete(let object):
            let id = try self.resolve(object)
            var counts = self.recorder.deletedCounts
            // The object itself is not inside. It may be in a block, where its entity and its label are not looked up.
            let top = self.deleted?.id == id ? self.deleted : nil
            if let own = top?.entity ?? self.recorder.changedEntity(id), let count = counts[own] {
                counts[own] = count > 1 ? count - 1 : nil
            }
            let inside = counts.values.reduce(0, +)
            // The objects inside may be of several entities.
            let noun = counts.count == 1 ? self.noun(counts.first!.key) : "object"
            let label = top?.label ?? ""
            let name = "delete \(label.isEmpty ? self.quoted(id) : Self.quote(label))"
            return inside > 0 ? "\(name) and \(inside) \(Self.plural(noun, inside)) inside" : name
        case .relate(let owner, _, let object, _):
            return "add \(self.quoted(try self.resolve(object))) to \(self.quoted(try self.resolve(owner)))"
        case .unrelate(let owner, _, let object):
            return "remove \(self.quoted(try self.resolve(object))) from \(self.quoted(try self.resolve(owner)))"
        case .setRelated(let owner, let property, _):
            let id = try self.resolve(owner)
            let name = try self.find(id)?.table.layout.propertyName(property) ?? "objects"
            return "set \(name) of \(self.quoted(id))"
        }
    }

    /// `begin`: `add item`.
    private static func nameOfInsert(_ begin: String, _ label: String?) -> String {
        guard var label else { return begin }
        return label.withUTF8 { Self.nameOfInsert(begin, utf8: UnsafeRawBufferPointer($0)) }
    }

    private static func nameOfInsert(_ begin: String, utf8 label: UnsafeRawBufferPointer?) -> String {
        guard let label else { return begin }
        guard label.count > Self.shortBytesMax else { return Self.join(begin, label) }
        var short = Self.shortened(String(decoding: label, as: UTF8.self))
        return short.withUTF8 { Self.join(begin, UnsafeRawBufferPointer($0)) }
    }

    /// Every insert gets such a name, so its bytes are copied once.
    private static func join(_ begin: String, _ label: UnsafeRawBufferPointer) -> String {
        var begin = begin
        return begin.withUTF8 { begin in
            String(unsafeUninitializedCapacity: begin.count + label.count + 3) { name in
                _ = name.initialize(fromContentsOf: begin)
                name[begin.count] = UInt8(ascii: " ")
                name[begin.count + 1] = UInt8(ascii: "\"")
                let end = name[(begin.count + 2)...].initialize(fromContentsOf: label)
                name[end] = UInt8(ascii: "\"")
                return end + 1
            }
        }
    }

    /// Returns the name of an import, such as `add item "usr" and 41 more items`.
    package static func nameOfImport(_ kind: EntityLayout.Kind, label: String?, count: Int) -> String {
        let noun = kind.noun
        let name = Self.nameOfInsert(kind.nameOfInsert, label)
        return count > 1 ? "\(name) and \(count - 1) more \(Self.plural(noun, count - 1))" : name
    }

    /// Returns the name of a transaction with several steps: what it did with how many objects. Steps that only add to
    /// an object that the transaction inserts belong to the insertion.
    private func nameOfSeveral(_ mutations: [Mutation]) throws(StoreError) -> String {
        var verbs: Set<String> = []
        var subjects = Subjects()
        var results = self.results.makeIterator()
        for mutation in mutations {
            switch Self.deed(mutation) {
            case .inserts(let entity):
                guard let id = results.next() else { continue }
                verbs.insert("add")
                subjects.ids.insert(id)
                subjects.inserted.insert(id)
                subjects.entities.insert(entity)
            case .changes(let object, let verb):
                let id = try self.resolve(object)
                if !subjects.inserted.contains(id) || verb == "delete" { verbs.insert(verb) }
                guard subjects.ids.insert(id).inserted else { continue }
                self.noteEntity(of: id, &subjects)
            }
        }
        let verb = verbs.count == 1 ? verbs.first! : "change"
        if subjects.ids.count == 1, let id = subjects.ids.first {
            guard verb == "add", subjects.inserted.contains(id) else { return "\(verb) \(self.quoted(id))" }
            return Self.nameOfInsert("add \(self.noun(of: subjects))", self.label(id))
        }
        return "\(verb) \(subjects.ids.count) \(Self.plural(self.noun(of: subjects), subjects.ids.count))"
    }

    /// What a step of a transaction does.
    private enum Deed {
        /// It inserts or finds an object.
        case inserts(EntityNumber)
        case changes(ObjectReference, verb: String)
    }

    private static func deed(_ mutation: Mutation) -> Deed {
        switch mutation {
        case .insert(let entity, _, _), .findOrCreate(let entity, _, _, _), .insertAs(_, let entity, _, _):
            .inserts(entity)
        case .update(let object, _): .changes(object, verb: "edit")
        case .move(let object, _): .changes(object, verb: "move")
        case .delete(let object): .changes(object, verb: "delete")
        case .relate(_, _, let object, _): .changes(object, verb: "add")
        case .unrelate(_, _, let object): .changes(object, verb: "remove")
        case .setRelated(let owner, _, _): .changes(owner, verb: "edit")
        }
    }

    /// The objects that a transaction is about, and their entities.
    private struct Subjects {
        var ids: Set<ObjectID> = []
        var inserted: Set<ObjectID> = []
        var entities: Set<EntityNumber> = []
        var lookUpCount = 0
        /// Whether the entity of an object is not known.
        var hasUnknown = false
    }

    /// The largest number of objects that are looked up for a name.
    private static let lookUpsMax = 16

    private func noteEntity(of id: ObjectID, _ subjects: inout Subjects) {
        if let entity = self.recorder.changedEntity(id) {
            subjects.entities.insert(entity)
        } else if subjects.lookUpCount < Self.lookUpsMax, let entity = (try? self.find(id))?.row.entity {
            subjects.lookUpCount += 1
            subjects.entities.insert(entity)
        } else {
            subjects.hasUnknown = true
        }
    }

    /// Returns a noun for all of the objects: that of their entity, or of the entity that all of theirs are below.
    private func noun(of subjects: Subjects) -> String {
        if self.tables.count == 1, subjects.hasUnknown || subjects.entities.count > 1 {
            return self.noun(self.tables[0].layout.number)
        }
        guard !subjects.hasUnknown, let entity = subjects.entities.first else { return "object" }
        if subjects.entities.count == 1 { return self.noun(entity) }
        let tables = Set(subjects.entities.map { self.layout[$0]?.number })
        guard tables.count == 1, let table = tables.first ?? nil else { return "object" }
        return self.noun(table)
    }

    private func noun(_ entity: EntityNumber) -> String {
        self.layout[entity]?.kind(entity).noun ?? "object"
    }

    private static func plural(_ noun: String, _ count: Int) -> String {
        count == 1 ? noun : "\(noun)s"
    }

    private func label(_ id: ObjectID) -> String? {
        if let index = self.recorder.changedIndex(of: id) {
            let entity = self.recorder.changedEntity(at: index)
            if let slot = self.layout[entity]?.kind(entity).labelSlot {
                return self.recorder.withChangedText(at: index, slot) { utf8 in
                    utf8.map { String(decoding: $0, as: UTF8.self) }
                }
            }
        }
        guard let found = try? self.find(id) else { return nil }
        return found.table.layout.kind(found.row.entity).labelSlot.flatMap { found.row.values[$0].stringValue }
    }

    /// Returns an object's label in quotes, or its noun and id if it has no label.
    private func quoted(_ id: ObjectID) -> String {
        if let label = self.label(id), !label.isEmpty { return Self.quote(label) }
        let entity = self.recorder.changedEntity(id) ?? (try? self.find(id))?.row.entity
        return "\(entity.map { self.noun($0) } ?? "object") \(id)"
    }

    static func quote(_ text: String) -> String { "\"\(Self.shortened(text))\"" }

    /// A text of so many bytes has at most 40 characters.
    private static let shortBytesMax = 40

    /// Shortens a text to at most 40 characters, and to fewer bytes than a name may have.
    package static func shortened(_ text: String) -> String {
        // Most labels are short, and cutting by characters is slow.
        if text.utf8.count <= Self.shortBytesMax { return text }
        var cut = ""
        for character in text.prefix(40) {
            // A character that does not fit is the end: without it, the next ones would be another text.
            guard cut.utf8.count + character.utf8.count <= 80 else { break }
            cut.append(character)
        }
        return cut.utf8.count < text.utf8.count ? "\(cut)…" : text
    }
}

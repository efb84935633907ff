import NestModel
import NestSchema

/// Names undo entries in the words of the model.
extension ObjectGraph {
    /// Returns the name of an undo entry in the words of the model: `add item "Milk"`, `delete "Milk" and 41 items
    /// inside`, `move "Milk" to "Shopping"`, `edit "Milk"`. Call it after the transaction has been performed.
    package func defaultName(of transaction: WriteTransaction) throws(StoreError) -> String {
        guard let first = transaction.mutations.first, transaction.mutations.count == 1 else {
            return self.nameOfSeveral(transaction)
        }
        switch first {
        case .insert(let entity, _, _), .findOrCreate(let entity, _, _, _):
            guard let id = self.results.last else { return "add" }
            return Self.nameOfInsert(noun: self.noun(entity), label: self.label(id))
        case .update(let object, _):
            return "edit \(self.quoted(try self.resolve(object)))"
        case .move(let object, let placement):
            let name = "move \(self.quoted(try self.resolve(object)))"
            let owner = try self.resolve(placement.owner)
            return (self.label(owner) ?? "").isEmpty ? name : "\(name) to \(self.quoted(owner))"
        case .delete(let object):
            let id = try self.resolve(object)
            var counts = self.recorder.deletedCounts
            // The object itself is not inside. If it is in a block already, its entity is not looked up, and it is
            // subtracted from the first count.
            let own = self.recorder.changedEntity(id) ?? counts.keys.min()
            if let own, let count = counts[own] { counts[own] = count > 1 ? count - 1 : nil }
            let inside = counts.values.reduce(0, +)
            // The objects inside may be of several entities.
            let noun = counts.count == 1 ? self.noun(counts.first!.key) : "object"
            // The object may be in a block, where its label is not looked up.
            let label = self.deleted?.id == id ? self.deleted?.label ?? "" : ""
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

    private static func nameOfInsert(noun: String, label: String?) -> String {
        guard let label else { return "add \(noun)" }
        // Every insert gets such a name, so it is built in one buffer.
        let short = Self.shortened(label)
        var name = "add "
        name.reserveCapacity(noun.utf8.count + short.utf8.count + 7)
        name += noun
        name += " \""
        name += short
        name += "\""
        return name
    }

    /// Returns the name of an import, such as `add item "usr" and 41 more items`.
    package static func nameOfImport(_ kind: EntityLayout.Kind, label: String?, count: Int) -> String {
        let noun = kind.noun
        let name = Self.nameOfInsert(noun: noun, label: label)
        return count > 1 ? "\(name) and \(count - 1) more \(Self.plural(noun, count - 1))" : name
    }

    private func nameOfSeveral(_ transaction: WriteTransaction) -> String {
        let count = transaction.mutations.count
        var verbs: Set<String> = []
        var entity: EntityNumber?
        for mutation in transaction.mutations {
            switch mutation {
            case .insert(let number, _, _), .findOrCreate(let number, _, _, _):
                verbs.insert("add")
                entity = number
            case .update: verbs.insert("edit")
            case .move: verbs.insert("move")
            case .delete: verbs.insert("delete")
            case .relate: verbs.insert("add")
            case .unrelate: verbs.insert("remove")
            case .setRelated: verbs.insert("edit")
            }
        }
        let noun =
            entity.map { self.noun($0) }
            ?? (self.tables.count == 1 ? self.noun(self.tables[0].layout.number) : "object")
        return "\(verbs.count == 1 ? verbs.first! : "change") \(count) \(Self.plural(noun, count))"
    }

    private func noun(_ entity: EntityNumber) -> String {
        self.layout[entity]?.kind(entity).noun ?? "object"
    }

    private static func plural(_ noun: String, _ count: Int) -> String {
        count == 1 ? noun : "\(noun)s"
    }

    private func label(_ id: ObjectID) -> String? {
        guard let entity = self.recorder.changedEntity(id), let slot = self.layout[entity]?.kind(entity).labelSlot
        else {
            guard let found = try? self.find(id) else { return nil }
            return found.table.layout.kind(found.row.entity).labelSlot.flatMap { found.row.values[$0].stringValue }
        }
        return self.recorder.changedValue(id, slot)?.stringValue
    }

    /// Returns an object's label in quotes, or its noun and id if it has no label.
    private func quoted(_ id: ObjectID) -> String {
        if let label = self.label(id), !label.isEmpty { return Self.quote(label) }
        let entity = self.recorder.changedEntity(id) ?? (try? self.find(id))?.row.entity
        return "\(entity.map { self.noun($0) } ?? "object") \(id)"
    }

    static func quote(_ text: String) -> String { "\"\(Self.shortened(text))\"" }

    /// Shortens a text to at most 40 characters, and to fewer bytes than a name may have.
    package static func shortened(_ text: String) -> String {
        // Most labels are short, and cutting by characters is slow.
        if text.utf8.count <= 40 { return text }
        var cut = ""
        for character in text.prefix(40) where cut.utf8.count + character.utf8.count <= 80 { cut.append(character) }
        return cut.utf8.count < text.utf8.count ? "\(cut)…" : text
    }
}

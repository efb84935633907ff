import NestModel

extension ObjectGraph {
    /// The name of an undo entry in the words of the model: `add item "Milk"`, `delete "Milk" and 41 items inside`,
    /// `move "Milk" to "Shopping"`, `edit "Milk"`. Call when the transaction has been performed.
    package func defaultName(of transaction: Transaction) throws -> String {
        guard let first = transaction.mutations.first, transaction.mutations.count == 1 else {
            return self.nameOfSeveral(transaction)
        }
        switch first {
        case .insert(let entity, _, _):
            guard let id = self.inserted.last else { return "add" }
            return Self.nameOfInsert(try self.table(entity).layout, label: self.label(id))
        case .update(let object, _):
            return "edit \(self.quoted(try self.resolve(object)))"
        case .move(let object, let placement):
            let name = "move \(self.quoted(try self.resolve(object)))"
            let owner = self.quoted(try self.resolve(placement.owner))
            return owner == "\"\"" ? name : "\(name) to \(owner)"
        case .delete(let object):
            let id = try self.resolve(object)
            let inside = self.recorder.deletedCount - 1
            let noun = self.recorder.touchedObject(id).map { self.noun($0.entity) } ?? "object"
            let name = "delete \(self.quoted(id))"
            return inside > 0 ? "\(name) and \(inside) \(Self.plural(noun, inside)) inside" : name
        }
    }

    package static func nameOfInsert(_ layout: EntityLayout, label: String?) -> String {
        let noun = layout.noun
        return label.map { "add \(noun) \(Self.quote($0))" } ?? "add \(noun)"
    }

    /// `add item "usr" and 41 items inside`.
    package static func nameOfImport(_ layout: EntityLayout, label: String?, count: Int) -> String {
        let noun = layout.noun
        let name = Self.nameOfInsert(layout, label: label)
        return count > 1 ? "\(name) and \(count - 1) more \(Self.plural(noun, count - 1))" : name
    }

    private func nameOfSeveral(_ transaction: Transaction) -> String {
        let count = transaction.mutations.count
        var verbs: Set<String> = []
        var entity: EntityNumber?
        for mutation in transaction.mutations {
            switch mutation {
            case .insert(let number, _, _):
                verbs.insert("add")
                entity = number
            case .update: verbs.insert("edit")
            case .move: verbs.insert("move")
            case .delete: verbs.insert("delete")
            }
        }
        let noun =
            entity.map { self.noun($0) } ?? self.layout.entities.first.map { $0.noun } ?? "object"
        return "\(verbs.count == 1 ? verbs.first! : "change") \(count) \(Self.plural(noun, count))"
    }

    private func noun(_ entity: EntityNumber) -> String {
        self.layout[entity]?.noun ?? "object"
    }

    private static func plural(_ noun: String, _ count: Int) -> String {
        count == 1 ? noun : "\(noun)s"
    }

    private func label(_ id: ObjectID) -> String? {
        let touched = self.recorder.touchedObject(id)
        guard let entity = touched?.entity, let slot = self.layout[entity]?.labelSlot else {
            guard let found = try? self.find(id), let slot = found.table.layout.labelSlot else { return nil }
            return found.row.values[slot].stringValue
        }
        return (touched?.after ?? touched?.before)?.values[slot].stringValue
    }

    private func quoted(_ id: ObjectID) -> String { Self.quote(self.label(id) ?? "") }

    /// At most 40 characters, and never more bytes than a name may have.
    static func quote(_ text: String) -> String {
        // Most labels are short, and cutting by characters is slow.
        if text.utf8.count <= 40 { return "\"\(text)\"" }
        var cut = ""
        for character in text.prefix(40) where cut.utf8.count + character.utf8.count <= 80 { cut.append(character) }
        return cut.utf8.count < text.utf8.count ? "\"\(cut)…\"" : "\"\(text)\""
    }
}

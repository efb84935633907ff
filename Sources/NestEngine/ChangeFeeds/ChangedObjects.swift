import NestModel
import NestStore
import NestSchema

/// The objects that a part of a change set changes, as clients see them. Each object is listed once. A changed pair
/// counts as a change of the relationships of the objects that it joins.
struct ChangedObjects {
    private struct Change {
        var kind: ChangedObject.Kind
        /// `nil` while the object was found only in pairs.
        var entity: EntityNumber?
        var properties: Set<PropertyNumber> = []
        /// The relationship through which a pair led to the object.
        var side: PairSides.Side?
    }

    private let store: Store
    private let sides: PairSides
    private var order: [ObjectID] = []
    private var changes: [ObjectID: Change] = [:]

    init(_ store: Store, _ sides: PairSides) {
        self.store = store
        self.sides = sides
    }

    mutating func add(_ change: ObjectChange) {
        guard let layout = self.store.layout[change.entity] else { return }
        if layout.isJoin { return self.add(pair: change, layout) }
        guard let kind = self.kind(change) else { return self.forget(change.id) }
        if self.changes[change.id] == nil { self.order.append(change.id) }
        var object = self.changes[change.id] ?? Change(kind: kind)
        object.kind = kind
        object.entity = change.entity
        if kind == .updated {
            for value in change.values { object.properties.insert(layout.properties[value.slot]) }
            for placing in change.placings {
                object.properties.insert(layout.properties[layout.placedSlots[placing.place]])
            }
        }
        self.changes[change.id] = object
    }

    /// Returns the net change of an object; `nil` if it was inserted and deleted again. Previews combine several change
    /// sets.
    private func kind(_ change: ObjectChange) -> ChangedObject.Kind? {
        let old = self.changes[change.id].flatMap { $0.entity == nil ? nil : $0.kind }
        switch (old, change.kind) {
        case (.inserted, .delete): return nil
        case (.inserted, .update): return .inserted
        case (.deleted, .insert), (_, .update): return .updated
        case (_, .insert): return .inserted
        case (_, .delete): return .deleted
        }
    }

    private mutating func forget(_ id: ObjectID) {
        self.changes[id] = nil
        self.order.removeAll { $0 == id }
    }

    /// Notes a pair that was inserted, deleted or repositioned: it changes the relationships of the objects that it
    /// joins.
    private mutating func add(pair change: ObjectChange, _ layout: EntityLayout) {
        for value in change.values {
            for owner in [value.before, value.after] {
                if let owner = owner.referenceValue { self.add(owner, layout.number, value.slot) }
            }
        }
        for placing in change.placings {
            for owner in [placing.before?.owner, placing.after?.owner] {
                if let owner { self.add(owner, layout.number, layout.placedSlots[placing.place]) }
            }
        }
    }

    private mutating func add(_ owner: ObjectID, _ join: EntityNumber, _ slot: Int) {
        guard let side = self.sides[join, slot] else { return }
        if self.changes[owner] == nil { self.order.append(owner) }
        var object = self.changes[owner] ?? Change(kind: .updated)
        object.properties.insert(side.relationship)
        object.side = side
        self.changes[owner] = object
    }

    /// Returns the changed objects of some entities (`nil`: of all), in the order in which they were added.
    func objects(of kinds: Set<EntityNumber>?) throws(StoreError) -> [ChangedObject] {
        var objects: [ChangedObject] = []
        objects.reserveCapacity(self.order.count)
        for id in self.order {
            guard let change = self.changes[id], let entity = try self.entity(of: id, change, kinds) else { continue }
            let properties = change.kind == .updated ? change.properties.sorted() : []
            objects.append(ChangedObject(kind: change.kind, entity: entity, id: id, properties: properties))
        }
        return objects
    }

    /// Returns the entity of an object; `nil` if it is not one of `kinds`.
    private func entity(of id: ObjectID, _ change: Change, _ kinds: Set<EntityNumber>?) throws(StoreError)
        -> EntityNumber?
    {
        let isAsked = { (entity: EntityNumber) in kinds?.contains(entity) ?? true }
        if let entity = change.entity { return isAsked(entity) ? entity : nil }
        guard let side = change.side else { return nil }
        if let entity = try self.entity(of: id, side) { return isAsked(entity) ? entity : nil }
        // The object was deleted since: which of the relationship's entities it had is no longer known.
        let mayBeAsked = kinds.map { !$0.isDisjoint(with: side.kinds) } ?? true
        return mayBeAsked ? side.declarer : nil
    }

    private func entity(of id: ObjectID, _ side: PairSides.Side) throws(StoreError) -> EntityNumber? {
        if let only = side.onlyKind { return only }
        return try self.store.row(side.table, id)?.entity
    }
}

import NestModel
import NestStore

/// Objects that a part of a change set has touched, as clients see them: each once, pairs as changes of the relationships
/// of the objects that they join.
struct ChangedObjects {
    private struct Touched {
        var kind: ChangedObject.Kind
        /// `nil`: found in pairs only so far.
        var entity: EntityNumber?
        var properties: Set<PropertyNumber> = []
        /// The relationship of a pair that told of it.
        var side: PairSides.Side?
    }

    private let store: Store
    private let sides: PairSides
    private var order: [ObjectID] = []
    private var touched: [ObjectID: Touched] = [:]

    init(_ store: Store, _ sides: PairSides) {
        self.store = store
        self.sides = sides
    }

    mutating func add(_ change: ObjectChange) {
        guard let layout = self.store.layout[change.entity] else { return }
        if layout.isJoin { return self.add(pair: change, layout) }
        guard let kind = self.kind(change) else { return self.forget(change.id) }
        if self.touched[change.id] == nil { self.order.append(change.id) }
        var object = self.touched[change.id] ?? Touched(kind: kind)
        object.kind = kind
        object.entity = change.entity
        if kind == .updated {
            for value in change.values { object.properties.insert(layout.properties[value.slot]) }
            for placing in change.placings {
                object.properties.insert(layout.properties[layout.placedSlots[placing.place]])
            }
        }
        self.touched[change.id] = object
    }

    /// What has become of the object in all; `nil` when it came and went. Several change sets are told as one by previews.
    private func kind(_ change: ObjectChange) -> ChangedObject.Kind? {
        let old = self.touched[change.id].flatMap { $0.entity == nil ? nil : $0.kind }
        switch (old, change.kind) {
        case (.inserted, .delete): return nil
        case (.inserted, .update): return .inserted
        case (.deleted, .insert), (_, .update): return .updated
        case (_, .insert): return .inserted
        case (_, .delete): return .deleted
        }
    }

    private mutating func forget(_ id: ObjectID) {
        self.touched[id] = nil
        self.order.removeAll { $0 == id }
    }

    /// A pair that came, went, or got another place: the relationship has changed of whom it stands with.
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
        if self.touched[owner] == nil { self.order.append(owner) }
        var object = self.touched[owner] ?? Touched(kind: .updated)
        object.properties.insert(side.relationship)
        object.side = side
        self.touched[owner] = object
    }

    /// The objects of some entities (`nil`: of all), in the order in which they came.
    func objects(of kinds: Set<EntityNumber>?) throws -> [ChangedObject] {
        var objects: [ChangedObject] = []
        objects.reserveCapacity(self.order.count)
        for id in self.order {
            guard let touched = self.touched[id], let entity = try self.entity(of: id, touched, kinds) else { continue }
            let properties = touched.kind == .updated ? touched.properties.sorted() : []
            objects.append(ChangedObject(kind: touched.kind, entity: entity, id: id, properties: properties))
        }
        return objects
    }

    /// `nil` when it is not one of those asked for.
    private func entity(of id: ObjectID, _ touched: Touched, _ kinds: Set<EntityNumber>?) throws -> EntityNumber? {
        if let entity = try touched.entity ?? touched.side.flatMap({ try self.entity(of: id, $0) }) {
            return kinds?.contains(entity) ?? true ? entity : nil
        }
        guard let side = touched.side else { return nil }
        // Deleted since: which of the relationship's kinds it was is no longer known.
        let mayBeAsked = kinds.map { !$0.isDisjoint(with: side.kinds) } ?? true
        return mayBeAsked ? side.declarer : nil
    }

    private func entity(of id: ObjectID, _ side: PairSides.Side) throws -> EntityNumber? {
        try side.onlyKind ?? self.store.row(side.table, id)?.entity
    }
}

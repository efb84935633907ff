import NestLiveQuery
import NestModel
import NestOrder
import NestStore
import NestSchema

/// Converts places by index into places after an object, with a live result if there is one.
struct PlaceResolver {
    let store: Store
    let live: LiveResults

    /// Up to this index the store counts through the list. A larger index loads a tree, which is kept for a while.
    private static let countedMax = 4_096

    /// Converts "at index N" of a transaction with a single step into "after X", with the live tree of the owner's
    /// objects. O(log n).
    ///
    /// The tree shows the state before the batch, so it is used only if the batch has not changed the owner.
    func resolve(
        _ transaction: WriteTransaction,
        isChanged: (ObjectID) -> Bool,
        now: Int64
    ) throws(StoreError) -> WriteTransaction {
        guard transaction.mutations.count == 1 else { return transaction }
        var transaction = transaction
        func resolved(_ placements: [Placement], of entity: EntityNumber) throws(StoreError) -> [Placement] {
            try placements.map { (placement) throws(StoreError) in
                try self.resolve(placement, entity, moving: nil, isChanged, now: now)
            }
        }
        switch transaction.mutations[0] {
        case .insert(let entity, let values, let placements):
            let placements = try resolved(placements, of: entity)
            transaction.mutations[0] = .insert(entity: entity, values: values, placements: placements)
        case .findOrCreate(let entity, let match, let values, let placements):
            let placements = try resolved(placements, of: entity)
            transaction.mutations[0] = .findOrCreate(
                entity: entity,
                match: match,
                values: values,
                placements: placements
            )
        case .insertAs(let id, let entity, let values, let placements):
            let placements = try resolved(placements, of: entity)
            transaction.mutations[0] = .insertAs(id, entity: entity, values: values, placements: placements)
        case .move(let reference, let placement):
            guard placement.place.index != nil, reference.rawValue > 0,
                let (layout, _) = try self.store.object(ObjectID(reference.rawValue))
            else { return transaction }
            let moving = ObjectID(reference.rawValue)
            let resolved = try self.resolve(placement, layout.number, moving: moving, isChanged, now: now)
            transaction.mutations[0] = .move(reference, resolved)
        case .relate(let owner, let relationship, let object, let place):
            guard let index = place.index, object.rawValue > 0 else { return transaction }
            let moving = ObjectID(object.rawValue)
            guard let source = try self.order(owner, relationship),
                let place = try self.place(at: index, in: source, moving: moving, isChanged, now: now)
            else { return transaction }
            transaction.mutations[0] = .relate(owner, relationship, object, place)
        case .update, .delete, .unrelate, .setRelated:
            break
        }
        return transaction
    }

    /// Resolves a placement, which names the to-one relationship of the placed object.
    private func resolve(
        _ placement: Placement,
        _ entity: EntityNumber,
        moving: ObjectID?,
        _ isChanged: (ObjectID) -> Bool,
        now: Int64
    ) throws(StoreError) -> Placement {
        guard let index = placement.place.index, let layout = self.store.layout[entity],
            let slot = layout.slot(of: placement.relationship), case .toOne(let relationship, _) = layout.slots[slot],
            let toMany = self.store.layout[relationship.destination]?.toMany(relationship.inverse),
            let rows = self.store.layout.model.entity(toMany.destination)
        else { return placement }
        let source = self.source(of: rows, toMany.membership(of: ObjectID(placement.owner.rawValue)))
        var resolved = placement
        if let place = try self.place(at: index, in: source, moving: moving, isChanged, now: now) {
            resolved.place = place
        }
        return resolved
    }

    /// Returns the place at an index, relative to the object before it; `nil` without a live tree. The graph then
    /// refuses an index out of range, and other faults, in its own order.
    private func place(
        at index: Int,
        in source: ResultSource,
        moving: ObjectID?,
        _ isChanged: (ObjectID) -> Bool,
        now: Int64
    ) throws(StoreError) -> Place? {
        guard let owner = source.owner, owner.rawValue > 0, !isChanged(owner), source.orderingPlace != nil else {
            return nil
        }
        let key = ResultKey(source: source, scope: .everything)
        // A tree is loaded only for an index that would take long to count to. The batch has not changed the owner, so
        // the open transaction shows the same state as the tree.
        var entry = self.live[key]
        if let entry, !entry.isCurrent { return nil }
        if entry == nil, index > Self.countedMax, try self.store.object(owner) != nil {
            entry = try self.live.entry(key, now: now)
        }
        guard let result = entry?.result else { return nil }
        let tree = result.tree
        var ownIndex: Int?
        if let moving, let key = try self.live.key(moving, in: result) { ownIndex = tree.index(of: key) }
        let count = tree.count - (ownIndex == nil ? 0 : 1)
        guard index >= 0, index <= count else { return nil }
        guard index > 0 else { return .first }
        let left = ownIndex.map { index - 1 < $0 ? index - 1 : index } ?? index - 1
        return .after(.object(tree.key(at: left).id))
    }

    /// Returns the source of all objects of an object's to-many relationship, in its order.
    private func order(_ owner: ObjectReference, _ property: PropertyNumber) throws(StoreError) -> ResultSource? {
        let owner = ObjectID(owner.rawValue)
        guard owner.rawValue > 0, let (layout, row) = try self.store.object(owner),
            let relationship = layout.kind(row.entity).entity.relationship(property),
            let rows = self.store.layout.model.entity(relationship.destination)
        else { return nil }
        let membership =
            layout.toMany(property)?.membership(of: owner) ?? layout.manyToMany(property)?.membership(of: owner)
        return membership.map { self.source(of: rows, $0) }
    }

    private func source(of entity: EntityDescription, _ membership: ResultSource.Membership) -> ResultSource {
        RequestResolver(objects: self.store.objects).source(of: entity, membership)
    }
}

extension Place {
    var isIndex: Bool { self.index != nil }

    fileprivate var index: Int? {
        if case .at(let index) = self { index } else { nil }
    }
}

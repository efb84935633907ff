import NestLiveQuery
import NestModel
import NestStore

extension Engine {
    /// Lists up to this length are counted through in the store; a longer one gets a tree, which is kept for a while.
    private static let countedMax = 4_096

    /// Turns "at index N" of a single step into "after X", by the live tree of the owner's objects: O(log n).
    ///
    /// The tree is of the state before the batch, so it is used only when nothing in the batch has touched the owner.
    func resolvePlace(
        _ transaction: Transaction,
        isTouched: (ObjectID) -> Bool,
        now: Int64
    ) throws -> Transaction {
        guard transaction.mutations.count == 1 else { return transaction }
        var transaction = transaction
        switch transaction.mutations[0] {
        case .insert(let entity, let values, let placements):
            guard placements.contains(where: { $0.place.index != nil }) else { return transaction }
            let resolved = try placements.map { try self.resolve($0, entity, moving: nil, isTouched, now: now) }
            transaction.mutations[0] = .insert(entity: entity, values: values, placements: resolved)
        case .move(let reference, let placement):
            guard placement.place.index != nil, reference.rawValue > 0,
                let (layout, _) = try self.store.object(ObjectID(reference.rawValue))
            else { return transaction }
            let moving = ObjectID(reference.rawValue)
            let resolved = try self.resolve(placement, layout.number, moving: moving, isTouched, now: now)
            transaction.mutations[0] = .move(reference, resolved)
        case .update, .delete:
            break
        }
        return transaction
    }

    private func resolve(
        _ placement: Placement,
        _ entity: EntityNumber,
        moving: ObjectID?,
        _ isTouched: (ObjectID) -> Bool,
        now: Int64
    ) throws -> Placement {
        guard let index = placement.place.index, placement.owner.rawValue > 0, let layout = self.store.layout[entity],
            let slot = layout.slot(of: placement.relationship),
            case .toOne(let relationship, let place?) = layout.slots[slot],
            let toMany = self.store.layout[relationship.destination]?.toMany(relationship.inverse)
        else { return placement }
        let owner = ObjectID(placement.owner.rawValue)
        guard !isTouched(owner) else { return placement }
        let source = ResultSource(entity: entity, slot: slot, place: place, owner: owner)
        let key = ResultKey(source: source, scope: .everything)
        // A tree is loaded only for an index that would take long to count to; the batch has not touched the owner, so what
        // the store shows inside the open transaction is the state that the tree is of.
        var entry = self.results[key]
        if entry == nil, index > Self.countedMax, try self.store.row(relationship.destination, owner) != nil {
            entry = try self.result(key, toMany, now: now)
        }
        guard let tree = entry?.result.tree else { return placement }
        var resolved = placement
        let ownIndex = try moving.flatMap { id in
            try source.key(id, self.store.row(entity, id)).map { tree.index(of: $0) }
        }
        let count = tree.count - (ownIndex == nil ? 0 : 1)
        // Out of range, and whatever else may be wrong, is told by the graph, in its order.
        guard index <= count else { return placement }
        if index == 0 {
            resolved.place = .first
        } else {
            let left = ownIndex.map { index - 1 < $0 ? index - 1 : index } ?? index - 1
            resolved.place = .after(.object(tree.key(at: left).id))
        }
        return resolved
    }
}

extension Place {
    var isIndex: Bool { self.index != nil }

    fileprivate var index: Int? {
        if case .at(let index) = self { index } else { nil }
    }
}

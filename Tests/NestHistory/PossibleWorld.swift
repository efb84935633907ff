import NestModel

/// A possible state of the list, with the states before and after the revisions that are reverted later.
///
/// There are several possible worlds if an undo restores an object whose old neighbours are both deleted: the store
/// then uses an order key that clients do not see. Later events show which world is the actual one.
struct PossibleWorld {
    private(set) var now = ListWorld()
    private var past: [Revision: (before: ListWorld, after: ListWorld)] = [:]

    struct Impossible: Error {
        var rule: Rule
        var message: String
    }

    mutating func forgetPast() { self.past = [:] }

    /// Applies a transaction. `isReverted`: whether a later one reverts it.
    mutating func apply(
        _ mutations: [Mutation],
        inserted ids: [ObjectID],
        at revision: Revision,
        isReverted: Bool
    ) throws(ListWorld.Impossible) -> ListWorld.Effects {
        let before = self.now
        let effects = try self.now.apply(mutations, inserted: ids)
        if isReverted { self.past[revision] = (before, self.now) }
        return effects
    }

    /// Returns the possible worlds after reverting a revision. `objects`: the objects that the revert changed according
    /// to the store.
    func reverting(
        _ reverted: Revision,
        _ objects: [ChangedObject],
        at revision: Revision,
        isReverted: Bool
    ) throws(Impossible) -> [PossibleWorld] {
        guard let (before, after) = self.past[reverted] else {
            throw Impossible(rule: .reversible, message: "reverts \(reverted), which is not a revision of this piece")
        }
        var lists = [self.now]
        // What is deleted goes with what is below it, the deepest first.
        let deleted = objects.filter { $0.kind == .deleted }.map { (object: $0, depth: self.now.depth(of: $0.id)) }
        let ordered = objects.filter { $0.kind != .deleted } + deleted.sorted { $0.depth > $1.depth }.map(\.object)
        for object in ordered { try self.restoreValues(object, before, after, &lists[0]) }
        try self.requireWhole(objects, before, after)
        // From left to right, in the old order.
        let placed = objects.filter { $0.kind == .inserted || $0.properties.contains(ListModel.parent) }.map(\.id)
        for owner in Set(placed.compactMap { before.items[$0]?.parent }) {
            for id in before.children[owner] ?? [] where placed.contains(id) {
                lists = lists.flatMap { Self.placing(id, under: owner, before, $0) }
            }
        }
        return lists.map { list in
            var world = self
            world.now = list
            if isReverted { world.past[revision] = (self.now, list) }
            return world
        }
    }

    private func restoreValues(
        _ object: ChangedObject,
        _ before: ListWorld,
        _ after: ListWorld,
        _ list: inout ListWorld
    ) throws(Impossible) {
        let id = object.id
        let what = "object \(id)"
        switch (object.kind, before.items[id], after.items[id]) {
        case (.inserted, let old?, nil):
            list.set(old, id)
        case (.deleted, nil, _?):
            guard list.children[id, default: []].isEmpty else {
                throw Impossible(rule: .reversible, message: "deletes \(what), which has children of other sessions")
            }
            list.remove(id)
        case (.updated, let old?, let new?):
            guard var item = list.items[id] else {
                throw Impossible(rule: .reversible, message: "changes \(what), which does not exist")
            }
            func restore<Value: Equatable>(
                _ property: PropertyNumber,
                _ path: WritableKeyPath<ListWorld.Item, Value>
            ) throws(Impossible) {
                guard object.properties.contains(property) else { return }
                guard item[keyPath: path] == new[keyPath: path] else {
                    throw Impossible(rule: .reversible, message: "overwrites \(property) of \(what)")
                }
                item[keyPath: path] = old[keyPath: path]
            }
            try restore(ListModel.title, \.title)
            try restore(ListModel.note, \.note)
            try restore(ListModel.done, \.isDone)
            list.set(item, id)
        default:
            throw Impossible(rule: .reversible, message: "reports \(what) as \(object.kind), which is not a revert")
        }
    }

    /// Requires that every value without later changes is reverted.
    private func requireWhole(
        _ objects: [ChangedObject],
        _ before: ListWorld,
        _ after: ListWorld
    ) throws(Impossible) {
        let reported = Dictionary(objects.map { ($0.id, Set($0.properties)) }) { $0.union($1) }
        for (id, old) in before.items {
            guard let new = after.items[id], let item = self.now.items[id] else { continue }
            let values: [(PropertyNumber, Bool)] = [
                (ListModel.title, old.title != new.title && item.title == new.title),
                (ListModel.note, old.note != new.note && item.note == new.note),
                (ListModel.done, old.isDone != new.isDone && item.isDone == new.isDone),
            ]
            for (property, isDue) in values where isDue && !(reported[id]?.contains(property) ?? false) {
                throw Impossible(rule: .reversible, message: "does not revert \(property) of object \(id)")
            }
        }
    }

    /// Returns the lists with an object restored: after its old left neighbour (at the front if it had none), else
    /// before its old right neighbour, else at any position.
    private static func placing(
        _ id: ObjectID,
        under owner: ObjectID,
        _ before: ListWorld,
        _ list: ListWorld
    ) -> [ListWorld] {
        let then = before.children[owner] ?? []
        let others = (list.children[owner] ?? []).filter { $0 != id }
        guard let index = then.firstIndex(of: id) else { return [list] }
        var positions = Array(0...others.count)
        if index == 0 {
            positions = [0]
        } else if let left = others.firstIndex(of: then[index - 1]) {
            positions = [left + 1]
        } else if index + 1 < then.count, let right = others.firstIndex(of: then[index + 1]) {
            positions = [right]
        }
        return positions.map { position in
            var list = list
            list.put(id, under: owner, at: position)
            return list
        }
    }
}

import NestModel

/// A list as it may be, and as it was around the revisions that are taken back later.
///
/// There is more than one where an undo puts something back whose old neighbours are both gone: the store then goes by a
/// number that nobody is told. What clients are told afterwards says which it was.
struct PossibleWorld {
    private(set) var now = ListWorld()
    private var past: [Revision: (before: ListWorld, after: ListWorld)] = [:]

    struct Impossible: Error {
        var rule: Rule
        var message: String
    }

    mutating func forgetPast() { self.past = [:] }

    /// Carries out a transaction. `isReverted`: a later one takes it back.
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

    /// The worlds that taking back a revision may lead to. `objects`: what it touched, as the store says.
    func reverting(
        _ reverted: Revision,
        _ objects: [ChangedObject],
        at revision: Revision,
        isReverted: Bool
    ) throws(Impossible) -> [PossibleWorld] {
        guard let (before, after) = self.past[reverted] else {
            throw Impossible(rule: .reversible, message: "takes back \(reverted), which was none")
        }
        var lists = [self.now]
        for object in objects { try self.restoreValues(object, before, after, &lists[0]) }
        try self.requireWhole(objects, before, after)
        // From left to right, as they stood.
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
                throw Impossible(rule: .reversible, message: "takes \(what) away with what others have put into it")
            }
            list.remove(id)
        case (.updated, let old?, let new?):
            guard var item = list.items[id] else {
                throw Impossible(rule: .reversible, message: "changes \(what), which is not there")
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
            throw Impossible(rule: .reversible, message: "has \(what) as \(object.kind), which it was not before")
        }
    }

    /// Every value that nobody has changed since is as it was before.
    private func requireWhole(
        _ objects: [ChangedObject],
        _ before: ListWorld,
        _ after: ListWorld
    ) throws(Impossible) {
        let told = Dictionary(objects.map { ($0.id, Set($0.properties)) }) { $0.union($1) }
        for (id, old) in before.items {
            guard let new = after.items[id], let item = self.now.items[id] else { continue }
            let values: [(PropertyNumber, Bool)] = [
                (ListModel.title, old.title != new.title && item.title == new.title),
                (ListModel.note, old.note != new.note && item.note == new.note),
                (ListModel.done, old.isDone != new.isDone && item.isDone == new.isDone),
            ]
            for (property, isDue) in values where isDue && !(told[id]?.contains(property) ?? false) {
                throw Impossible(rule: .reversible, message: "leaves \(property) of object \(id) as it is")
            }
        }
    }

    /// An object back in its place: behind its left neighbour of then (at the front if it had none), else before the right
    /// one, else anywhere.
    private static func placing(
        _ id: ObjectID,
        under owner: ObjectID,
        _ before: ListWorld,
        _ list: ListWorld
    ) -> [ListWorld] {
        let then = before.children[owner] ?? []
        let others = (list.children[owner] ?? []).filter { $0 != id }
        guard let index = then.firstIndex(of: id) else { return [list] }
        var places = Array(0...others.count)
        if index == 0 {
            places = [0]
        } else if let left = others.firstIndex(of: then[index - 1]) {
            places = [left + 1]
        } else if index + 1 < then.count, let right = others.firstIndex(of: then[index + 1]) {
            places = [right]
        }
        return places.map { place in
            var list = list
            list.put(id, under: owner, at: place)
            return list
        }
    }
}

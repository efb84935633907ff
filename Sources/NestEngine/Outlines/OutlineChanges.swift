import NestLiveQuery
import NestModel
import NestSchema
import NestStore

/// What a batch has changed of the objects of a table, as outlines need it: each object as it was before the batch, and
/// as the store has it now. Serves all outlines of the table, so that each object is read once.
final class OutlineChanges {
    private struct Change {
        var before: ObjectRow?
        var after: ObjectRow?
    }

    private struct Placed: Hashable {
        var id: ObjectID
        var place: Int
    }

    private struct Reached: Hashable {
        var slot: Int
        var paths: [CompiledPath]
    }

    let table: EntityNumber
    private let store: Store
    private let placedSlots: [Int]
    private var changes: [ObjectID: Change] = [:]
    /// Objects that were inserted, deleted, or put to another place by any change of the batch.
    private var moved: Set<Placed> = []
    /// Whether an object has another parent or is gone, so that others may be outside a scope.
    private(set) var hasMovedOut = false
    /// Objects that may be shown or hidden because other objects have changed, by the path of the filter.
    private var affected: [CompiledPath: Set<ObjectID>] = [:]
    private var rows: [ObjectID: ObjectRow?] = [:]
    private var lefts: [Placed: (id: ObjectID, position: Int64)?] = [:]
    private var reached: [Reached: Set<ObjectID>] = [:]
    private var parents: [Int: Set<ObjectID>] = [:]
    /// The objects that were read from the store.
    private(set) var readCount = 0

    init(_ table: EntityNumber, _ store: Store) {
        self.table = table
        self.store = store
        self.placedSlots = store.layout[table]?.placedSlots ?? []
    }

    var count: Int { self.changes.count }

    /// Notes a change; those of one object come in their order.
    func note(_ object: ChangedRow) {
        let id = object.id
        if self.changes[id] == nil { self.changes[id] = Change(before: object.before) }
        self.changes[id]?.after = object.after
        for (place, slot) in self.placedSlots.enumerated() {
            let (before, after) = (object.before?.values[slot], object.after?.values[slot])
            if before != after, object.before != nil { self.hasMovedOut = true }
            // An undo brings an old stamp back. What the object has been through counts, not its state at the end.
            guard before != after || object.before?.places[place].stamp != object.after?.places[place].stamp else {
                continue
            }
            self.moved.insert(Placed(id: id, place: place))
        }
        if object.after == nil { self.hasMovedOut = true }
    }

    func note(affected ids: Set<ObjectID>, by path: CompiledPath) { self.affected[path, default: []].formUnion(ids) }

    /// Whether an object itself has changed.
    func contains(_ id: ObjectID) -> Bool { self.changes[id] != nil }

    /// Whether an object was moved, also if it is back where it was.
    func isMoved(_ id: ObjectID, place: Int) -> Bool { self.moved.contains(Placed(id: id, place: place)) }

    /// Returns those of the given objects that have changed. O(the smaller number).
    func changed<Value>(among ids: [ObjectID: Value]) -> [ObjectID] {
        ids.count < self.changes.count
            ? ids.keys.filter { self.changes[$0] != nil } : self.changes.keys.filter { ids[$0] != nil }
    }

    // MARK: Which outlines are concerned

    /// Returns the objects by which an outline is concerned if it has one of them as a row or as its root: changed and
    /// affected objects, and their parents before and after. `paths`: those of its filter.
    func reached(_ slot: Int, _ paths: [CompiledPath]) throws(StoreError) -> Set<ObjectID> {
        let key = Reached(slot: slot, paths: paths)
        if let known = self.reached[key] { return known }
        var ids: Set<ObjectID> = []
        for (id, change) in self.changes {
            ids.insert(id)
            if let parent = change.before?.values.reference(slot) { ids.insert(parent) }
            if let parent = change.after?.values.reference(slot) { ids.insert(parent) }
        }
        for id in self.affected(paths) {
            ids.insert(id)
            if let parent = try self.row(id)?.values.reference(slot) { ids.insert(parent) }
        }
        self.reached[key] = ids
        return ids
    }

    private func affected(_ paths: [CompiledPath]) -> Set<ObjectID> {
        paths.reduce(into: []) { $0.formUnion(self.affected[$1] ?? []) }
    }

    /// Returns the objects whose place, state or visibility in an outline may have changed: those that are rows, or
    /// whose parent before or after is. Others are read together with the row above them.
    func ids(of source: OutlineSource, _ paths: [CompiledPath], in tree: FlatTree) throws(StoreError) -> [ObjectID] {
        func isReached(_ row: ObjectRow?) -> Bool {
            guard let parent = row?.values.reference(source.slot) else { return false }
            return parent == source.root || tree.knows(parent)
        }
        var ids: [ObjectID] = []
        for (id, change) in self.changes
        where tree.knows(id) || isReached(change.before) || isReached(change.after) { ids.append(id) }
        for id in self.affected(paths) where self.changes[id] == nil {
            let row = try self.row(id)
            if tree.knows(id) || isReached(row) { ids.append(id) }
        }
        return ids
    }

    // MARK: Objects

    /// Returns an object as it is now, with its position.
    func row(_ id: ObjectID) throws(StoreError) -> ObjectRow? {
        if let known = self.rows[id] { return known }
        self.readCount += 1
        let row = try self.store.row(self.table, id)
        self.rows[id] = .some(row)
        return row
    }

    /// Returns an object as it is now, but perhaps with an earlier position: reads no object that has changed.
    func new(_ id: ObjectID) throws(StoreError) -> ObjectRow? {
        if let change = self.changes[id] { return change.after }
        return try self.row(id)
    }

    /// Whether an object is known to have no children: it is new, and no other changed object is below it.
    func isNewLeaf(_ id: ObjectID, _ slot: Int) -> Bool {
        guard let change = self.changes[id], change.before == nil else { return false }
        if let known = self.parents[slot] { return !known.contains(id) }
        let parents = Set(self.changes.values.compactMap { $0.after?.values.reference(slot) })
        self.parents[slot] = parents
        return !parents.contains(id)
    }

    /// Returns an object as it was before.
    func old(_ id: ObjectID) throws(StoreError) -> ObjectRow? {
        if let change = self.changes[id] { return change.before }
        return try self.row(id)
    }

    /// Returns the object of an owner that is next to the left of another one at a position, by the place with this
    /// index.
    func left(
        of id: ObjectID,
        at position: Int64,
        owner: ObjectID,
        place: Int
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        let key = Placed(id: id, place: place)
        if let known = self.lefts[key] { return known }
        self.readCount += 1
        let left = try self.store.objects.left(of: position, owner: owner, self.table, place: place)
        self.lefts[key] = .some(left)
        return left
    }
}

/// Other objects as they were before a batch.
struct EarlierObjects: RelatedObjects {
    let changes: DependencyChanges
    let now: RelatedState

    func row(_ table: EntityNumber, _ id: ObjectID) throws(StoreError) -> ObjectRow? {
        if let change = self.changes[table][id] { return change.before }
        return try self.now.row(table, id)
    }

    func pair(_ join: EntityNumber, _ slots: [(slot: Int, id: ObjectID)]) throws(StoreError) -> ObjectRow? {
        try self.now.pair(join, slots)
    }

    func count(_ relationshipCount: RelationshipCount, of owner: ObjectID) throws(StoreError) -> Int {
        try self.now.count(relationshipCount, of: owner)
    }

    /// Filters have no functions, so that earlier values are not needed.
    func value(_ aggregate: RelatedAggregate, of owner: ObjectID) throws(StoreError) -> AttributeValue {
        try self.now.value(aggregate, of: owner)
    }

    func contains(_ subtree: SubtreeKey, _ id: ObjectID) throws(StoreError) -> Bool {
        try self.now.contains(subtree, id)
    }
}

import NestModel
import NestSchema
import NestStore

/// What a batch has changed of the objects of a table, as outlines need it: each object as it was before the batch, and
/// as the store has it now.
final class OutlineChanges {
    /// The objects as they were; an inner `nil`: they did not exist.
    private(set) var before: [ObjectID: ObjectRow?] = [:]
    /// Rows that may be shown or hidden because of changes of other objects.
    private(set) var affected: Set<ObjectID> = []
    private var now: [ObjectID: ObjectRow?] = [:]
    private var leftOf: [LeftKey: (id: ObjectID, position: Int64)?] = [:]
    private let store: Store

    private struct LeftKey: Hashable {
        var id: ObjectID
        var place: Int
    }

    let table: EntityNumber

    init(_ table: EntityNumber, _ store: Store) {
        self.table = table
        self.store = store
    }

    var count: Int { self.before.count + self.affected.count }

    func note(_ object: ChangedRow) {
        if self.before[object.id] == nil { self.before[object.id] = .some(object.before) }
    }

    func note(affected ids: some Sequence<ObjectID>) { self.affected.formUnion(ids) }

    /// All objects whose place, state or visibility may have changed.
    var ids: Set<ObjectID> { self.affected.union(self.before.keys) }

    /// Returns an object as it is now. Read once for all outlines of the batch.
    func row(_ id: ObjectID) throws(StoreError) -> ObjectRow? {
        if let known = self.now[id] { return known }
        let row = try self.store.row(self.table, id)
        self.now[id] = .some(row)
        return row
    }

    /// Returns an object as it was before.
    func old(_ id: ObjectID) throws(StoreError) -> ObjectRow? {
        if let known = self.before[id] { return known }
        return try self.row(id)
    }

    /// Returns the object of an owner that is next to the left of another one at a position, by the place with this
    /// index. Looked up once for all outlines of the batch.
    func left(
        of id: ObjectID,
        at position: Int64,
        owner: ObjectID,
        place: Int
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        let key = LeftKey(id: id, place: place)
        if let known = self.leftOf[key] { return known }
        let left = try self.store.objects.left(of: position, owner: owner, self.table, place: place)
        self.leftOf[key] = .some(left)
        return left
    }
}

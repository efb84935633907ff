import NestModel
import NestStore
import NestSchema

/// The changes of a batch to objects that results depend on and that are not their rows: each with its state before the
/// batch and after it.
struct DependencyChanges {
    struct Change {
        var before: ObjectRow?
        var after: ObjectRow?
    }

    private var tables: [EntityNumber: [ObjectID: Change]] = [:]
    private(set) var count = 0

    subscript(table: EntityNumber) -> [ObjectID: Change] { self.tables[table] ?? [:] }

    mutating func note(_ object: ChangedRow, _ table: EntityNumber) {
        if self.tables[table]?[object.id] != nil {
            self.tables[table]?[object.id]?.after = object.after
        } else {
            self.tables[table, default: [:]][object.id] = Change(before: object.before, after: object.after)
            self.count += 1
        }
    }

    /// Returns the rows from which a path leads, now or before the batch, through something that the batch changed. Of
    /// a row's own slots, only that of the first step is considered.
    ///
    /// If a row's path differs from what it was, the path has a first object whose link or value changed. This object
    /// is the same before and after the batch, and the way back from it to the row is unchanged. O(rows found and
    /// objects in between).
    func roots(of path: CompiledPath, _ store: ObjectReader) throws(StoreError) -> Set<ObjectID> {
        try self.roots(of: path, store, max: .max) ?? []
    }

    /// Returns the same rows; `nil` if there are more than `max`, or as many objects in between. O(`max`).
    func roots(of path: CompiledPath, _ store: ObjectReader, max: Int) throws(StoreError) -> Set<ObjectID>? {
        var found: Set<ObjectID> = []
        for depth in stride(from: path.steps.count, through: 0, by: -1) {
            if depth < path.steps.count, !found.isEmpty {
                guard let back = try Self.stepBack(found, path, depth, store, max: max) else { return nil }
                found = back
            }
            found.formUnion(self.changed(path, depth))
            guard found.count <= max else { return nil }
        }
        return found
    }

    /// Returns the objects after `depth` steps whose next step, or value at the end, has changed.
    private func changed(_ path: CompiledPath, _ depth: Int) -> Set<ObjectID> {
        var found: Set<ObjectID> = []
        func addChanged(_ slot: Int) {
            for (id, change) in self[path.table(after: depth)] {
                guard let before = change.before, let after = change.after else { continue }
                if !before.values.isSame(slot, as: after.values) { found.insert(id) }
            }
        }
        guard depth < path.steps.count else {
            if case .slot(let slot) = path.leaf { addChanged(slot) }
            return found
        }
        switch path.steps[depth] {
        case .toOne(let slot, _):
            addChanged(slot)
        case .toMany(let slot, let table):
            for change in self[table].values {
                let before = change.before?.values.reference(slot)
                let after = change.after?.values.reference(slot)
                guard before != after else { continue }
                if let before { found.insert(before) }
                if let after { found.insert(after) }
            }
        }
        return found
    }

    /// Returns the objects after `depth` steps from which the next step leads to the given objects.
    private static func stepBack(
        _ ids: Set<ObjectID>,
        _ path: CompiledPath,
        _ depth: Int,
        _ store: ObjectReader,
        max: Int
    ) throws(StoreError) -> Set<ObjectID>? {
        var found: Set<ObjectID> = []
        for id in ids {
            switch path.steps[depth] {
            case .toOne(let slot, _):
                if max < .max {
                    let room = max - found.count
                    let count = try store.count(referringTo: id, path.table(after: depth), slot, limit: room + 1)
                    guard count <= room else { return nil }
                }
                found.formUnion(try store.ids(referringTo: id, path.table(after: depth), slot))
            case .toMany(let slot, let table):
                if let owner = try store.row(table, id)?.values.reference(slot) { found.insert(owner) }
            }
        }
        return found
    }
}

import NestLiveQuery
import NestModel
import NestStore

/// Takes the change sets of a batch to the live results they concern, and tells how each result stood before.
struct Evaluation {
    struct Affected {
        let entry: ResultRegistry.Entry
        /// The tree before the batch, shared with the one after as far as nothing changed.
        let before: OrderStatisticTree
        /// The head before the batch: what synced subscribers hold.
        let base: Revision
        /// So many rows changed that their difference would not be worth it, and was not kept.
        var isLarge = false
    }

    private let differenceRowsMin: Int
    private(set) var affected: [ResultKey: Affected] = [:]
    /// Objects touched in this batch as they are now, so that their values need not be read again.
    private(set) var rows: [ObjectID: ObjectRow] = [:]

    init(differenceRowsMin: Int) {
        self.differenceRowsMin = differenceRowsMin
    }

    mutating func take(_ changes: ChangeSet, base: Revision, _ registry: ResultRegistry, _ store: Store) throws {
        guard !registry.isEmpty else { return }
        var perResult: [ResultKey: [RowChange]] = [:]
        var entries: [ResultKey: ResultRegistry.Entry] = [:]
        var large: Set<ResultKey> = []
        try store.forEachTouched(changes) { object in
            guard registry.concerns(object.entity) else { return }
            registry.forEachCandidate(object) { entry in
                guard var change = LiveResult.rowChange(entry.key.source, object) else { return }
                // So many that the change is a large one, whose log is not kept: values need not be remembered.
                let count = perResult[entry.key]?.count ?? 0
                if change.isPlaced, count > self.differenceRowsMin, 3 * count > entry.result.tree.count {
                    change.changed = []
                    large.insert(entry.key)
                }
                perResult[entry.key, default: []].append(change)
                entries[entry.key] = entry
            }
        }
        for reposition in changes.repositions {
            self.take(reposition, registry, store, &perResult, &entries)
        }
        for object in changes.touched { self.rows[object.id] = object.after }
        for (key, rowChanges) in perResult {
            guard let entry = entries[key] else { continue }
            self.apply(rowChanges, to: entry, at: changes.revision, base: base, isLarge: large.contains(key))
        }
    }

    /// A renumbered row is re-keyed: found by both keys, touched by neither. One that the same transaction inserted as part
    /// of a bulk write has its first key from there.
    private func take(
        _ reposition: Reposition,
        _ registry: ResultRegistry,
        _ store: Store,
        _ perResult: inout [ResultKey: [RowChange]],
        _ entries: inout [ResultKey: ResultRegistry.Entry]
    ) {
        guard let slot = store.layout[reposition.entity]?.slot(of: reposition.property) else { return }
        registry.forEach(reposition.entity, slot, reposition.owner) { entry in
            guard entry.key.source.place != nil else { return }
            perResult[entry.key, default: []].append(
                RowChange(
                    id: reposition.id,
                    before: RowKey(position: reposition.oldPosition, id: reposition.id),
                    after: RowKey(position: reposition.newPosition, id: reposition.id),
                    isPlaced: false
                )
            )
            entries[entry.key] = entry
        }
    }

    private mutating func apply(
        _ changes: [RowChange],
        to entry: ResultRegistry.Entry,
        at revision: Revision,
        base: Revision,
        isLarge: Bool
    ) {
        let result = entry.result
        if self.affected[entry.key] == nil {
            self.affected[entry.key] = Affected(entry: entry, before: result.tree, base: base)
        }
        let rowCount = max(result.tree.count, self.affected[entry.key]!.before.count)
        result.apply(changes, at: revision)
        let touched = changes.count { $0.isPlaced || !$0.changed.isEmpty }
        if isLarge || touched > max(self.differenceRowsMin, rowCount / 4) {
            // A quarter of the rows: who needs them gets the whole, and the log need not remember each.
            self.affected[entry.key]!.isLarge = true
            result.dropLog(through: revision)
        }
    }
}

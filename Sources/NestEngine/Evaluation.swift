import NestLiveQuery
import NestModel
import NestStore

/// Takes the change sets of a batch to the live results they concern, and tells how each result stood before.
///
/// A batch is one step for every result, whatever number of revisions it has: what nobody touched is known only as it is at
/// its end, and clients are exact at the ends of batches only.
struct Evaluation {
    struct Affected {
        let entry: ResultRegistry.Entry
        /// The tree before the batch, shared with the one after as far as nothing changed.
        let before: OrderStatisticTree
        /// The head before the batch: what synced subscribers hold.
        let base: Revision
        /// So many rows changed that their difference would not be worth it, and was not kept.
        let isLarge: Bool
    }

    /// What the batch does to one result, as it comes.
    private struct Pending {
        let entry: ResultRegistry.Entry
        var changes: [RowChange] = []
        /// Of a paired result.
        var touches = PairedTouches()
        var isLarge = false
    }

    private let differenceRowsMin: Int
    private var pending: [ObjectIdentifier: Pending] = [:]
    private var revisionCount = 0
    /// After `finish`, in the order in which the results came.
    private(set) var affected: [Affected] = []
    /// Objects touched in this batch as they are now, so that their values need not be read again.
    private(set) var rows: [ObjectID: ObjectRow] = [:]

    init(differenceRowsMin: Int) {
        self.differenceRowsMin = differenceRowsMin
    }

    /// Takes the changes of the batch's next revision.
    mutating func take(_ changes: ChangeSet, _ registry: ResultRegistry, _ store: Store) throws {
        guard !registry.isEmpty else { return }
        self.revisionCount += 1
        try store.forEachTouched(changes) { object in
            guard let table = store.layout[object.entity]?.number, registry.concerns(table) else { return }
            registry.forEachCandidate(object, table) { self.take(object, $0) }
            registry.forEachHolder(object.id, table) { entry in
                self.pending[ObjectIdentifier(entry), default: Pending(entry: entry)].touches.note(target: object)
            }
        }
        for reposition in changes.repositions { self.take(reposition, registry, store) }
        for object in changes.touched { self.rows[object.id] = object.after }
    }

    /// An object, or a pair, that may be or have been in a result.
    private mutating func take(_ object: TouchedObject, _ entry: ResultRegistry.Entry) {
        let id = ObjectIdentifier(entry)
        guard !entry.result.source.isPaired else {
            self.pending[id, default: Pending(entry: entry)].touches.note(pair: object)
            return
        }
        guard var change = entry.result.source.rowChange(object) else { return }
        // So many that the change is a large one, whose log is not kept: values need not be remembered.
        let count = self.pending[id]?.changes.count ?? 0
        if change.isPlaced, self.isLarge(count, entry) {
            change.changed = []
            self.pending[id]?.isLarge = true
        }
        self.pending[id, default: Pending(entry: entry)].changes.append(change)
    }

    private func isLarge(_ count: Int, _ entry: ResultRegistry.Entry) -> Bool {
        count > self.differenceRowsMin && 3 * count > entry.result.tree.count
    }

    /// A renumbered row is re-keyed: found by both keys, touched by neither. One that the same transaction inserted as part
    /// of a bulk write has its first key from there.
    private mutating func take(_ reposition: Reposition, _ registry: ResultRegistry, _ store: Store) {
        guard let layout = store.layout[reposition.entity], let slot = layout.slot(of: reposition.property) else {
            return
        }
        registry.forEach(layout.number, slot, .reference(reposition.owner)) { entry in
            guard entry.result.source.orderingPlace != nil else { return }
            if entry.result.source.isPaired {
                self.pending[ObjectIdentifier(entry), default: Pending(entry: entry)].touches
                    .note(renumberedPair: reposition.id)
                return
            }
            let change = RowChange(
                id: reposition.id,
                before: RowKey(position: reposition.oldPosition, id: reposition.id),
                after: RowKey(position: reposition.newPosition, id: reposition.id),
                isPlaced: false
            )
            self.pending[ObjectIdentifier(entry), default: Pending(entry: entry)].changes.append(change)
        }
    }

    // MARK: The end of the batch

    /// Applies the batch to its results. The store is at its end.
    mutating func finish(_ registry: inout ResultRegistry, _ store: Store, base: Revision) throws {
        let all = self.pending.values.sorted { $0.entry.number < $1.entry.number }
        self.pending = [:]
        for pending in all {
            let (changes, isKnownLarge) = try self.changes(pending, store)
            let result = pending.entry.result
            let before = result.tree
            // Also what came to nothing: the result is of this revision now, as the journal will say.
            result.apply(changes, at: store.head)
            guard !changes.isEmpty else { continue }
            if result.source.isPaired { registry.note(changes, of: pending.entry) }
            let touched = changes.count { $0.isPlaced || !$0.changed.isEmpty }
            let rowCount = max(result.tree.count, before.count)
            // A quarter of the rows: who needs them gets the whole, and the log need not remember each.
            let isLarge = isKnownLarge || touched > max(self.differenceRowsMin, rowCount / 4)
            if isLarge { result.dropLog(through: store.head) }
            self.affected.append(Affected(entry: pending.entry, before: before, base: base, isLarge: isLarge))
        }
    }

    /// What a result's rows make of the batch, each at most once.
    private func changes(_ pending: Pending, _ store: Store) throws -> (changes: [RowChange], isLarge: Bool) {
        let result = pending.entry.result
        if case .paired(let join, _, _, _, _) = result.source.membership {
            var touches = pending.touches
            return try touches.rowChanges(
                of: result,
                countMax: max(self.differenceRowsMin, result.tree.count / 3),
                pair: { try store.row(join, $0) },
                target: { try self.rows[$0] ?? store.row(result.source.table, $0) }
            )
        }
        var changes = pending.changes
        if self.revisionCount > 1 {
            var net: [ObjectID: RowChange] = [:]
            for change in changes { net.merge(change) }
            changes = net.values.filter { $0.before != nil || $0.after != nil }
        }
        if result.source.isFiltered {
            // Of a renumbered object only its position is known: it may be of another kind.
            changes = changes.filter { $0.before.map { result.tree.contains($0) } ?? true }
        }
        return (changes, pending.isLarge)
    }
}

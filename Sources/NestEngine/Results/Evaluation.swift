import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// Takes the change sets of a batch to the live results they concern, and keeps each result's state before the batch.
///
/// A batch is one step for every result, whatever number of revisions it has: unchanged rows are only visible in their
/// state after the batch, and clients are exact at the ends of batches only.
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
    private struct PendingResult {
        let entry: ResultRegistry.Entry
        var changes: [RowChange] = []
        /// Of a computed result.
        var touches = ComputedChanges()
        var isLarge = false
        /// A row may have several of the changes: it was renumbered by the transaction that inserted it.
        var isRenumbered = false
    }

    private let differenceRowsMin: Int
    private let relatedTouchesMax: Int
    private let nanosecondsMax: Int
    /// What the batch has cost so far, by estimate.
    private var nanoseconds = 0
    /// The same of results without subscribers.
    private var unusedNanoseconds = 0
    /// What one object may cost the results of one bucket when that is too much, so that all objects together cost no
    /// more.
    private var share: Int
    /// Results that it would cost too much to follow through this batch: background reads make them current again.
    private(set) var lagging: [ResultRegistry.Entry] = []
    /// Results without subscribers that the batch concerns, and that would cost too much.
    private(set) var abandoned: [ResultRegistry.Entry] = []
    private var pending: [ObjectIdentifier: PendingResult] = [:]
    /// Changes of objects that results depend on and that are not their rows.
    private var related = DependencyChanges()
    /// That is being taken.
    private var revision = Revision(0)
    /// After `finish`, in the order in which the results came.
    private(set) var affected: [Affected] = []
    /// Objects changed in this batch as they are now, so that their values need not be read again.
    private(set) var rows = KnownRows()

    /// `objectCount`: the objects that the batch has changed. `nanosecondsMax`: what it may cost to follow them.
    init(differenceRowsMin: Int, relatedTouchesMax: Int, nanosecondsMax: Int, objectCount: Int) {
        self.differenceRowsMin = differenceRowsMin
        self.relatedTouchesMax = relatedTouchesMax
        self.nanosecondsMax = nanosecondsMax
        self.share = nanosecondsMax / max(objectCount, 1)
    }

    /// Takes the changes of the batch's next revision. `withBlocks`: those of a bulk write that have been streamed,
    /// too.
    mutating func take(
        _ changes: ChangeSet,
        _ registry: ResultRegistry,
        _ store: Store,
        withBlocks: Bool = true
    ) throws(StoreError) {
        self.revision = changes.revision
        try store.forEachChangedObject(changes, withBlocks: withBlocks) { object in
            guard let table = store.layout[object.entity]?.number else { return }
            if registry.watches(table), self.related.count <= self.relatedTouchesMax {
                self.related.note(object, table)
            }
            guard registry.concerns(table) else { return }
            registry.forEachBucket(object, table) { self.take(object, $0) }
            registry.forEachHolder(object.id, table) { self.note(row: object, $0) }
            registry.forEachPairedByValue(table) { self.note(row: object, $0) }
        }
        for reposition in changes.repositions { self.take(reposition, registry, store) }
        self.rows.take(changes)
    }

    // MARK: What it costs

    /// The results that an object concerns by the same value, as many of them as can follow.
    private mutating func take(_ object: TouchedObject, _ bucket: ResultRegistry.Bucket) {
        let textBytes =
            bucket.cost.nanosecondsPerByte == 0 ? 0 : max(object.before?.textBytes ?? 0, object.after?.textBytes ?? 0)
        self.nanoseconds += bucket.cost.nanoseconds(textBytes: textBytes)
        if self.nanoseconds > self.nanosecondsMax {
            for entry in bucket.shed(to: self.share, textBytes: textBytes) { self.shed(entry) }
        }
        for entry in bucket.entries { self.take(object, entry) }
    }

    /// A result leaves the batch: what was noted for it does not count.
    mutating func shed(_ entry: ResultRegistry.Entry) {
        if let loading = entry.loading { return loading.overrun() }
        guard !entry.isLagging, !entry.isAbandoned else { return }
        self.pending[ObjectIdentifier(entry)] = nil
        if entry.isUnused {
            entry.isAbandoned = true
            self.abandoned.append(entry)
        } else {
            entry.isLagging = true
            self.lagging.append(entry)
        }
    }

    /// Whether a change is nothing to a result: it lags, or has no subscribers and is forgotten.
    private mutating func passes(_ entry: ResultRegistry.Entry) -> Bool {
        if entry.isLagging && entry.loading == nil || entry.isAbandoned { return true }
        guard entry.isUnused, !entry.isKeptUnused else { return false }
        self.unusedNanoseconds += entry.cost.nanoseconds(textBytes: Self.usualTextBytes)
        guard self.unusedNanoseconds > self.nanosecondsMax / Self.unusedShare else { return false }
        self.shed(entry)
        return true
    }

    /// The part of what a batch may cost that all results without subscribers have together: a client that paused one,
    /// or lost its connection, finds it followed when it comes back soon.
    private static let unusedShare = 20
    private static let usualTextBytes = 64

    // MARK: What happens to results

    private mutating func note(row object: TouchedObject, _ entry: ResultRegistry.Entry) {
        if self.passes(entry) { return }
        if let loading = entry.loading { return loading.note(row: object, self.revision) }
        self.note(entry) { $0.note(row: object) }
    }

    /// Adds to what has happened to a computed result.
    private mutating func note(_ entry: ResultRegistry.Entry, _ body: (inout ComputedChanges) -> Void) {
        let id = ObjectIdentifier(entry)
        if self.pending[id] == nil { self.pending[id] = PendingResult(entry: entry) }
        body(&self.pending[id]!.touches)
        if self.pending[id]!.touches.count > max(self.relatedTouchesMax, entry.result.tree.count) { self.shed(entry) }
    }

    /// An object, or a pair, that may be or have been in a result.
    private mutating func take(_ object: TouchedObject, _ entry: ResultRegistry.Entry) {
        if self.passes(entry) { return }
        entry.evaluations += 1
        if let loading = entry.loading { return loading.note(candidate: object, self.revision) }
        guard !entry.result.source.isPaired else { return self.note(entry) { $0.note(pair: object) } }
        guard !entry.result.source.isComputed else { return self.note(entry) { $0.note(row: object) } }
        guard var change = entry.result.source.rowChange(object) else { return }
        // So many that the change is a large one, whose log is not kept: values need not be remembered.
        let id = ObjectIdentifier(entry)
        let count = self.pending[id]?.changes.count ?? 0
        if change.isPlaced, self.isLarge(count, entry) {
            change.changed = []
            self.pending[id]?.isLarge = true
        }
        self.pending[id, default: PendingResult(entry: entry)].changes.append(change)
    }

    private func isLarge(_ count: Int, _ entry: ResultRegistry.Entry) -> Bool {
        count > self.differenceRowsMin && 3 * count > entry.result.tree.count
    }

    /// A renumbered row is re-keyed: both keys find it, neither changes it. One that the same transaction inserted as
    /// part of a bulk write has its first key from there.
    private mutating func take(_ reposition: Reposition, _ registry: ResultRegistry, _ store: Store) {
        guard let layout = store.layout[reposition.entity], let slot = layout.slot(of: reposition.property) else {
            return
        }
        registry.forEach(layout.number, slot, .reference(reposition.owner)) { entry in
            guard entry.result.source.orderingPlace != nil, !self.passes(entry) else { return }
            if let loading = entry.loading { return loading.note(reposition, self.revision) }
            guard !entry.result.source.isComputed else {
                return self.note(entry) { $0.note(renumbered: reposition.id) }
            }
            self.pending[ObjectIdentifier(entry), default: PendingResult(entry: entry)].changes.append(
                RowChange(reposition)
            )
            self.pending[ObjectIdentifier(entry)]?.isRenumbered = true
        }
    }

    // MARK: The end of the batch

    /// Applies the batch to its results. The store is at its end.
    mutating func finish(
        _ registry: ResultRegistry,
        _ store: Store,
        _ state: RelatedState,
        base: Revision
    ) throws(StoreError) {
        if self.related.count > 0 { try self.follow(registry, store, state) }
        let all = self.pending.values.sorted { $0.entry.number < $1.entry.number }
        self.pending = [:]
        for pending in all {
            let result = pending.entry.result
            let before = result.tree
            let (changes, isKnownLarge) = try self.changes(pending, state)
            // Also what came to nothing: the result is of this revision now, as the journal will say.
            result.apply(changes, at: store.head)
            guard !changes.isEmpty else { continue }
            pending.entry.changes += 1
            if result.source.isPaired { registry.note(changes, of: pending.entry) }
            let changedCount = changes.count { $0.isPlaced || !$0.changed.isEmpty }
            let rowCount = max(result.tree.count, before.count)
            // A quarter of the rows: who needs them gets the whole, and the log need not remember each.
            let isLarge = isKnownLarge || changedCount > max(self.differenceRowsMin, rowCount / 4)
            if isLarge { result.dropLog(through: store.head) }
            self.affected.append(Affected(entry: pending.entry, before: before, base: base, isLarge: isLarge))
        }
    }

    /// Finds the rows that changed objects have a say in.
    private mutating func follow(_ registry: ResultRegistry, _ store: Store, _ state: RelatedState) throws(StoreError) {
        guard self.related.count <= self.relatedTouchesMax else {
            try state.reload()
            for entry in registry.watching { self.shed(entry) }
            return
        }
        for (subtree, ids) in try state.take(self.related) {
            for entry in registry.watchers(of: subtree) {
                for id in ids { self.affect(id, entry) }
            }
        }
        for path in registry.watchedPaths {
            let roots = try self.related.roots(of: path, store.objects)
            guard !roots.isEmpty else { continue }
            let watchers = registry.watchers(of: path)
            for id in roots {
                guard watchers.count > Self.unroutedMax else {
                    for entry in watchers { self.affect(id, entry) }
                    continue
                }
                var known = self.rows[id]
                if known == nil { known = try store.row(path.table, id) }
                guard let row = known else { continue }
                let object = TouchedObject(entity: row.entity, id: id, before: row, after: row)
                let affect = { (entry: ResultRegistry.Entry) in
                    if entry.watched.contains(path) { self.affect(id, entry) }
                }
                registry.forEachCandidate(object, path.table, affect)
                registry.forEachHolder(id, path.table, affect)
                registry.forEachPairedByValue(path.table, affect)
            }
        }
    }

    /// Up to so many results are asked one by one whether a row is theirs, rather than found by what is constant in
    /// them.
    private static let unroutedMax = 4

    private mutating func affect(_ id: ObjectID, _ entry: ResultRegistry.Entry) {
        if self.passes(entry) { return }
        entry.evaluations += 1
        self.nanoseconds += entry.cost.nanoseconds
        if self.nanoseconds > self.nanosecondsMax, entry.cost.nanoseconds > self.share { return self.shed(entry) }
        if let loading = entry.loading { return loading.note(affected: id, self.revision) }
        self.note(entry) { $0.note(affected: id) }
    }

    /// What a result's rows make of the batch, each at most once.
    private func changes(_ pending: PendingResult, _ state: RelatedState) throws(StoreError) -> (
        changes: [RowChange], isLarge: Bool
    ) {
        let result = pending.entry.result
        if result.source.isComputed {
            var touches = pending.touches
            let countMax = max(self.differenceRowsMin, result.tree.count / 3)
            return try touches.rowChanges(of: result, countMax: countMax, state)
        }
        var changes = pending.changes
        if self.rows.isOfSeveralRevisions || pending.isRenumbered {
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

import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// Applies the change sets of a batch to the live results that they affect, and keeps each result's state before the
/// batch.
///
/// A batch is one step for every result, however many revisions it has: unchanged rows are only visible in their state
/// after the batch, and clients are exact only at the end of a batch.
struct Evaluation {
    struct Affected {
        let entry: ResultRegistry.Entry
        /// The tree before the batch. It shares its unchanged parts with the tree after the batch.
        let before: OrderStatisticTree
        /// The head before the batch: what synced subscribers hold.
        let base: Revision
        /// Whether so many rows changed that the difference is not worth it, and was not kept.
        let isLarge: Bool
        /// The net change of each row; empty if `isLarge`.
        let changes: [RowChange]
    }

    private let differenceRowsMin: Int
    private let dependencyChangesMax: Int
    private let nanosecondsMax: Int
    /// The estimated cost of the batch so far.
    private var nanoseconds = 0
    /// The estimated cost of results without subscribers so far.
    private var unusedNanoseconds = 0
    /// The cost that one object may cause in one bucket once the batch is over its limit, so that all objects together
    /// stay within the limit.
    private var share: Int
    /// Results that would cost too much to follow through this batch. Background reads make them current again.
    private(set) var lagging: [ResultRegistry.Entry] = []
    /// Results without subscribers that the batch affects and that would cost too much.
    private(set) var abandoned: [ResultRegistry.Entry] = []
    /// Results that cannot follow the batch, because a sum that they read is beyond the numbers of its type.
    private(set) var failed: [(entry: ResultRegistry.Entry, error: NestError)] = []
    private var pending = PendingResults()
    /// The dependency changes: changes of objects that results depend on and that are not their rows.
    private var related = DependencyChanges()
    /// Whether results depend on objects of a prepared write, which are not known one by one.
    private var isRelatedUnlisted = false
    /// The revision whose changes are being applied.
    private var revision = Revision(0)
    /// The affected results, set by `finish`, in the order in which they were created.
    private(set) var affected: [Affected] = []
    /// Objects changed in this batch as they are now, so that their values need not be read again.
    private(set) var rows = KnownRows()

    /// `objectCount`: the number of objects that the batch has changed. `nanosecondsMax`: the estimated time that the
    /// batch may take. `knownCount`: the number of those objects that the change sets list with their values.
    init(
        differenceRowsMin: Int,
        dependencyChangesMax: Int,
        nanosecondsMax: Int,
        objectCount: Int,
        knownCount: Int
    ) {
        self.differenceRowsMin = differenceRowsMin
        self.dependencyChangesMax = dependencyChangesMax
        self.nanosecondsMax = nanosecondsMax
        self.share = nanosecondsMax / max(objectCount, 1)
        self.rows.reserve(knownCount)
    }

    /// Applies the changes of the batch's next revision. `withBlocks`: also applies the streamed changes of a bulk
    /// write.
    mutating func take(
        _ changes: ChangeSet,
        _ registry: ResultRegistry,
        _ store: Store,
        withBlocks: Bool = true
    ) throws(StoreError) {
        self.revision = changes.revision
        if !changes.prepared.isEmpty, !self.isRelatedUnlisted {
            let tables = changes.streamedEntities.compactMap { store.layout[$0]?.number }
            self.isRelatedUnlisted = tables.contains { registry.watches($0) }
        }
        // Most objects are of the same entity as the one before.
        var entity: EntityNumber?
        var results: TableResults?
        try store.forEachChangedObject(changes, withBlocks: withBlocks) { object in
            if object.entity != entity {
                entity = object.entity
                results = store.layout[object.entity].flatMap { registry[table: $0.number] }
            }
            guard let results else { return }
            if results.isWatched, self.related.count <= self.dependencyChangesMax {
                self.related.note(object, results.number)
            }
            guard results.hasRows else { return }
            results.forEachBucket(object) { self.take($0, $1) }
            guard results.isPaired else { return }
            registry.forEachHolder(object.id, results) { self.note(row: object, $0) }
            for entry in results.pairedByValue { self.note(row: object, entry) }
        }
        for reposition in changes.repositions { self.take(reposition, registry, store) }
        self.rows.take(changes)
    }

    // MARK: Cost

    /// Applies a changed object to the results of a bucket. If the batch costs too much, the most expensive results
    /// leave the bucket first.
    private mutating func take(_ object: ChangedRow, _ bucket: ResultRegistry.Bucket) {
        let textBytes =
            bucket.cost.nanosecondsPerByte == 0 ? 0 : max(object.before?.textBytes ?? 0, object.after?.textBytes ?? 0)
        self.nanoseconds += bucket.cost.nanoseconds(textBytes: textBytes)
        if self.nanoseconds > self.nanosecondsMax {
            for entry in bucket.shed(to: self.share, textBytes: textBytes) { self.shed(entry) }
        }
        for entry in bucket.entries { self.take(object, entry) }
    }

    /// Removes a result from the batch, with the changes noted for it.
    mutating func shed(_ entry: ResultRegistry.Entry) {
        if let loading = entry.loading { return loading.overrun() }
        guard !entry.isLagging, !entry.isAbandoned else { return }
        self.pending.remove(entry)
        if entry.isUnused {
            entry.isAbandoned = true
            self.abandoned.append(entry)
        } else {
            entry.isLagging = true
            self.lagging.append(entry)
        }
    }

    /// Whether a result ignores a change, because it lags or is abandoned. May abandon a result without subscribers.
    private mutating func passes(_ entry: ResultRegistry.Entry) -> Bool {
        if entry.isLagging && entry.loading == nil || entry.isAbandoned { return true }
        guard entry.isUnused, !entry.isKeptUnused else { return false }
        self.unusedNanoseconds += entry.cost.nanoseconds(textBytes: Self.usualTextBytes)
        guard self.unusedNanoseconds > self.nanosecondsMax / Self.unusedShare else { return false }
        self.shed(entry)
        return true
    }

    /// Results without subscribers may together use this fraction (1/20) of the cost limit of a batch. They are
    /// followed so that a client that paused a result, or lost its connection, can continue when it comes back soon.
    private static let unusedShare = 20
    private static let usualTextBytes = 64

    // MARK: Changes of results

    private mutating func note(row object: ChangedRow, _ entry: ResultRegistry.Entry) {
        if self.passes(entry) { return }
        if let loading = entry.loading { return loading.note(row: object, self.revision) }
        self.note(entry) { $0.note(row: object) }
    }

    /// Adds to the changes of a computed result.
    private mutating func note(_ entry: ResultRegistry.Entry, _ body: (inout ComputedChanges) -> Void) {
        let index = self.pending.index(of: entry)
        body(&self.pending[index].computedChanges)
        if self.pending[index].computedChanges.count > max(self.dependencyChangesMax, entry.result.tree.count) {
            self.shed(entry)
        }
    }

    /// Applies an object, or a pair, that may be or may have been in a result.
    private mutating func take(_ object: ChangedRow, _ entry: ResultRegistry.Entry) {
        if self.passes(entry) { return }
        entry.evaluations += 1
        if let loading = entry.loading { return loading.note(candidate: object, self.revision) }
        let result = entry.result
        guard !result.isPaired else { return self.note(entry) { $0.note(pair: object) } }
        guard !result.isComputed else { return self.note(entry) { $0.note(row: object) } }
        guard let change = result.rowChange(object) else { return }
        let index = self.pending.index(of: entry)
        self.pending[index].append(change, differenceRowsMin: self.differenceRowsMin)
    }

    /// Replaces the key of a renumbered row; its index in the order stays the same. A row that the same transaction
    /// inserted in a bulk write has its first key from that insertion.
    private mutating func take(_ reposition: Reposition, _ registry: ResultRegistry, _ store: Store) {
        guard let layout = store.layout[reposition.entity], let slot = layout.slot(of: reposition.property) else {
            return
        }
        registry[table: layout.number]?.forEach(slot, .reference(reposition.owner)) { entry in
            guard entry.result.source.orderingPlace != nil, !self.passes(entry) else { return }
            if let loading = entry.loading { return loading.note(reposition, self.revision) }
            guard !entry.result.source.isComputed else {
                return self.note(entry) { $0.note(renumbered: reposition.id) }
            }
            let index = self.pending.index(of: entry)
            self.pending[index].changes.append(RowChange(reposition))
            self.pending[index].isRenumbered = true
        }
    }

    // MARK: The end of the batch

    /// Applies the batch to its results. The store must show the state after the batch.
    mutating func finish(
        _ registry: ResultRegistry,
        _ store: Store,
        _ state: RelatedState,
        base: Revision
    ) throws(StoreError) {
        if self.related.count > 0 || self.isRelatedUnlisted { try self.follow(registry, store, state) }
        let all = self.pending.take()
        state.beginTurn()
        defer { state.endTurn() }
        for pending in all {
            let result = pending.entry.result
            let before = result.tree
            let changes: [RowChange]
            let isKnownLarge: Bool
            do throws(StoreError) {
                (changes, isKnownLarge) = try self.changes(pending, state)
            } catch StoreError.refused(let error) {
                self.failed.append((pending.entry, error))
                continue
            } catch StoreError.postponed(.resultTooExpensive) {
                // A function has too many values: a background read computes it.
                self.shed(pending.entry)
                continue
            }
            // Also without a net change: the result is of this revision now, as the journal will show.
            result.apply(changes, at: store.head, after: base)
            guard !changes.isEmpty else { continue }
            pending.entry.changes += 1
            if result.source.isPaired { registry.note(changes, of: pending.entry) }
            let changedCount = changes.count { $0.isPlaced || !$0.changed.isEmpty }
            let rowCount = max(result.tree.count, before.count)
            // Over a quarter of the rows: subscribers receive a snapshot, and the log need not contain each change.
            let isLarge = isKnownLarge || changedCount > max(self.differenceRowsMin, rowCount / 4)
            if isLarge { result.dropLog(through: store.head) }
            self.affected.append(
                Affected(
                    entry: pending.entry,
                    before: before,
                    base: base,
                    isLarge: isLarge,
                    changes: isLarge ? [] : changes
                )
            )
        }
    }

    /// Finds the rows that depend on changed objects.
    private mutating func follow(_ registry: ResultRegistry, _ store: Store, _ state: RelatedState) throws(StoreError) {
        guard self.related.count <= self.dependencyChangesMax, !self.isRelatedUnlisted else {
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
                let object = ChangedRow(entity: row.entity, id: id, before: row, after: row)
                func affect(_ entry: ResultRegistry.Entry) {
                    if entry.watched.contains(path) { self.affect(id, entry) }
                }
                guard let results = registry[table: path.table] else { continue }
                results.forEachCandidate(object, affect)
                registry.forEachHolder(id, results, affect)
                for entry in results.pairedByValue { affect(entry) }
            }
        }
    }

    /// Up to this number of results are checked one by one for a row; more are looked up by their constant values.
    private static let unroutedMax = 4

    private mutating func affect(_ id: ObjectID, _ entry: ResultRegistry.Entry) {
        if self.passes(entry) { return }
        entry.evaluations += 1
        self.nanoseconds += entry.cost.nanoseconds
        if self.nanoseconds > self.nanosecondsMax, entry.cost.nanoseconds > self.share { return self.shed(entry) }
        if let loading = entry.loading { return loading.note(affected: id, self.revision) }
        self.note(entry) { $0.note(affected: id) }
    }

    /// Returns the changes of a result's rows, at most one for each row.
    private func changes(_ pending: PendingResult, _ state: RelatedState) throws(StoreError) -> (
        changes: [RowChange], isLarge: Bool
    ) {
        let result = pending.entry.result
        if result.source.isComputed {
            var computedChanges = pending.computedChanges
            let countMax = max(self.differenceRowsMin, result.tree.count / 3)
            return try computedChanges.rowChanges(of: result, countMax: countMax, state)
        }
        var changes = pending.changes
        if self.rows.isOfSeveralRevisions || pending.isRenumbered { changes = changes.merged() }
        if result.source.isFiltered {
            // Only the position of a renumbered object is known: it may be of another entity.
            changes = changes.filter { $0.before.map { result.tree.contains($0) } ?? true }
        }
        return (changes, pending.isLarge)
    }
}

import NestLiveQuery
import NestModel
import NestSchema
import NestStore

/// Brings the outlines to the state after a batch, and sends the differences.
extension Outlines {
    /// `base`: the head before the batch.
    func push(
        _ changes: [ChangeSet],
        _ bulk: BulkConcern,
        base: Revision,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        guard self.count > 0 || !self.pending.isEmpty else { return }
        let concerned: [(outline: Outline, concern: Concern)]
        let batch: OutlineBatch
        do {
            batch = try self.batch(changes, bulk)
            concerned = try self.concerned(batch)
        } catch {
            self.lose()
            throw error
        }
        var budget = OutlineBudget(objects: Self.readsPerBatch * self.examinedMax, changes: self.changesMax)
        for (outline, concern) in concerned where self[outline.id] === outline {
            self.work.followed += 1
            do throws(StoreError) {
                if try self.follow(outline, batch, concern, base: base, &budget, &effects) { continue }
                try self.readAgain(outline, base: base, &budget, &effects)
            } catch {
                guard !error.isFatal else {
                    self.lose()
                    throw error
                }
                self.end(outline, error.nestError, &effects)
            }
        }
        self.work.examined += batch.tables.values.reduce(0) { $0 + $1.readCount }
        self.live.measureIfOverfull()
        self.shed(&effects)
    }

    /// All outlines of a batch may together examine this many times what one may.
    private static let readsPerBatch = 8
    /// The blocks of bulk writes that are read again, as live results have chosen.
    private static let blocksMax = 64

    /// Collects the changes of a batch, also for the reads that run.
    private func batch(_ changes: [ChangeSet], _ bulk: BulkConcern) throws(StoreError) -> OutlineBatch {
        let readsBlocks =
            !bulk.isOverrun && changes.reduce(0) { $0 + $1.concernedBlocks.count } <= Self.blocksMax
        var lost = bulk.unlistedTables
        if !readsBlocks {
            for entity in changes.lazy.flatMap(\.streamedEntities) {
                if let table = self.store.layout[entity]?.number { lost.insert(table) }
            }
        }
        lost.formIntersection(self.tables)
        var batch = OutlineBatch(self.store, lost: lost, objectsMax: self.changesMax)
        var objects: [OutlineBatch.Object] = []
        for changes in changes {
            try self.store.forEachChangedObject(changes, withBlocks: readsBlocks) { object in
                guard let table = self.store.layout[object.entity]?.number else { return }
                let (hasRows, isWatched) = (self.interest.hasRows(table), self.interest.watches(table))
                guard hasRows || isWatched else { return }
                batch.note(object, table, hasRows: hasRows, isWatched: isWatched)
                if !self.pending.isEmpty { objects.append((changes.revision, object, table)) }
            }
        }
        for reading in self.pending.values {
            reading.note(objects, lost: lost, head: self.store.head, max: self.changesMax)
        }
        try batch.finish(self.interest.filterPaths, columns: self.interest.columnPaths, max: self.examinedMax)
        return batch
    }

    // MARK: Concerned outlines

    /// What a batch means for an outline.
    enum Concern {
        /// The values of its columns may have changed, and nothing else.
        case columns
        /// Changed objects are among its rows, or may be.
        case rows(OutlineChanges)
        /// Its changes are not known one by one.
        case lost
    }

    /// Returns the outlines that a batch concerns, in the order of their ids. Any other costs a few look-ups.
    private func concerned(_ batch: OutlineBatch) throws(StoreError) -> [(outline: Outline, concern: Concern)] {
        var concerned: [(outline: Outline, concern: Concern)] = []
        for (table, outlines) in self.byTable {
            let changes = batch.tables[table]
            guard changes != nil || !batch.lost.isEmpty || batch.related.count > 0 else { continue }
            for outline in outlines.values where !outline.isStale {
                if let concern = try self.concern(outline, batch, changes) { concerned.append((outline, concern)) }
            }
        }
        return concerned.sorted { $0.outline.id < $1.outline.id }
    }

    private func concern(
        _ outline: Outline,
        _ batch: OutlineBatch,
        _ changes: OutlineChanges?
    ) throws(StoreError) -> Concern? {
        let source = outline.source
        if batch.isLost(source.table, outline.filterPaths) { return .lost }
        if !outline.columnPaths.isEmpty {
            if let changed = batch.changed(outline.columnPaths) {
                for ids in changed { outline.note(ids) }
            } else {
                outline.isAllChanged = true
            }
        }
        if let changes {
            // What the connection has is not what the rows are.
            if outline.laggingSince != nil { outline.note(changes) }
            let reached = try changes.reached(source.slot, outline.filterPaths)
            if reached.contains(source.root) || outline.rows.tree.knowsAny(of: reached) { return .rows(changes) }
            if changes.hasMovedOut, self.isConfined(outline) { return .rows(changes) }
        }
        return outline.hasChanged && outline.laggingSince == nil ? .columns : nil
    }

    private func isConfined(_ outline: Outline) -> Bool {
        guard let scope = self.connections[outline.connection]?.scope else { return false }
        return scope != .everything
    }

    // MARK: Following

    /// Follows the changes of a batch, and sends the difference. Returns `false` if the rows must be read anew.
    private func follow(
        _ outline: Outline,
        _ batch: OutlineBatch,
        _ concern: Concern,
        base: Revision,
        _ budget: inout OutlineBudget,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) -> Bool {
        var outcome = OutlineUpdate.Outcome()
        var cost = Self.workOfDifference
        switch concern {
        case .lost: return false
        case .columns: break
        case .rows(let changes):
            outline.note(changes)
            let count = changes.count
            guard let found = try self.update(outline, batch, changes, &budget) else { return false }
            outcome = found
            cost += min(count, outline.range.count)
            self.noteSize(of: outline)
        }
        guard outline.laggingSince == nil else { return true }
        guard outline.mayShowOther(outcome) else {
            if outline.position != outline.sentPosition { self.noteMoved(outline) }
            return true
        }
        // All values are read again if it is not known which have changed.
        cost += outline.isAllChanged ? outline.range.count : outline.range.count / Self.rowsPerWork
        guard self.lagging.takeWork(changeCount: cost) else {
            self.fallBehind(outline, base: base)
            return true
        }
        try self.sendDifference(outline, from: outline.lastChange, &effects)
        return true
    }

    /// The units of the work limit of a batch that a difference costs besides its rows, as measured.
    private static let workOfDifference = 16
    /// The rows of a window that are compared for one unit of the work limit of a batch.
    private static let rowsPerWork = 16

    /// Updates the rows of an outline. Returns `nil` if they must be read anew.
    private func update(
        _ outline: Outline,
        _ batch: OutlineBatch,
        _ changes: OutlineChanges,
        _ budget: inout OutlineBudget
    ) throws(StoreError) -> OutlineUpdate.Outcome? {
        guard let connection = self.connections[outline.connection] else { return OutlineUpdate.Outcome() }
        let source = outline.source
        let hadRoot = outline.hasRoot
        if changes.contains(source.root) || changes.hasMovedOut && connection.scope != .everything {
            outline.hasRoot = try self.hasRoot(source, connection.scope)
        }
        guard hadRoot, outline.hasRoot else {
            if outline.hasRoot { return nil }
            if hadRoot { outline.rows.reset([]) }
            return OutlineUpdate.Outcome(hasMoved: hadRoot)
        }
        let ids = try changes.ids(of: source, outline.filterPaths, in: outline.rows.tree)
        guard !ids.isEmpty else { return OutlineUpdate.Outcome() }
        budget.changes -= ids.count
        guard budget.changes >= 0 else { return nil }
        let objects = min(budget.objects, self.examinedMax)
        let reader = OutlineReader(source, self.store.objects, self.live.related, budget: objects)
        do throws(StoreError) {
            let outcome = try OutlineUpdate.apply(changes, ids, batch.related, to: &outline.rows, source, reader)
            budget.objects -= outcome.examined
            self.work.examined += outcome.examined
            return outcome
        } catch .postponed(.resultTooExpensive) {
            budget.objects -= objects
            self.work.examined += objects
            return nil
        }
    }

    /// Lets a connection lag behind an outline until its turn.
    private func fallBehind(_ outline: Outline, base: Revision) {
        outline.laggingSince = base
        self.connections[outline.connection]?.laggingViews.insert(outline.id)
        self.lagging.append(outline.connection, outline.id)
    }

    // MARK: Reading anew

    /// Reads the rows of an outline anew: at once if they are few, otherwise in the background, while the connection
    /// lags.
    private func readAgain(
        _ outline: Outline,
        base: Revision,
        _ budget: inout OutlineBudget,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        guard let connection = self.connections[outline.connection] else { return }
        self.work.readAgain += 1
        outline.isAllChanged = true
        let objects = min(budget.objects, self.examinedMax)
        do throws(StoreError) {
            // As many rows as it had would be too many.
            guard objects > 0, outline.rows.count < objects else { throw .postponed(.resultTooExpensive) }
            let (rows, hasRoot, examined) = try self.read(outline.source, connection.scope, budget: objects)
            budget.objects -= examined
            outline.hasRoot = hasRoot
            outline.rows.replace(with: rows)
            self.noteSize(of: outline)
        } catch .postponed(.resultTooExpensive) {
            if outline.rows.count < objects { budget.objects -= objects }
            self.noteStale(outline, base: base)
            return
        }
        guard outline.laggingSince == nil else { return }
        guard self.lagging.takeWork(changeCount: Self.workOfDifference + outline.range.count) else {
            return self.fallBehind(outline, base: base)
        }
        try self.sendDifference(outline, from: outline.lastChange, &effects)
    }

    /// Lets a connection lag behind an outline until its rows have been read in the background.
    private func noteStale(_ outline: Outline, base: Revision) {
        guard !outline.isStale else { return }
        outline.isStale = true
        outline.isAllChanged = true
        if outline.laggingSince == nil { outline.laggingSince = base }
        self.connections[outline.connection]?.laggingViews.insert(outline.id)
        self.stale.append(outline.id)
    }

    /// Notes that a batch was committed that no outline has followed.
    func lose() {
        for outline in self.sorted { self.noteStale(outline, base: self.store.head) }
        for reading in self.pending.values { reading.lose() }
    }
}

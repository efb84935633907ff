import DequeModule
import NestLiveQuery
import NestModel
import NestProtocol
import NestStore

/// Reads of outlines that are too large to be read between two commits. Another thread performs them, at a revision of
/// its own; then the changes since are applied.
extension Outlines {
    /// The maximum number of reads for one request while the outline changes too much.
    private static let attemptsMax = 8
    /// The maximum number of outlines that are read anew at the same time.
    private static let refreshesMax = 1

    /// A connection waits for the reads of its requests, and not for outlines that are read anew. `scope`: of a
    /// request with fold states that the read applies.
    func begin(_ reading: OutlineReading, scope: AuthorisationScope = .everything, _ effects: inout [EngineEffect]) {
        if reading.attempts == 1 {
            self.interest.add(reading.source)
            if !reading.isRefresh { self.connections[reading.connection]?.backgroundReadCount += 1 }
        }
        let read = self.reads.begin(outline: reading.source, reading.states, scope, &effects)
        self.pending[read] = reading
    }

    /// Begins to read anew the outlines that have been stale longest.
    func refreshStale(_ effects: inout [EngineEffect]) {
        while self.pending.values.count(where: { $0.isRefresh }) < Self.refreshesMax, let id = self.stale.popFirst() {
            guard let outline = self[id], outline.isStale else { continue }
            let reading = OutlineReading(
                outline.source,
                .refresh(id),
                outline.connection,
                after: self.store.head
            )
            self.begin(reading, &effects)
        }
    }

    /// Accepts the outcome of a read. Returns `false` if it is not one of an outline.
    func take(
        _ id: UInt64,
        _ outcome: BackgroundReads.Outcome,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) -> Bool {
        guard let reading = self.pending.removeValue(forKey: id) else { return false }
        guard let connection = self.connections[reading.connection] else {
            self.interest.remove(reading.source)
            return true
        }
        let effectCount = effects.count
        do throws(StoreError) {
            let read: BackgroundRead.Rows
            switch outcome {
            case .success(let rows): read = rows
            case .failure(let refusal): throw StoreError.refused(refusal)
            }
            if let folds = read.outlineFolds {
                try folds.check()
                reading.take(folds)
            }
            guard let (rows, hasRoot) = try self.rows(reading, read, connection) else {
                guard reading.isRefresh || reading.attempts < Self.attemptsMax else { throw Self.busy }
                reading.restart(after: self.store.head)
                self.begin(reading, scope: connection.scope, &effects)
                return true
            }
            try self.serve(reading.waiter, reading.source, rows, hasRoot, connection, now: now, &effects)
        } catch {
            effects.removeSubrange(effectCount...)
            self.note(error)
            self.refuse(reading, error, connection, &effects)
        }
        self.interest.remove(reading.source)
        if !reading.isRefresh { self.reads.endWait(connection) }
        return true
    }

    private static let busy = StoreError.refused(
        .busy,
        "the outline changes faster than it can be read: try again later, or fold some of it"
    )

    /// Returns the rows at the head: those that were read, with the changes since; `nil` if they must be read once
    /// more.
    private func rows(
        _ reading: OutlineReading,
        _ read: BackgroundRead.Rows,
        _ connection: EngineConnection
    ) throws(StoreError) -> (rows: OutlineTree, hasRoot: Bool)? {
        var rows = OutlineTree()
        let source = reading.source
        guard try self.hasRoot(source, connection.scope) else { return (rows, false) }
        guard var batch = try reading.changes(after: read.revision, self.store, max: self.changesMax),
            read.hasOutlineRoot
        else { return nil }
        rows.reset(read.outline)
        try batch.finish(source.filterPaths, max: self.examinedMax)
        guard !batch.isLost(source.table, source.filterPaths) else { return nil }
        guard let changes = batch.tables[source.table] else { return (rows, true) }
        do {
            let ids = try changes.ids(of: source, source.filterPaths, in: rows.tree)
            _ = try OutlineUpdate.apply(changes, ids, batch.related, to: &rows, source, self.reader(source))
            self.admission.work += ids.count
            return (rows, true)
        } catch StoreError.postponed(.resultTooExpensive) {
            return nil
        }
    }

    private func serve(
        _ waiter: OutlineReading.Waiter,
        _ source: OutlineSource,
        _ rows: OutlineTree,
        _ hasRoot: Bool,
        _ connection: EngineConnection,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        switch waiter {
        case .fetch(let plan, let requestID):
            try self.answer(plan, rows, connection, requestID, &effects)
        case .subscribe(let plan, let requestID, let oldID?, let reason):
            let old = self.outline(oldID, of: connection.id)
            let isGone = old == nil && reason.isEmpty
            try self.replace(
                old,
                oldID,
                plan,
                rows,
                hasRoot,
                connection,
                requestID,
                isGone ? Self.hasEnded : reason,
                now: now,
                &effects
            )
        case .subscribe(let plan, let requestID, nil, let reason):
            try self.requireRoom(connection)
            try self.begin(plan, rows, hasRoot, connection, requestID, reason, &effects)
        case .setExpanded(let view, let requestID):
            guard let outline = self.outline(view, of: connection.id) else {
                throw .refused(.notFound, "the connection has no subscription to view \(view)")
            }
            if rows.count > outline.rows.count { try self.live.requireRoom(now: now) }
            outline.source.folds = source.folds
            self.renew(outline, rows, hasRoot)
            try self.answerFolds(outline, connection, requestID, &effects)
        case .refresh(let view):
            guard let outline = self.outline(view, of: connection.id), outline.isStale else { return }
            // Another request may have changed the fold states meanwhile.
            guard outline.source.folds == source.folds else { return self.stale.append(view) }
            self.renew(outline, rows, hasRoot)
        }
    }

    /// Gives an outline rows of the head. A connection that lagged because they were not known catches up next.
    private func renew(_ outline: Outline, _ rows: OutlineTree, _ hasRoot: Bool) {
        outline.rows.replace(with: rows)
        outline.hasRoot = hasRoot
        self.noteSize(of: outline)
        guard outline.isStale else { return }
        outline.isStale = false
        outline.isAllChanged = true
        self.lagging.append(outline.connection, outline.id)
    }

    private func refuse(
        _ reading: OutlineReading,
        _ error: StoreError,
        _ connection: EngineConnection,
        _ effects: inout [EngineEffect]
    ) {
        switch reading.waiter {
        case .fetch(_, let requestID), .subscribe(_, let requestID, _, _), .setExpanded(_, let requestID):
            self.replies.send(.failure(error.nestError), connection.id, requestID, &effects)
        case .refresh(let view):
            if let outline = self.outline(view, of: connection.id) { self.end(outline, error.nestError, &effects) }
        }
    }
}

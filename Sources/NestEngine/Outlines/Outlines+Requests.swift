import NestLiveQuery
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// SUBSCRIBE, RESUBSCRIBE and FETCH of outlines.
extension Outlines {
    private func plan(
        _ request: ObjectFetchRequest,
        _ connection: EngineConnection,
        mayBeGone: Bool = false,
        folds: OutlineFolds? = nil
    ) throws(StoreError) -> OutlinePlan {
        let resolver = try RequestResolver(self.store, self.scopes, connection.scope)
        guard var plan = try resolver.resolve(request, mayBeGone: mayBeGone).outline else {
            preconditionFailure("the request is for an outline")
        }
        plan.source.rowsMax = self.rowsMax
        if plan.keepsFolds {
            guard let folds else {
                throw Self.keepsNothing
            }
            plan.source.folds = folds
        }
        return plan
    }

    func subscribe(
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ request: ObjectFetchRequest,
        _ resume: ResumePoint?,
        atLeast: Revision,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        try self.store.requireRevision(atLeast)
        let isReturning = resume?.historyID == self.store.historyID
        let plan = try self.plan(request, connection, mayBeGone: isReturning)
        try self.requireRoom(connection)
        try self.live.requireRoom(now: now)
        let reason = resume == nil ? "" : Self.notKept
        do {
            let (rows, hasRoot, _) = try self.read(plan.source, connection.scope)
            try self.begin(plan, rows, hasRoot, connection, requestID, reason, &effects)
        } catch StoreError.postponed(.resultTooExpensive) {
            let waiter = OutlineReading.Waiter.subscribe(plan, requestID: requestID, insteadOf: nil, reason: reason)
            self.begin(OutlineReading(plan.source, waiter, connection.id, after: self.store.head), &effects)
        }
    }

    static let keepsNothing = StoreError.refused(
        .invalid,
        "only RESUBSCRIBE of an outline can keep its fold states: name an expansion"
    )
    static let hasEnded = "the outline that it replaces has ended"
    static let notKept = "the changes of an outline are not kept"
    static let otherKind = "another kind of result"

    /// Begins a subscription with a snapshot. The anchor must be a row, also for a resume: its position is not known
    /// any more, but the client remembers it. Only the outline of an object that is gone has none.
    func begin(
        _ plan: OutlinePlan,
        _ rows: OutlineTree,
        _ hasRoot: Bool,
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ reason: String,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        var rows = rows
        if case .around(let id, _, _) = plan.window {
            if rows.tree.contains(id) {
                rows.setAnchor(id)
            } else {
                guard !hasRoot else { throw View.notARow(id) }
                rows.setAnchor(nil)
            }
        }
        let shown = try self.window.rows(Outline.range(plan.window, rows), of: rows, plan.source, plan.columns)
        let outline = self.insert(plan, rows, hasRoot: hasRoot, for: connection)
        self.accept(outline, .snapshot, reason, requestID, &effects)
        self.sendSnapshot(outline, shown, .first, &effects)
    }

    private func accept(
        _ outline: Outline,
        _ first: FirstState,
        _ reason: String,
        _ requestID: UInt32,
        _ effects: inout [EngineEffect]
    ) {
        let reply = EngineReply.subscribed(
            view: outline.id,
            first: first,
            reason: reason,
            projection: outline.projection
        )
        effects.append(.reply(outline.connection, requestID: requestID, reply))
    }

    /// Changes a subscription to an outline. `list`: ends the subscription to a view that is no outline.
    func resubscribe(
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ viewID: UInt32,
        to request: ObjectFetchRequest,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let old = self.outline(viewID, of: connection.id)
        let plan = try self.plan(request, connection, folds: old?.source.folds)
        if let old, !old.isStale, old.source.isSame(as: plan.source) {
            // Only the window or the values differ.
            return try self.replace(
                old,
                viewID,
                plan,
                old.rows,
                old.hasRoot,
                connection,
                requestID,
                "",
                now: now,
                &effects
            )
        }
        if old == nil { try self.requireRoom(connection) }
        try self.live.requireRoom(now: now)
        let reason = old == nil ? Self.otherKind : ""
        do {
            let (rows, hasRoot, _) = try self.read(plan.source, connection.scope)
            try self.replace(
                old,
                viewID,
                plan,
                rows,
                hasRoot,
                connection,
                requestID,
                reason,
                now: now,
                &effects
            )
        } catch StoreError.postponed(.resultTooExpensive) {
            let waiter = OutlineReading.Waiter.subscribe(plan, requestID: requestID, insteadOf: viewID, reason: reason)
            self.begin(OutlineReading(plan.source, waiter, connection.id, after: self.store.head), &effects)
        }
    }

    /// Answers a RESUBSCRIBE: sends the difference from what the old outline shows, or a snapshot. Ends the old view.
    func replace(
        _ old: Outline?,
        _ oldID: UInt32,
        _ plan: OutlinePlan,
        _ rows: OutlineTree,
        _ hasRoot: Bool,
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ reason: String,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        guard let old, old.projection == plan.projection, old.columns == plan.columns,
            old.source.table == plan.source.table, old.source.children.related == plan.source.children.related
        else {
            let reason = reason.isEmpty ? "other columns" : reason
            try self.begin(plan, rows, hasRoot, connection, requestID, reason, &effects)
            return try self.endReplaced(oldID, connection, now: now)
        }
        var rows = rows
        rows.setAnchor(nil)
        if case .around(let id, _, _) = plan.window {
            guard rows.tree.contains(id) else { throw View.notARow(id) }
            rows.setAnchor(id)
        }
        let range = Outline.range(plan.window, rows)
        self.admission.work += range.count / 8
        let shown = try self.window.rows(range, of: rows, plan.source, plan.columns) { old.sentValues($0) }
        let outline = self.insert(plan, rows, hasRoot: hasRoot, for: connection)
        let diff: ResultsDiff
        do {
            diff = try self.window.difference(
                from: old,
                to: shown,
                of: rows,
                outline,
                connection.scope,
                from: self.store.head
            )
        } catch {
            _ = self.end(outline.id, of: connection.id)
            throw error
        }
        var body = ByteWriter()
        body.write(diff: diff)
        if body.count > Limits.sharedDiffBytesMax {
            self.accept(outline, .snapshot, "the difference is large", requestID, &effects)
            self.sendSnapshot(outline, shown, .first, &effects)
        } else {
            self.counters.diffs += 1
            self.accept(outline, .difference, "", requestID, &effects)
            effects.append(.push(EnginePush(view: outline.id, content: .diff(body.bytes)), to: [connection.id]))
            outline.noteSent(shown, outline.position, at: self.store.head)
            self.noteSize(of: outline)
            if connection.isBlocked { outline.laggingSince = self.store.head }
        }
        try self.endReplaced(oldID, connection, now: now)
    }

    /// Ends the view that a RESUBSCRIBE replaces, unless its connection has ended it meanwhile.
    private func endReplaced(_ id: UInt32, _ connection: EngineConnection, now: Int64) throws(StoreError) {
        guard !self.end(id, of: connection.id), connection.views.contains(id) else { return }
        try self.endList?(connection.id, id, now)
    }

    func fetch(
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ request: ObjectFetchRequest,
        atLeast: Revision,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        try self.store.requireRevision(atLeast)
        let plan = try self.plan(request, connection)
        do {
            let rows = try self.read(plan.source, connection.scope).rows
            try self.answer(plan, rows, connection, requestID, &effects)
        } catch StoreError.postponed(.resultTooExpensive) {
            let reading = OutlineReading(
                plan.source,
                .fetch(plan, requestID: requestID),
                connection.id,
                after: self.store.head
            )
            self.begin(reading, &effects)
        }
    }

    /// Answers a FETCH with a window of rows.
    func answer(
        _ plan: OutlinePlan,
        _ rows: OutlineTree,
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        var rows = rows
        if case .around(let id, _, _) = plan.window {
            guard rows.tree.contains(id) else { throw View.notARow(id) }
            rows.setAnchor(id)
        }
        let shown = try self.window.rows(Outline.range(plan.window, rows), of: rows, plan.source, plan.columns)
        var (header, bodies) = self.window.snapshot(shown, of: rows, plan.window, .first)
        header.window.anchor = nil
        self.admission.work += shown.count
        self.replies.send(.snapshot(header, rows: bodies), connection.id, requestID, &effects)
    }
}

extension OutlineSource {
    /// Whether an outline with another source has the same rows.
    fileprivate func isSame(as other: OutlineSource) -> Bool {
        self.children == other.children && self.folds == other.folds
    }
}

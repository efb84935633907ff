import NestLiveQuery
import NestModel
import NestStore

/// Net differences that several subscribers need in one turn, worked out and encoded once. Of one head only.
struct CatchUps {
    struct DeltaKey: Hashable {
        var result: UInt64
        var base: Revision
    }

    struct BodyKey: Hashable {
        var view: UInt32
        var base: Revision
        var known: Revision
        var range: Range<Int>
    }

    var deltas: [DeltaKey: ResultDelta] = [:]
    var bodies: [BodyKey: Engine.CatchUp] = [:]
}

extension Engine {
    enum CatchUp {
        case current
        /// The body of one diff.
        case difference([UInt8])
        case snapshot(reason: String)
    }

    private enum Way {
        case delta(ResultDelta)
        case snapshot(reason: String)
    }

    /// What has become of a result since a revision, or why that is not told.
    private func delta(_ entry: ResultRegistry.Entry, from base: Revision) throws -> Way {
        let key = CatchUps.DeltaKey(result: entry.number, base: base)
        if let known = self.catchUps.deltas[key] { return .delta(known) }
        let result = entry.result
        if result.log.base > base {
            let recent = self.recentChanges ?? RecentChanges(self.store)
            self.recentChanges = recent
            let (log, readCount) = try ResumeLog.build(self.store, result.source, recent, after: base)
            self.admissionWork += readCount
            guard let log else {
                return .snapshot(reason: "the changes since revision \(base) are no longer kept")
            }
            result.dropLog(through: result.revision)
            result.prepend(log)
        }
        guard result.log.changeCount(after: base) <= max(self.limits.differenceRowsMin, result.tree.count) * 4 else {
            return .snapshot(reason: "too many changes since revision \(base)")
        }
        let (tree, changes) = result.state(at: base)
        let delta = ResultDelta(from: tree, to: result.tree, touching: changes.values)
        self.admissionWork += changes.count
        self.catchUps.deltas[key] = delta
        return .delta(delta)
    }

    /// The way from an earlier state of a view to the head. `known` is what the client calls that state; `range` tells the rows
    /// that it showed of the result's tree then, or that this is not known.
    func catchUp(
        _ view: View,
        _ entry: ResultRegistry.Entry,
        from base: Revision,
        known: Revision,
        range: (ResultDelta) -> Range<Int>?
    ) throws -> CatchUp {
        let result = entry.result
        if result.revision <= base { return .current }
        let delta: ResultDelta
        switch try self.delta(entry, from: base) {
        case .delta(let found): delta = found
        case .snapshot(let reason): return .snapshot(reason: reason)
        }
        guard let oldRange = range(delta) else { return .snapshot(reason: "the window is not where it was") }
        let key = CatchUps.BodyKey(view: view.id, base: base, known: known, range: oldRange)
        if let body = self.catchUps.bodies[key] { return body }
        let answer = try self.encode(view, result, delta, oldRange, known: known)
        self.catchUps.bodies[key] = answer
        return answer
    }

    private func encode(
        _ view: View,
        _ result: LiveResult,
        _ delta: ResultDelta,
        _ oldRange: Range<Int>,
        known: Revision
    ) throws -> CatchUp {
        guard delta.count <= max(self.limits.differenceRowsMin, result.tree.count / 4) else {
            return .snapshot(reason: "too many changes since revision \(known)")
        }
        self.admissionWork += delta.count
        let net = delta.difference(oldRange, view.range)
        let diff = try self.diff(view, net, from: known, result, .ofSeveralRevisions)
        if diff.isEmpty, diff.window == nil { return .current }
        var body = ByteWriter()
        body.write(diff: diff)
        guard body.count <= Limits.sharedDiffBytesMax else { return .snapshot(reason: "the difference is large") }
        return .difference(body.bytes)
    }

    /// `window`: what the client held; it names the object that it followed last.
    func resume(
        _ view: View,
        _ entry: ResultRegistry.Entry,
        _ point: ResumePoint,
        _ window: FetchWindow?
    ) throws -> CatchUp {
        guard point.historyID == self.store.historyID else { return .snapshot(reason: "the store has another history") }
        guard point.revision <= self.store.head else {
            return .snapshot(reason: "revision \(point.revision) is ahead of the store")
        }
        return try self.catchUp(view, entry, from: point.revision, known: point.revision) { delta in
            guard case .around(let id, _, _) = window, delta.old.count > 0 else {
                return View.range(window, nil, delta.old)
            }
            guard let anchor = delta.oldKey(of: id) ?? view.anchor, anchor.id == id, delta.old.contains(anchor) else {
                return nil
            }
            return View.range(window, anchor, delta.old)
        }
    }

    /// The window of a client that returns, as it is now: what it followed may have left while it was away. Then the row in its
    /// place is followed, or the first when nobody knows that place any more.
    func window(_ window: FetchWindow?, _ entry: ResultRegistry.Entry, since point: ResumePoint) throws -> FetchWindow?
    {
        let tree = entry.result.tree
        guard case .around(let id, let before, let after) = window, tree.count > 0,
            try self.key(id, in: entry.result) == nil
        else { return window }
        var anchor = tree.key(at: 0)
        if point.historyID == self.store.historyID, point.revision <= self.store.head,
            case .delta(let delta) = try self.delta(entry, from: point.revision), let left = delta.oldKey(of: id),
            let successor = Self.successor(of: left, in: tree, delta)
        {
            anchor = successor
        }
        return .around(anchor.id, before: before, after: after)
    }

    // MARK: Connections that do not drain

    /// The connection does not drain: what it holds now is what its net diffs will start from.
    func block(_ id: ConnectionID) {
        guard let connection = self.connections[id], !connection.isBlocked else { return }
        connection.isBlocked = true
        for viewID in connection.views {
            guard let view = self.views[viewID], view.subscribers[id] == .synced else { continue }
            view.subscribers[id] = .lagging(base: self.store.head, known: view.lastChange, range: view.range)
        }
    }

    /// Brings each subscription up to date, then sends the answers that waited behind.
    func drain(_ id: ConnectionID, now: Int64, _ effects: inout [EngineEffect]) {
        guard let connection = self.connections[id] else { return }
        for subscription in connection.changes { subscription.isWaiting = false }
        connection.unreadBytes = 0
        connection.isAwaitingDrain = false
        defer { self.giveTurn(id, connection) }
        guard connection.isBlocked else { return self.goOnWithChanges(id, connection, &effects) }
        connection.isBlocked = false
        connection.behind = []
        self.tellHeldOwn(id, &effects)
        for viewID in connection.views.sorted() { self.catchUp(id, viewID, now: now, &effects) }
        self.tellUndoState(id, connection, &effects)
        if !connection.isWaiting { self.release(connection, id, &effects) }
    }

    /// Brings a subscription up to date that lags.
    func catchUp(_ id: ConnectionID, _ viewID: UInt32, now: Int64, _ effects: inout [EngineEffect]) {
        guard let view = self.views[viewID],
            case .lagging(let base, let known, let range)? = view.subscribers[id],
            let entry = self.results[view.key.result]
        else { return }
        // Brought up to date when its result has been.
        guard entry.isCurrent else { return self.lag(id, view, .lagging(base: base, known: known, range: range)) }
        view.subscribers[id] = .synced
        do {
            switch try self.catchUp(view, entry, from: base, known: known, range: { _ in range }) {
            case .current:
                // Nothing has changed since, whatever the view has gone through.
                view.lastChange = min(view.lastChange, base)
                self.noteUntold(view)
            case .difference(let body):
                self.counters.netDiffs += 1
                effects.append(.push(EnginePush(view: viewID, content: .diff(body)), to: [id]))
                self.noteTold(view, to: [id])
            case .snapshot where self.isLarge(view):
                self.lag(id, view, .lagging(base: base, known: known, range: range))
                let waiter = PendingRead.Waiter.catchUp(view: viewID, .tooFarBehind)
                try self.readAside(view.key, view.slots, id, 0, waiter, now: now, &effects)
            case .snapshot:
                try self.sendSnapshot(view, reason: .tooFarBehind, to: [id], now: now, &effects)
            }
        } catch {
            self.end(id, view, error as? NestError ?? StoreErrorBox.storeError(error).nestError, now: now, &effects)
        }
    }
}

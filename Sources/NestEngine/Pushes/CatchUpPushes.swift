import NestLiveQuery
import NestModel
import NestStore

/// Brings lagging subscriptions to the head.
struct CatchUpPushes {
    let store: Store
    let connections: EngineConnections
    let admission: Admission
    let live: LiveResults
    let subscriptions: Subscriptions
    let lagging: LaggingViews
    let snapshots: ViewSnapshots
    let positions: WindowPositions
    let catchUps: CatchUps
    let views: ViewPushes
    let replies: Replies
    let authors: AuthorPushes
    let outlines: Outlines
    let counters: EngineCounters
    let workMax: Int

    /// Blocks a connection: its net differences will start from the state that it has now.
    func block(_ connection: EngineConnection) {
        guard !connection.isBlocked else { return }
        connection.isBlocked = true
        self.outlines.block(connection)
        for viewID in connection.views {
            guard let view = self.subscriptions[viewID], view.subscribers[connection.id] == .synced else { continue }
            view.subscribers[connection.id] = .lagging(base: self.store.head, known: view.lastChange, range: view.range)
        }
    }

    /// Unblocks a connection that has drained, and brings all its subscriptions to the head.
    func unblock(_ connection: EngineConnection, now: Int64, _ effects: inout [EngineEffect]) {
        connection.isBlocked = false
        connection.laggingViews = []
        OwnRevisions(connections: self.connections).pushHeld(by: connection, &effects)
        for viewID in connection.views.sorted() { self.push(connection.id, viewID, now: now, &effects) }
    }

    /// Brings the subscriptions that have waited longest to the head, up to the work limit of one turn.
    func pushLagging(now: Int64, _ effects: inout [EngineEffect]) {
        var work = 0
        while work < self.workMax, let (connection, viewID) = self.lagging.next() {
            let before = self.admission.work
            self.push(connection.id, viewID, now: now, &effects)
            work += 8 + self.admission.work - before
            if connection.laggingViews.isEmpty { self.replies.release(connection, &effects) }
        }
    }

    /// Brings one subscription to the head, if it lags.
    func push(_ id: ConnectionID, _ viewID: UInt32, now: Int64, _ effects: inout [EngineEffect]) {
        if self.outlines.catchUp(viewID, of: id, &effects) { return }
        guard let view = self.subscriptions[viewID],
            case .lagging(let base, let known, let range)? = view.subscribers[id],
            let entry = self.live[view.key.result]
        else { return }
        let state = SubscriptionState.lagging(base: base, known: known, range: range)
        // It catches up when its result has been read.
        guard entry.isCurrent else { return self.lagging.lag(id, view, state) }
        view.subscribers[id] = .synced
        do {
            switch try self.catchUps.catchUp(view, entry, from: base, known: known, range: { _ in range }) {
            case .current:
                // The view shows the same as at `base`, whatever changed in between.
                view.lastChange = min(view.lastChange, base)
                self.positions.noteUnknown(view)
                if entry.result.revision > base,
                    let totals = try ViewTotals.all(view, entry.result, self.store.head, isBeforeRows: false)
                {
                    effects.append(.push(EnginePush(view: viewID, content: .totals(totals)), to: [id]))
                }
            case .difference(let body):
                self.counters.netDiffs += 1
                try self.authors.push(after: base, to: id, &effects)
                let totals = try ViewTotals.all(view, entry.result, self.store.head)
                effects.append(.push(EnginePush(view: viewID, content: .diff(body), totals: totals), to: [id]))
                self.positions.noteSent(view, to: [id])
            case .snapshot where self.snapshots.isLarge(view):
                self.lagging.lag(id, view, state)
                try self.views.requestSnapshot(view, .tooFarBehind, for: id, now: now, &effects)
            case .snapshot:
                try self.views.sendSnapshot(view, reason: .tooFarBehind, to: [id], now: now, &effects)
            }
        } catch {
            let failure = error.nestError
            self.subscriptions.end(id, view, failure, now: now, &effects)
        }
    }

    /// Updates the views of a result that a background read has made current. Their subscribers catch up next.
    func refreshed(_ entry: ResultRegistry.Entry) throws(StoreError) {
        for view in entry.views.values.sorted(by: { $0.id < $1.id }) {
            _ = try self.subscriptions.advance(view, entry.result, nil) { _ in true }
            view.lastChange = entry.result.revision
            for id in view.subscribers.lagging { self.lagging.append(id, view.id) }
        }
    }
}

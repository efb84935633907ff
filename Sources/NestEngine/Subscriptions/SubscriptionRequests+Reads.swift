import DequeModule
import NestLiveQuery
import NestModel
import NestStore

/// Answers from completed background reads.
extension SubscriptionRequests {
    /// Accepts the outcome of the effect `read`.
    func take(_ id: UInt64, _ outcome: BackgroundReads.Outcome, now: Int64, _ effects: inout [EngineEffect]) {
        if self.lagging.outlines.take(id, outcome, now: now, &effects) { return }
        let failed = self.reads.take(id, outcome, now: now, &effects) { (entry) throws(StoreError) in
            try self.lagging.refreshed(entry)
        }
        guard let (read, error) = failed else { return }
        for waiting in read.waiters { self.refuse(waiting, error, now: now, &effects) }
        let entry = self.live[read.key.result]
        self.reads.end(read, now: now)
        guard let entry, entry.isLagging, !read.isFetch else { return }
        if read.read.isOnlyState {
            self.subscriptions.end(entry, error, now: now, &effects)
        } else {
            self.reads.queueAgain(entry)
        }
    }

    private func refuse(
        _ waiting: (connection: ConnectionID, requestID: UInt32, waiter: PendingRead.Waiter),
        _ error: NestError,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        if let connection = self.connections[waiting.connection] { self.reads.endWait(connection) }
        guard case .catchUp(let viewID, _) = waiting.waiter else {
            return self.replies.send(.failure(error), waiting.connection, waiting.requestID, &effects)
        }
        guard let view = self.subscriptions[viewID], view.counts[waiting.connection] != nil else { return }
        self.subscriptions.end(waiting.connection, view, error, now: now, &effects)
    }

    /// Answers the next waiter of a completed read.
    func serveNext(_ read: PendingRead, now: Int64, _ effects: inout [EngineEffect]) {
        guard let next = read.waiters.popFirst(), let rows = read.rows else { return }
        guard let connection = self.connections[next.connection] else { return }
        self.reads.endWait(connection)
        let (id, requestID) = (next.connection, next.requestID)
        let effectCount = effects.count
        var joined: View?
        do {
            if self.reads.isOutdated(rows, read) {
                return try self.reads.request(
                    read.key,
                    read.read.slots,
                    for: next.waiter,
                    id,
                    requestID,
                    attempts: read.attempts + 1,
                    now: now,
                    &effects
                )
            }
            switch next.waiter {
            case .fetch:
                self.replies.send(rows.reply, id, requestID, &effects)
            case .subscribe(let resume, let atLeast, let reason):
                let (view, isKnown) = try self.join(read, connection, resume)
                joined = view
                if !isKnown, resume == nil, !rows.isAnchorGone {
                    return try self.send(rows, view, connection, requestID, reason, now: now, &effects)
                }
                try self.sendFirstState(
                    view,
                    connection,
                    requestID,
                    isKnown: isKnown,
                    resume,
                    atLeast: atLeast,
                    read.key.window,
                    rows,
                    now: now,
                    &effects
                )
            case .catchUp(let viewID, let reason):
                try self.serveCatchUp(viewID, rows, reason, connection, now: now, &effects)
            case .resubscribe(let old, let reason):
                let (view, isKnown) = try self.join(read, connection, nil)
                joined = view
                try self.serve(
                    rows,
                    view,
                    isKnown: isKnown,
                    insteadOf: old,
                    reason,
                    connection,
                    requestID,
                    now: now,
                    &effects
                )
            }
        } catch {
            effects.removeSubrange(effectCount...)
            let failure = error.nestError
            // The request is refused after all: removes the subscription.
            if let view = joined, view.counts[id] != nil, view.subscribers[id] == nil {
                try? self.subscriptions.unsubscribe(id, view.id, now: now)
            }
            guard case .catchUp(let viewID, _) = next.waiter, let view = self.subscriptions[viewID] else {
                return self.replies.send(.failure(failure), id, requestID, &effects)
            }
            self.subscriptions.end(id, view, failure, now: now, &effects)
        }
    }

    private func join(
        _ read: PendingRead,
        _ connection: EngineConnection,
        _ resume: ResumePoint?
    ) throws(StoreError) -> (view: View, isKnown: Bool) {
        guard let entry = self.live[read.key.result] else { preconditionFailure("a read retains its result") }
        try self.subscriptions.requireRoom(connection)
        var key = read.key
        if let resume { key.window = try self.catchUps.window(key.window, entry, since: resume) }
        let view = try self.subscriptions.view(key, entry, read.read.slots, mayBeEmpty: resume != nil)
        return (view, self.subscriptions.add(connection, to: view))
    }

    /// Sends the snapshot of a lagging subscription, then the changes since.
    private func serveCatchUp(
        _ viewID: UInt32,
        _ rows: BackgroundRead.Rows,
        _ reason: SnapshotReason,
        _ connection: EngineConnection,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let id = connection.id
        guard let view = self.subscriptions[viewID], case .lagging? = view.subscribers[id] else { return }
        guard !rows.isAnchorGone || view.anchor == nil else {
            // The window's anchor has left the result since, and another row took its position.
            return try self.views.requestSnapshot(view, reason, for: id, now: now, &effects)
        }
        self.views.send(rows.header, rows.bodies, rows.totals, reason, of: view, to: [id], &effects)
        view.subscribers[id] = .lagging(base: rows.revision, known: rows.revision, range: rows.range)
        connection.progress = min(connection.progress, rows.revision)
        guard !connection.isBlocked else { return }
        connection.laggingViews.remove(viewID)
        self.lagging.push(id, viewID, now: now, &effects)
        if !connection.isWaiting { self.replies.release(connection, &effects) }
    }

    /// Sends the view of a RESUBSCRIBE, and ends the subscription to the old view.
    private func serve(
        _ rows: BackgroundRead.Rows,
        _ view: View,
        isKnown: Bool,
        insteadOf old: UInt32,
        _ reason: String,
        _ connection: EngineConnection,
        _ requestID: UInt32,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let id = connection.id
        if view.id == old, isKnown {
            // During the read the old window has moved to the same anchor.
            view.counts[id]! -= 1
            return self.acceptSame(view, id, requestID, &effects)
        }
        if isKnown {
            self.acceptKnown(view, id, requestID, &effects)
        } else if !rows.isAnchorGone {
            try self.send(rows, view, connection, requestID, reason, now: now, &effects)
        } else if self.snapshots.isLarge(view) {
            // The window's anchor has returned since.
            let (key, slots) = (view.key, view.slots)
            try self.subscriptions.unsubscribe(id, view.id, now: now)
            let waiter = PendingRead.Waiter.resubscribe(from: old, reason: reason)
            return try self.reads.request(key, slots, for: waiter, id, requestID, now: now, &effects)
        } else {
            view.subscribers[id] = self.firstState(connection, view)
            self.accept(view, .snapshot, reason, id, requestID, &effects)
            try self.views.sendSnapshot(view, reason: .first, to: [id], now: now, &effects)
        }
        if view.id != old, connection.views.contains(old) {
            try self.subscriptions.unsubscribe(id, old, now: now)
        }
    }

    /// Sends a view as it was read, then the changes since.
    func send(
        _ rows: BackgroundRead.Rows,
        _ view: View,
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ reason: String,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        guard let entry = self.live[view.key.result] else { return }
        let id = connection.id
        self.accept(view, .snapshot, reason, id, requestID, &effects)
        guard entry.result.log.base <= rows.revision else {
            view.subscribers[id] = self.firstState(connection, view)
            return try self.views.sendSnapshot(view, reason: .first, to: [id], now: now, &effects)
        }
        self.views.send(rows.header, rows.bodies, rows.totals, rows.header.reason, of: view, to: [id], &effects)
        view.subscribers[id] = .lagging(base: rows.revision, known: rows.revision, range: rows.range)
        // The connection may have received a progress mark of a later revision before it had this subscription.
        connection.progress = min(connection.progress, rows.revision)
        if !connection.isBlocked {
            self.lagging.push(id, view.id, now: now, &effects)
            self.progress.push(to: CollectionOfOne(id), &effects)
        }
    }
}

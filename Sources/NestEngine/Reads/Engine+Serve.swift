import DequeModule
import NestLiveQuery
import NestModel
import NestStore

/// Answers from what has been read beside the engine.
extension Engine {
    /// Answers the next of those who wait for a read that has come.
    func serveNext(_ read: PendingRead, now: Int64, _ effects: inout [EngineEffect]) {
        guard let next = read.waiters.popFirst(), let rows = read.rows else { return }
        guard let connection = self.connections[next.connection] else { return }
        self.endSideRead(next.connection, connection)
        let (id, requestID) = (next.connection, next.requestID)
        let told = effects.count
        var joined: View?
        do {
            if self.isOutdated(rows, read) {
                return try self.readAside(
                    read.key,
                    read.read.slots,
                    id,
                    requestID,
                    next.waiter,
                    attempts: read.attempts + 1,
                    now: now,
                    &effects
                )
            }
            switch next.waiter {
            case .fetch:
                self.reply(id, requestID, .snapshot(rows.header, rows: rows.bodies), &effects)
            case .subscribe(let resume, let atLeast, let reason):
                let view = try self.join(read, id, connection, resume)
                joined = view
                // `join` has counted it.
                let isKnown = view.counts[id]! > 1
                if !isKnown, resume == nil, !rows.isAnchorGone {
                    return try self.send(rows, view, id, requestID, reason, now: now, &effects)
                }
                try self.sendFirstState(
                    view,
                    id,
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
                try self.serveCatchUp(viewID, rows, reason, id, connection, now: now, &effects)
            case .resubscribe(let old, let reason):
                let view = try self.join(read, id, connection, nil)
                joined = view
                try self.serveChange(view, rows, from: old, reason, id, requestID, connection, now: now, &effects)
            }
        } catch {
            effects.removeSubrange(told...)
            let failure = error as? NestError ?? StoreErrorBox.storeError(error).nestError
            // Refused after all: nothing of it is left.
            if let view = joined, view.counts[id] != nil, view.subscribers[id] == nil {
                try? self.unsubscribe(id, view.id, now: now)
            }
            guard case .catchUp(let viewID, _) = next.waiter, let view = self.views[viewID] else {
                return self.reply(id, requestID, .failure(failure), &effects)
            }
            self.end(id, view, failure, now: now, &effects)
        }
    }

    /// The snapshot of a subscription that lags, and what has happened since.
    private func serveCatchUp(
        _ viewID: UInt32,
        _ rows: SideRead.Rows,
        _ reason: SnapshotReason,
        _ id: ConnectionID,
        _ connection: Connection,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        guard let view = self.views[viewID], case .lagging? = view.subscribers[id] else { return }
        guard !rows.isAnchorGone || view.anchor == nil else {
            // What the window is around has left the result since it was to be read: now another row is.
            let waiter = PendingRead.Waiter.catchUp(view: viewID, reason)
            return try self.readAside(view.key, view.slots, id, 0, waiter, now: now, &effects)
        }
        self.counters.snapshots += 1
        self.send(rows.header, rows.bodies, reason, of: view, to: [id], &effects)
        view.subscribers[id] = .lagging(base: rows.revision, known: rows.revision, range: rows.range)
        connection.progress = min(connection.progress, rows.revision)
        guard !connection.isBlocked else { return }
        connection.behind.remove(viewID)
        self.catchUp(id, viewID, now: now, &effects)
        if !connection.isWaiting { self.release(connection, id, &effects) }
    }

    /// Too much has happened since to tell it: the whole is read once more, a few times at most.
    private func isOutdated(_ rows: SideRead.Rows, _ read: PendingRead) -> Bool {
        guard !read.isFetch, let entry = self.results[read.key.result] else { return false }
        // It has fallen behind while its turn was awaited.
        guard entry.isCurrent else { return true }
        return read.attempts < 3 && entry.result.log.base > rows.revision
    }

    private func serveChange(
        _ view: View,
        _ rows: SideRead.Rows,
        from old: UInt32,
        _ reason: String,
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ connection: Connection,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        if view.id == old, view.counts[id]! > 1 {
            // While it was read, the old window came to be around the same row.
            view.counts[id]! -= 1
            return self.acceptSame(view, id, requestID, &effects)
        }
        if view.counts[id]! > 1 {
            self.acceptKnown(view, id, requestID, &effects)
        } else if !rows.isAnchorGone {
            try self.send(rows, view, id, requestID, reason, now: now, &effects)
        } else if self.isLarge(view) {
            // The object that the window is around has come back since.
            let (key, slots) = (view.key, view.slots)
            try self.unsubscribe(id, view.id, now: now)
            let waiter = PendingRead.Waiter.resubscribe(from: old, reason: reason)
            return try self.readAside(key, slots, id, requestID, waiter, now: now, &effects)
        } else {
            view.subscribers[id] = self.firstState(connection, view)
            self.accept(view, .snapshot, reason, id, requestID, &effects)
            try self.sendSnapshot(view, reason: .first, to: [id], now: now, &effects)
        }
        if view.id != old, connection.views.contains(old) { try self.unsubscribe(id, old, now: now) }
    }

    private func join(
        _ read: PendingRead,
        _ id: ConnectionID,
        _ connection: Connection,
        _ resume: ResumePoint?
    ) throws -> View {
        guard let entry = self.results[read.key.result] else { preconditionFailure("a read keeps the result") }
        try self.requireRoomForSubscription(id, connection)
        var key = read.key
        if let resume { key.window = try self.window(key.window, entry, since: resume) }
        let view = try self.view(key, entry, read.read.slots, mayBeEmpty: resume != nil)
        view.counts[id, default: 0] += 1
        connection.views.insert(view.id)
        return view
    }

    /// Sends a view as it was read, then what has happened since.
    func send(
        _ rows: SideRead.Rows,
        _ view: View,
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ reason: String,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        guard let connection = self.connections[id], let entry = self.results[view.key.result] else { return }
        self.accept(view, .snapshot, reason, id, requestID, &effects)
        guard entry.result.log.base <= rows.revision else {
            view.subscribers[id] = self.firstState(connection, view)
            return try self.sendSnapshot(view, reason: .first, to: [id], now: now, &effects)
        }
        self.counters.snapshots += 1
        self.send(rows.header, rows.bodies, rows.header.reason, of: view, to: [id], &effects)
        view.subscribers[id] = .lagging(base: rows.revision, known: rows.revision, range: rows.range)
        // It may have been told of a later revision, when it did not hold this.
        connection.progress = min(connection.progress, rows.revision)
        if !connection.isBlocked {
            self.catchUp(id, view.id, now: now, &effects)
            self.progress([id], &effects)
        }
    }
}

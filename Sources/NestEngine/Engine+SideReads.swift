import NestLiveQuery
import NestModel
import NestStore

/// A read beside the engine, and who waits for it.
struct PendingRead {
    enum Waiter {
        case fetch
        /// `reason`: why a client that returns is not told the difference.
        case subscribe(resume: ResumePoint?, reason: String)
        /// Instead of this view.
        case resubscribe(from: UInt32, reason: String)
    }

    var read: SideRead
    var key: ViewKey
    var waiters: [(connection: ConnectionID, requestID: UInt32, waiter: Waiter)] = []
    var attempts = 1
}

extension Engine {
    /// Whether a result that is not live yet is read beside the engine.
    func isLarge(_ source: ResultSource) throws -> Bool {
        try self.store.objects.hasCandidates(of: source, above: self.asideRowsMin)
    }

    /// Whether what a view shows is.
    func isLarge(_ view: View) -> Bool {
        guard view.range.count > self.asideRowsMin else { return false }
        // It has been encoded for somebody else in this batch.
        return view.snapshot?.header.revision != self.store.head
    }

    /// Has a view read, once for all who ask for it meanwhile.
    func readAside(
        _ key: ViewKey,
        _ slots: [Int],
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ waiter: PendingRead.Waiter,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        if case .fetch = waiter {
        } else {
            if let running = self.readOfView[key] {
                self.sideReads[running]?.waiters.append((id, requestID, waiter))
                return
            }
            if self.results[key.result] == nil {
                try self.related.retain(key.result.source)
                self.results.insertLoading(key.result, LoadingResult(countMax: self.relatedTouchesMax), now: now)
            }
        }
        self.lastSideRead += 1
        var mayBeGone = false
        if case .subscribe(let resume?, _) = waiter { mayBeGone = resume.historyID == self.store.historyID }
        let read = SideRead(
            id: self.lastSideRead,
            source: key.result.source,
            slots: slots,
            window: key.window,
            mayBeGone: mayBeGone
        )
        var pending = PendingRead(read: read, key: key)
        pending.waiters = [(id, requestID, waiter)]
        if case .fetch = waiter {} else { self.readOfView[key] = read.id }
        self.sideReads[read.id] = pending
        effects.append(.read(read))
    }

    /// Takes what has been read.
    func take(_ id: UInt64, _ outcome: Result<SideRead.Rows, NestError>, now: Int64, _ effects: inout [EngineEffect]) {
        guard var pending = self.sideReads.removeValue(forKey: id) else { return }
        if self.readOfView[pending.key] == id { self.readOfView[pending.key] = nil }
        do {
            let rows = try outcome.get()
            if let entry = self.results[pending.key.result], !self.isFetch(pending) {
                if entry.loading != nil {
                    try self.finishLoading(entry, rows, isLastAttempt: pending.attempts > 1)
                }
                // Too much has happened since to tell it: the whole once more.
                if entry.loading != nil || entry.result.log.base > rows.revision, pending.attempts < 3 {
                    pending.attempts += 1
                    self.sideReads[id] = pending
                    self.readOfView[pending.key] = id
                    return effects.append(.read(pending.read))
                }
            }
            for waiting in pending.waiters {
                self.serve(waiting.waiter, waiting.connection, waiting.requestID, pending, rows, now: now, &effects)
            }
        } catch {
            let failure = error as? NestError ?? StoreErrorBox.storeError(error).nestError
            for waiting in pending.waiters {
                self.reply(waiting.connection, waiting.requestID, .failure(failure), &effects)
            }
            let key = pending.key.result
            let isWanted = self.sideReads.values.contains { $0.key.result == key && !self.isFetch($0) }
            if self.results[key]?.loading != nil, !isWanted { self.removeResult(key) }
        }
    }

    private func isFetch(_ pending: PendingRead) -> Bool {
        if case .fetch? = pending.waiters.first?.waiter { true } else { false }
    }

    /// Makes a result live: as it was read, and what has happened since. Left loading, when that is too much.
    private func finishLoading(
        _ entry: ResultRegistry.Entry,
        _ rows: SideRead.Rows,
        isLastAttempt: Bool
    ) throws {
        guard let loading = entry.loading else { return }
        if loading.isOverrun {
            guard isLastAttempt else {
                entry.loading = LoadingResult(countMax: self.relatedTouchesMax)
                return
            }
            let source = entry.key.source
            let state = LiveState(source, try self.store.objects.resultRows(source, self.related))
            entry.result.reload(state, revision: self.store.head)
        } else {
            entry.result.reload(rows.state, revision: rows.revision)
            let changes = try loading.changes(of: entry.result, after: rows.revision, self.related)
            entry.result.apply(changes, at: self.store.head)
        }
        self.results.finishLoading(entry)
    }

    private func serve(
        _ waiter: PendingRead.Waiter,
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ pending: PendingRead,
        _ rows: SideRead.Rows,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        guard let connection = self.connections[id] else { return }
        let told = effects.count
        do {
            switch waiter {
            case .fetch:
                self.reply(id, requestID, .snapshot(rows.header, rows: rows.bodies), &effects)
            case .subscribe(let resume, let reason):
                let view = try self.join(pending, id, connection, resume)
                let isKnown = view.counts[id]! > 1
                guard isKnown || resume != nil else {
                    return try self.send(rows, view, id, requestID, reason, now: now, &effects)
                }
                let window = pending.key.window
                try self.sendFirstState(
                    view,
                    id,
                    requestID,
                    isKnown: isKnown,
                    resume,
                    window,
                    rows,
                    now: now,
                    &effects
                )
            case .resubscribe(let old, let reason):
                let view = try self.join(pending, id, connection, nil)
                if view.counts[id]! > 1 {
                    self.accept(view, .alreadySubscribed, "", id, requestID, &effects)
                } else {
                    try self.send(rows, view, id, requestID, reason, now: now, &effects)
                }
                if connection.views.contains(old) { try self.unsubscribe(id, old, now: now) }
            }
        } catch {
            effects.removeSubrange(told...)
            let failure = error as? NestError ?? StoreErrorBox.storeError(error).nestError
            if let viewID = self.viewIDs[pending.key], self.views[viewID]?.counts[id] != nil,
                self.views[viewID]?.subscribers[id] == nil
            {
                try? self.unsubscribe(id, viewID, now: now)
            }
            self.reply(id, requestID, .failure(failure), &effects)
        }
    }

    private func join(
        _ pending: PendingRead,
        _ id: ConnectionID,
        _ connection: Connection,
        _ resume: ResumePoint?
    ) throws -> View {
        guard let entry = self.results[pending.key.result] else { preconditionFailure("who waits keeps the result") }
        try self.requireRoomForSubscription(id, connection)
        var key = pending.key
        if let resume { key.window = try self.window(key.window, entry, since: resume) }
        let mayBeEmpty = resume?.historyID == self.store.historyID
        let view = try self.view(key, entry, pending.read.slots, mayBeEmpty: mayBeEmpty)
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
            return try self.sendSnapshot(view, reason: .first, to: [id], &effects)
        }
        self.counters.snapshots += 1
        let push = EnginePush(view: view.id, content: .snapshot(rows.header, rows: rows.bodies))
        effects.append(.push(push, to: [id]))
        view.subscribers[id] = .lagging(base: rows.revision, known: rows.revision, range: rows.range)
        if !connection.isBlocked {
            self.catchUp(id, view.id, now: now, &effects)
            self.progress([id], &effects)
        }
    }
}

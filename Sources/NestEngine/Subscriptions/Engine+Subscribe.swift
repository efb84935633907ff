import NestLiveQuery
import NestModel
import NestStore

/// Subscriptions: begun, resumed, shared, ended.
extension Engine {
    func requireRevision(_ atLeast: Revision) throws {
        guard self.store.head >= atLeast else {
            throw NestError(.revisionNotReached, "the store is at revision \(self.store.head), not yet at \(atLeast)")
        }
    }

    /// `mayBeEmpty`: a client that returns may hold a window around an object of a result that has no rows any more.
    func view(
        _ key: ViewKey,
        _ entry: ResultRegistry.Entry,
        _ slots: [Int],
        mayBeEmpty: Bool = false
    ) throws -> View {
        if let id = self.viewIDs[key], let view = self.views[id] { return view }
        var anchor: RowKey?
        if case .around(let id, _, _) = key.window {
            anchor = try self.key(id, in: entry.result)
            if anchor == nil, !mayBeEmpty || entry.result.tree.count > 0 { throw Self.notARow(id) }
        }
        let view = View(id: self.takeViewID(), key: key, slots: slots, anchor: anchor, entry.result)
        self.views[view.id] = view
        if key.window?.isAround != true || anchor != nil { self.viewIDs[key] = view.id }
        entry.views[view.id] = view
        entry.unusedSince = nil
        return view
    }

    func subscribe(
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ request: FetchRequest,
        _ resume: ResumePoint?,
        atLeast: Revision,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        try self.requireRevision(atLeast)
        guard let connection = self.connections[id] else { return }
        let isReturning = resume?.historyID == self.store.historyID
        let resolved = try self.resolve(request, connection.scope, mayBeGone: isReturning)
        let resultKey = ResultKey(source: resolved.source, scope: connection.scope)
        var viewKey = ViewKey(result: resultKey, projection: resolved.projection, window: resolved.window)
        try self.requireRoomForSubscription(id, connection)
        let isAside = try self.results[resultKey].map { !$0.isCurrent } ?? self.isLarge(resolved.source)
        guard !isAside else {
            let waiter = PendingRead.Waiter.subscribe(resume: resume, atLeast: atLeast, reason: "")
            return try self.readAside(viewKey, resolved.slots, id, requestID, waiter, now: now, &effects)
        }
        let entry: ResultRegistry.Entry
        do {
            entry = try self.result(resultKey, now: now)
        } catch is ResultTooDear {
            let waiter = PendingRead.Waiter.subscribe(resume: resume, atLeast: atLeast, reason: "")
            return try self.readAside(viewKey, resolved.slots, id, requestID, waiter, now: now, &effects)
        }
        if let resume { viewKey.window = try self.window(resolved.window, entry, since: resume) }
        let view = try self.view(viewKey, entry, resolved.slots, mayBeEmpty: resume != nil)
        let isKnown = view.counts[id] != nil
        view.counts[id, default: 0] += 1
        connection.views.insert(view.id)
        let told = effects.count
        do {
            try self.sendFirstState(
                view,
                id,
                requestID,
                isKnown: isKnown,
                resume,
                atLeast: atLeast,
                resolved.window,
                nil,
                now: now,
                &effects
            )
        } catch {
            // Refused after all: nothing of it is left, and nothing of it is sent.
            effects.removeSubrange(told...)
            try self.unsubscribe(id, view.id, now: now)
            throw error
        }
    }

    /// Told in stream order before the first frame under the view's id, even to a connection that does not drain.
    func accept(
        _ view: View,
        _ first: FirstState,
        _ reason: String,
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ effects: inout [EngineEffect]
    ) {
        let projection = view.key.projection
        let reply = EngineReply.subscribed(view: view.id, first: first, reason: reason, projection: projection)
        effects.append(.reply(id, requestID: requestID, reply))
    }

    /// The connection has the view already. Where its window is may be told a moment later than the rows are, and who joins is
    /// to begin with both as they are.
    func acceptKnown(_ view: View, _ id: ConnectionID, _ requestID: UInt32, _ effects: inout [EngineEffect]) {
        if view.subscribers[id] == .synced, let entry = self.results[view.key.result],
            let position = view.position(in: entry.result.tree)
        {
            let push = EnginePush(view: view.id, content: .position(position, self.store.head))
            effects.append(.push(push, to: [id]))
        }
        self.accept(view, .alreadySubscribed, "", id, requestID, &effects)
    }

    /// What is sent to a connection that does not drain waits behind what is waiting; changes from here on are made up for when
    /// it has drained.
    func firstState(_ connection: Connection, _ view: View) -> SubscriptionState {
        let head = self.store.head
        return connection.isBlocked ? .lagging(base: head, known: head, range: view.range) : .synced
    }

    /// `window`: what a client that returns held; `rows`: the view as it was read beside the engine, when it was.
    func sendFirstState(
        _ view: View,
        _ id: ConnectionID,
        _ requestID: UInt32,
        isKnown: Bool,
        _ resume: ResumePoint?,
        atLeast: Revision,
        _ window: FetchWindow?,
        _ rows: SideRead.Rows?,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        if isKnown { return self.acceptKnown(view, id, requestID, &effects) }
        guard let connection = self.connections[id], let entry = self.results[view.key.result] else { return }
        var reason = ""
        if let resume {
            switch try self.resume(view, entry, resume, window) {
            case .current:
                view.subscribers[id] = self.firstState(connection, view)
                self.noteUntold(view)
                return self.accept(view, .current(self.store.head), "", id, requestID, &effects)
            case .difference(let body):
                view.subscribers[id] = self.firstState(connection, view)
                self.accept(view, .difference, "", id, requestID, &effects)
                self.tellHeldOwn(id, &effects)
                effects.append(.push(EnginePush(view: view.id, content: .diff(body)), to: [id]))
                return self.noteTold(view, to: [id])
            case .snapshot(let why):
                reason = why
            }
        }
        if let rows, !rows.isAnchorGone { return try self.send(rows, view, id, requestID, reason, now: now, &effects) }
        guard !self.isLarge(view) else {
            let (key, slots) = (view.key, view.slots)
            try self.unsubscribe(id, view.id, now: now)
            let waiter = PendingRead.Waiter.subscribe(resume: nil, atLeast: atLeast, reason: reason)
            return try self.readAside(key, slots, id, requestID, waiter, now: now, &effects)
        }
        view.subscribers[id] = self.firstState(connection, view)
        self.accept(view, .snapshot, reason, id, requestID, &effects)
        try self.sendSnapshot(view, reason: .first, to: [id], now: now, &effects)
    }

    func requireRoomForSubscription(_ id: ConnectionID, _ connection: Connection) throws {
        let results = connection.views.reduce(0) { $0 + (self.views[$1]?.counts[id] ?? 0) }
        guard results + connection.changes.count < connection.subscriptionsMax else {
            throw NestError(
                .limitExceeded,
                "a connection may have \(connection.subscriptionsMax) subscriptions"
            )
        }
    }

    func unsubscribe(_ id: ConnectionID, _ viewID: UInt32, now: Int64) throws {
        guard let view = self.views[viewID], let count = view.counts[id] else {
            throw NestError(.notFound, "the connection has no subscription to view \(viewID)")
        }
        if count > 1 {
            view.counts[id] = count - 1
            return
        }
        self.connections[id]?.views.remove(viewID)
        self.leave(view, id, now: now)
        // What waited for it need not wait any longer.
        if self.connections[id]?.behind.contains(viewID) ?? false { self.behind.append((id, viewID)) }
    }

    func leave(_ view: View, _ id: ConnectionID, now: Int64) {
        view.counts[id] = nil
        view.subscribers[id] = nil
        self.dropUnused(view, now: now)
    }

    /// Forgets a view that nobody subscribes to.
    func dropUnused(_ view: View, now: Int64) {
        guard view.subscribers.isEmpty, view.counts.isEmpty else { return }
        self.views[view.id] = nil
        if self.viewIDs[view.key] == view.id { self.viewIDs[view.key] = nil }
        guard let entry = self.results[view.key.result] else { return }
        entry.views[view.id] = nil
        if entry.views.isEmpty { entry.unusedSince = now }
    }

    func disconnect(_ id: ConnectionID, now: Int64) {
        guard let connection = self.connections.removeValue(forKey: id) else { return }
        self.turns.remove(id)
        self.scopes.release(connection.scope, id, now: now)
        self.release(connection.awaitedSubtrees)
        self.changedClients.note(id)
        for viewID in connection.views {
            if let view = self.views[viewID] { self.leave(view, id, now: now) }
        }
        self.endAllChanges(id, connection)
        self.undoFollowers.remove(id)
        if self.sessions.joins.leave(id) { self.sessions.changed.insert(connection.session) }
        self.connectionsOfSession[connection.session, default: 1] -= 1
        guard self.connectionsOfSession[connection.session] == 0 else { return }
        self.connectionsOfSession[connection.session] = nil
        self.sessions.forget(connection.session)
    }
}

import NestLiveQuery
import NestModel
import NestStore

extension Engine {
    func requireRevision(_ atLeast: Revision) throws {
        guard self.store.head >= atLeast else {
            throw NestError(.revisionNotReached, "the store is at revision \(self.store.head), not yet at \(atLeast)")
        }
    }

    /// `resume`: what a client that returns holds. The object that its window was around may have left.
    func view(
        _ key: ViewKey,
        _ entry: ResultRegistry.Entry,
        _ slots: [Int],
        resume: ResumePoint? = nil
    ) throws -> View {
        if let id = self.viewIDs[key], let view = self.views[id] { return view }
        var key = key
        var anchor: RowKey?
        if case .around(let id, let before, let after) = key.window {
            anchor = try self.key(id, in: entry.result)
            if anchor == nil {
                guard let resume else { throw Self.notARow(id) }
                anchor = try self.successor(of: id, entry, since: resume)
                if let anchor { key.window = .around(anchor.id, before: before, after: after) }
                if let id = self.viewIDs[key], let view = self.views[id] { return view }
            }
        }
        let view = View(id: self.takeViewID(), key: key, slots: slots, anchor: anchor, entry.result)
        self.views[view.id] = view
        self.viewIDs[key] = view.id
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
        let resolved = try self.resolve(request, mayBeGone: isReturning)
        let resultKey = ResultKey(source: resolved.source, scope: connection.scope)
        let viewKey = ViewKey(result: resultKey, projection: resolved.projection, window: resolved.window)
        try self.requireRoomForSubscription(id, connection)
        let entry = try self.result(resultKey, now: now)
        let view = try self.view(viewKey, entry, resolved.slots, resume: resume)
        let isKnown = connection.views.contains(view.id)
        view.counts[id, default: 0] += 1
        self.connections[id]!.views.insert(view.id)
        let told = effects.count
        do {
            let held = resume.map { HeldState(point: $0, window: resolved.window) }
            try self.sendFirstState(view, entry, id, requestID, isKnown: isKnown, held, &effects)
        } catch {
            // Refused after all: nothing of it is left, and nothing of it is sent.
            effects.removeSubrange(told...)
            try self.unsubscribe(id, view.id, now: now)
            throw error
        }
    }

    private func sendFirstState(
        _ view: View,
        _ entry: ResultRegistry.Entry,
        _ id: ConnectionID,
        _ requestID: UInt32,
        isKnown: Bool,
        _ held: HeldState?,
        _ effects: inout [EngineEffect]
    ) throws {
        func accept(_ first: FirstState, _ reason: String = "") {
            // Told in stream order before the first frame under the view's id, even to a connection that does not drain.
            let projection = view.key.projection
            effects.append(
                .reply(
                    id,
                    requestID: requestID,
                    .subscribed(view: view.id, first: first, reason: reason, projection: projection)
                )
            )
        }
        if isKnown { return accept(.alreadySubscribed) }
        // What is sent to a connection that does not drain waits behind what is waiting; changes from here on are made up
        // for when it has drained.
        let head = self.store.head
        let isBlocked = self.connections[id]?.isBlocked ?? false
        let state: SubscriptionState = isBlocked ? .lagging(base: head, known: head, range: view.range) : .synced
        if let held {
            let answer = try self.resume(view, entry, held)
            view.subscribers[id] = state
            switch answer {
            case .current:
                return accept(.current(self.store.head))
            case .difference(let body):
                accept(.difference)
                self.tellHeldOwn(id, &effects)
                effects.append(.push(EnginePush(view: view.id, content: .diff(body)), to: [id]))
                return
            case .snapshot(let reason):
                accept(.snapshot, reason)
            }
        } else {
            accept(.snapshot)
        }
        view.subscribers[id] = state
        try self.sendSnapshot(view, reason: .first, to: [id], &effects)
    }

    func requireRoomForSubscription(_ id: ConnectionID, _ connection: Connection) throws {
        let results = connection.views.reduce(0) { $0 + (self.views[$1]?.counts[id] ?? 0) }
        guard results + connection.changes.count < Limits.subscriptionsPerConnectionMax else {
            throw NestError(
                .limitExceeded,
                "a connection may have \(Limits.subscriptionsPerConnectionMax) subscriptions"
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
    }

    func leave(_ view: View, _ id: ConnectionID, now: Int64) {
        view.counts[id] = nil
        view.subscribers[id] = nil
        guard view.subscribers.isEmpty else { return }
        self.views[view.id] = nil
        if self.viewIDs[view.key] == view.id { self.viewIDs[view.key] = nil }
        guard let entry = self.results[view.key.result] else { return }
        entry.views[view.id] = nil
        if entry.views.isEmpty { entry.unusedSince = now }
    }

    func disconnect(_ id: ConnectionID, now: Int64) {
        guard let connection = self.connections.removeValue(forKey: id) else { return }
        for viewID in connection.views {
            if let view = self.views[viewID] { self.leave(view, id, now: now) }
        }
        self.endAllChanges(id, connection)
        if !self.connections.values.contains(where: { $0.session == connection.session }) {
            self.sessions.forget(connection.session)
        }
    }
}

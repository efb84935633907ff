import NestLiveQuery
import NestModel
import NestStore

/// SUBSCRIBE and RESUBSCRIBE, answered at once or after a background read.
struct SubscriptionRequests {
    let store: Store
    let scopes: TokenScopes
    let connections: EngineConnections
    let admission: Admission
    let live: LiveResults
    let subscriptions: Subscriptions
    let snapshots: ViewSnapshots
    let positions: WindowPositions
    let diffs: ViewDiffs
    let catchUps: CatchUps
    let reads: BackgroundReads
    let views: ViewPushes
    let lagging: CatchUpPushes
    let replies: Replies
    let progress: ProgressMarks
    let own: OwnRevisions
    let authors: AuthorPushes

    func subscribe(
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ request: ObjectFetchRequest,
        _ resume: ResumePoint?,
        atLeast: Revision,
        insteadOf outline: UInt32? = nil,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        try self.store.requireRevision(atLeast)
        let isReturning = resume?.historyID == self.store.historyID
        let resolver = try RequestResolver(self.store, self.scopes, connection.scope)
        let resolved = try resolver.resolve(request, mayBeGone: isReturning)
        let resultKey = ResultKey(source: resolved.source, scope: connection.scope)
        var viewKey = ViewKey(result: resultKey, projection: resolved.projection, window: resolved.window)
        // An outline that it replaces makes room.
        if outline == nil { try self.subscriptions.requireRoom(connection) }
        func readInBackground() throws(StoreError) {
            var waiter = PendingRead.Waiter.subscribe(resume: resume, atLeast: atLeast, reason: "")
            if let outline { waiter = .resubscribe(from: outline, reason: Outlines.otherKind) }
            try self.reads.request(
                viewKey,
                resolved.slots,
                for: waiter,
                connection.id,
                requestID,
                now: now,
                &effects
            )
        }
        let mustWait =
            if let entry = self.live[resultKey] { !entry.isCurrent } else { try self.reads.isLarge(resolved.source) }
        guard !mustWait else { return try readInBackground() }
        let entry: ResultRegistry.Entry
        do {
            entry = try self.live.entry(resultKey, now: now)
        } catch StoreError.postponed(.resultTooExpensive) {
            return try readInBackground()
        }
        if let resume { viewKey.window = try self.catchUps.window(resolved.window, entry, since: resume) }
        let view = try self.subscriptions.view(viewKey, entry, resolved.slots, mayBeEmpty: resume != nil)
        let isKnown = self.subscriptions.add(connection, to: view)
        let effectCount = effects.count
        do {
            try self.sendFirstState(
                view,
                connection,
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
            // The request is refused after all: removes the subscription and the effects that it added.
            effects.removeSubrange(effectCount...)
            try self.subscriptions.unsubscribe(connection.id, view.id, now: now)
            throw error
        }
        if let outline { try self.subscriptions.unsubscribe(connection.id, outline, now: now) }
    }

    /// Accepts a subscription. The reply is sent before the first frame with the view's id, even to a blocked
    /// connection.
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

    /// Accepts a subscription to a view that the connection already has. A window's position may be sent later than its
    /// rows; a new subscriber must begin with the current state of both.
    func acceptKnown(_ view: View, _ id: ConnectionID, _ requestID: UInt32, _ effects: inout [EngineEffect]) {
        if view.subscribers[id] == .synced, let entry = self.live[view.key.result],
            let position = view.position(in: entry.result.tree)
        {
            let push = EnginePush(view: view.id, content: .position(position, self.store.head))
            effects.append(.push(push, to: [id]))
        }
        self.accept(view, .alreadySubscribed, "", id, requestID, &effects)
    }

    /// Returns the first state of a subscription. On a blocked connection it lags from the start, and gets later
    /// changes when the connection drains.
    func firstState(_ connection: EngineConnection, _ view: View) -> SubscriptionState {
        let head = self.store.head
        return connection.isBlocked ? .lagging(base: head, known: head, range: view.range) : .synced
    }

    /// Sends the totals of a state that a resuming client holds.
    private func pushTotals(_ view: View, _ result: LiveResult, to id: ConnectionID, _ effects: inout [EngineEffect])
        throws(StoreError)
    {
        guard let totals = try ViewTotals.all(view, result, self.store.head, isBeforeRows: false) else { return }
        effects.append(.push(EnginePush(view: view.id, content: .totals(totals)), to: [id]))
    }

    /// Sends the first state of a subscription. `window`: the window that a resuming client held. `rows`: the view as a
    /// background read found it, if there was one.
    func sendFirstState(
        _ view: View,
        _ connection: EngineConnection,
        _ requestID: UInt32,
        isKnown: Bool,
        _ resume: ResumePoint?,
        atLeast: Revision,
        _ window: FetchWindow?,
        _ rows: BackgroundRead.Rows?,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let id = connection.id
        if isKnown { return self.acceptKnown(view, id, requestID, &effects) }
        guard let entry = self.live[view.key.result] else { return }
        var reason = ""
        if let resume {
            switch try self.catchUps.resume(view, entry, resume, window) {
            case .current:
                view.subscribers[id] = self.firstState(connection, view)
                self.positions.noteUnknown(view)
                self.accept(view, .current(self.store.head), "", id, requestID, &effects)
                return try self.pushTotals(view, entry.result, to: id, &effects)
            case .difference(let body):
                view.subscribers[id] = self.firstState(connection, view)
                self.accept(view, .difference, "", id, requestID, &effects)
                self.own.pushHeld(by: connection, &effects)
                try self.authors.push(after: resume.revision, to: id, &effects)
                let totals = try ViewTotals.all(view, entry.result, self.store.head)
                effects.append(.push(EnginePush(view: view.id, content: .diff(body), totals: totals), to: [id]))
                return self.positions.noteSent(view, to: [id])
            case .snapshot(let why):
                reason = why
            }
        }
        if let rows, !rows.isAnchorGone {
            return try self.send(rows, view, connection, requestID, reason, now: now, &effects)
        }
        guard !self.snapshots.isLarge(view) else {
            let (key, slots) = (view.key, view.slots)
            try self.subscriptions.unsubscribe(id, view.id, now: now)
            let waiter = PendingRead.Waiter.subscribe(resume: nil, atLeast: atLeast, reason: reason)
            return try self.reads.request(key, slots, for: waiter, id, requestID, now: now, &effects)
        }
        view.subscribers[id] = self.firstState(connection, view)
        self.accept(view, .snapshot, reason, id, requestID, &effects)
        try self.views.sendSnapshot(view, reason: .first, to: [id], now: now, &effects)
    }
}

extension Store {
    /// Refuses a request that needs a later revision than the store has.
    func requireRevision(_ atLeast: Revision) throws(StoreError) {
        guard self.head >= atLeast else {
            throw StoreError.refused(
                .revisionNotReached,
                "the store is at revision \(self.head), not yet at \(atLeast)"
            )
        }
    }
}

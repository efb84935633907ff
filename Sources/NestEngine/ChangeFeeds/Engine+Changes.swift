import NestModel
import NestStore

/// Subscriptions to changes: all of them read the journal, those that are up to date as those that are far behind, so that
/// there is no seam between the two.
extension Engine {
    func subscribeChanges(
        _ id: ConnectionID,
        _ requestID: UInt32,
        since: ResumePoint?,
        place: Int,
        _ entities: [EntityNumber],
        _ effects: inout [EngineEffect]
    ) throws {
        guard let connection = self.connections[id] else { return }
        try self.requireRoomForSubscription(id, connection)
        var kinds: Set<EntityNumber>?
        for entity in entities {
            guard self.model.entity(entity) != nil else {
                throw NestError(.unknownEntity, "the model has no entity number \(entity.rawValue)")
            }
            kinds = (kinds ?? []).union(self.model.kinds(of: entity).map(\.number))
        }
        var cursor = ChangeCursor(revision: self.store.head)
        if let since {
            try self.requireJournal(after: since, isInside: place > 0)
            if place > 0 { try self.requirePart(at: place, after: since.revision) }
            cursor = ChangeCursor(revision: since.revision, place: place, isInside: place > 0)
        }
        let view = self.takeViewID()
        let subscription = ChangeSubscription(view: view, kinds: kinds, cursor: cursor)
        connection.changes.append(subscription)
        self.changeFollowers.insert(id)
        self.changeSubscriptionIDs.insert(view)
        // Told before the first frame under the view's id, even to a connection that does not drain.
        let first = FirstState.current(cursor.revision)
        effects.append(
            .reply(id, requestID: requestID, .subscribed(view: view, first: first, reason: "", projection: []))
        )
        self.goOnWithChanges(id, connection, &effects)
    }

    private func requireJournal(after since: ResumePoint, isInside: Bool) throws {
        guard since.historyID == self.store.historyID else {
            throw NestError(
                .conflict,
                "this store has the history \(self.store.historyID), not \(since.historyID): its revisions are others"
            )
        }
        guard since.revision < self.store.head || (since.revision == self.store.head && !isInside) else {
            throw NestError(
                .revisionNotReached,
                "the store is at revision \(self.store.head), not yet at \(since.revision)"
            )
        }
        guard since.revision >= self.store.oldestBase else { throw self.revisionDropped(since.revision) }
    }

    /// To go on at a place that does not exist would skip the rest of a revision.
    private func requirePart(at place: Int, after base: Revision) throws {
        guard try self.changePages.hasPart(at: place, after: base) else {
            throw NestError(.invalid, "the change set of revision \(base.next) has no part at place \(place)")
        }
    }

    private func revisionDropped(_ revision: Revision) -> NestError {
        NestError(
            .revisionDropped,
            "the journal no longer has what came after revision \(revision); the oldest revision to go on from is \(self.store.oldestBase)"
        )
    }

    /// `false` when the connection has no subscription to changes under this id.
    func unsubscribeChanges(_ id: ConnectionID, _ view: UInt32) -> Bool {
        guard let connection = self.connections[id],
            let index = connection.changes.firstIndex(where: { $0.view == view })
        else { return false }
        self.endChanges(id, connection, at: index)
        return true
    }

    private func endChanges(_ id: ConnectionID, _ connection: Connection, at index: Int) {
        self.changeSubscriptionIDs.remove(connection.changes.remove(at: index).view)
        if connection.changes.isEmpty { self.changeFollowers.remove(id) }
    }

    /// The connection is gone.
    func endAllChanges(_ id: ConnectionID, _ connection: Connection) {
        while !connection.changes.isEmpty { self.endChanges(id, connection, at: 0) }
    }

    // MARK: Sending

    /// After a commit: everybody who is not behind gets it. Costs nothing when nobody follows.
    func sendChanges(_ effects: inout [EngineEffect]) {
        guard !self.changeFollowers.isEmpty else { return }
        for id in self.changeFollowers.sorted() {
            if let connection = self.connections[id] { self.sendChanges(to: connection, id, &effects) }
        }
    }

    /// The connection has taken all before, or is new: the next page of each of its subscriptions, and a progress mark when
    /// that was the last.
    func goOnWithChanges(_ id: ConnectionID, _ connection: Connection, _ effects: inout [EngineEffect]) {
        self.sendChanges(to: connection, id, &effects)
        self.progress([id], &effects)
    }

    private func sendChanges(to connection: Connection, _ id: ConnectionID, _ effects: inout [EngineEffect]) {
        guard !connection.isBlocked else { return }
        for subscription in connection.changes where !subscription.isWaiting {
            do {
                try self.sendChanges(subscription, id, &effects)
            } catch {
                let failure = error as? NestError ?? StoreErrorBox.storeError(error).nestError
                let end = EnginePush.Content.end(failure.code, failure.message)
                effects.append(.push(EnginePush(view: subscription.view, content: end), to: [id]))
                if let index = connection.changes.firstIndex(where: { $0 === subscription }) {
                    self.endChanges(id, connection, at: index)
                }
            }
        }
    }

    private func sendChanges(
        _ subscription: ChangeSubscription,
        _ id: ConnectionID,
        _ effects: inout [EngineEffect]
    ) throws {
        let start = subscription.cursor
        guard start.revision < self.store.head else { return }
        guard start.revision >= self.store.oldestBase else { throw self.revisionDropped(start.revision) }
        if let page = try self.changePages.page(after: start, of: subscription.kinds) {
            for body in page.bodies {
                effects.append(.push(EnginePush(view: subscription.view, content: .changeSet(body)), to: [id]))
            }
            subscription.cursor = page.end
        }
        guard subscription.cursor.revision < self.store.head else { return }
        subscription.isWaiting = true
        effects.append(.whenDrained(id))
    }

    /// The batch is over.
    func endChangePages() {
        guard !self.changeFollowers.isEmpty else { return self.changePages.endBatch(isMoreWanted: false) }
        let isMoreWanted = self.changeFollowers.contains { id in
            self.connections[id]?.changes.contains { $0.isWaiting } ?? false
        }
        self.changePages.endBatch(isMoreWanted: isMoreWanted)
    }
}

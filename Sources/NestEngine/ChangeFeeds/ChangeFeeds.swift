import NestModel
import NestStore
import NestSchema

/// Subscriptions to changes. All of them read the journal, whether they are up to date or lag, so there is only one
/// code path.
package final class ChangeFeeds {
    private let store: Store
    private let connections: EngineConnections
    private let progress: ProgressMarks
    private let viewIDs: ViewIDs
    private let pages: ChangePages
    /// Connections with subscriptions to changes.
    private var followers: Set<ConnectionID> = []
    package private(set) var count = 0

    init(
        _ store: Store,
        _ connections: EngineConnections,
        _ viewIDs: ViewIDs,
        pageBytes: Int
    ) {
        self.store = store
        self.connections = connections
        self.progress = ProgressMarks(connections: connections, store: store)
        self.viewIDs = viewIDs
        self.pages = ChangePages(store, pageBytes: pageBytes)
    }

    /// The relationships that pairs belong to.
    var sides: PairSides { self.pages.sides }
    /// The number of pages read since the start.
    var pagesRead: Int { self.pages.readCount }

    /// The store has another model, with more relationships.
    func modelChanged() { self.pages.modelChanged() }

    /// SUBSCRIBE_CHANGES. The caller has checked that the connection has room for a subscription.
    func subscribe(
        _ connection: EngineConnection,
        _ requestID: UInt32,
        since: ResumePoint?,
        place: Int,
        _ entities: [EntityNumber],
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let model = self.store.layout.model
        var kinds: Set<EntityNumber>?
        for entity in entities {
            guard model.entity(entity) != nil else {
                throw StoreError.refused(.unknownEntity, "the model has no entity number \(entity.rawValue)")
            }
            kinds = (kinds ?? []).union(model.kinds(of: entity).map(\.number))
        }
        var cursor = ChangeCursor(revision: self.store.head)
        if let since {
            try self.requireJournal(after: since, isInside: place > 0)
            if place > 0 { try self.requirePart(at: place, after: since.revision) }
            cursor = ChangeCursor(revision: since.revision, place: place, isInside: place > 0)
        }
        let view = self.viewIDs.take()
        let subscription = ChangeSubscription(view: view, kinds: kinds, cursor: cursor)
        connection.changeSubscriptions.append(subscription)
        self.followers.insert(connection.id)
        self.count += 1
        // Sent before the first frame with the view's id, even to a blocked connection.
        let first = FirstState.current(cursor.revision)
        effects.append(
            .reply(
                connection.id,
                requestID: requestID,
                .subscribed(view: view, first: first, reason: "", projection: [])
            )
        )
        self.sendNextPages(connection, &effects)
    }

    private func requireJournal(after since: ResumePoint, isInside: Bool) throws(StoreError) {
        guard since.historyID == self.store.historyID else {
            throw StoreError.refused(
                .conflict,
                "the history id is \(self.store.historyID), not \(since.historyID): subscribe without a resume point"
            )
        }
        guard since.revision < self.store.head || (since.revision == self.store.head && !isInside) else {
            throw StoreError.refused(
                .revisionNotReached,
                "the store is at revision \(self.store.head), not yet at \(since.revision)"
            )
        }
        guard since.revision >= self.store.oldestBase else { throw self.revisionDropped(since.revision) }
    }

    /// Refuses a part that does not exist: continuing behind it would skip the rest of the revision.
    private func requirePart(at place: Int, after base: Revision) throws(StoreError) {
        guard try self.pages.hasPart(at: place, after: base) else {
            throw StoreError.refused(.invalid, "the change set of revision \(base.next) has no part \(place)")
        }
    }

    private func revisionDropped(_ revision: Revision) -> StoreError {
        .refused(
            .revisionDropped,
            "the journal no longer contains the changes after revision \(revision); the oldest revision to resume from "
                + "is \(self.store.oldestBase)"
        )
    }

    /// Returns `false` when the connection has no subscription to changes with this id.
    func unsubscribe(_ id: ConnectionID, _ view: UInt32) -> Bool {
        guard let connection = self.connections[id],
            let index = connection.changeSubscriptions.firstIndex(where: { $0.view == view })
        else { return false }
        self.end(connection, at: index)
        return true
    }

    private func end(_ connection: EngineConnection, at index: Int) {
        self.viewIDs.release(connection.changeSubscriptions.remove(at: index).view)
        self.count -= 1
        if connection.changeSubscriptions.isEmpty { self.followers.remove(connection.id) }
    }

    /// Ends all subscriptions of a connection that is gone.
    func endAll(_ connection: EngineConnection) {
        while !connection.changeSubscriptions.isEmpty { self.end(connection, at: 0) }
    }

    // MARK: Sending

    /// Sends a commit to every connection that has read all changes before it. Costs nothing without subscriptions to
    /// changes.
    func push(_ effects: inout [EngineEffect]) {
        guard !self.followers.isEmpty else { return }
        for id in self.followers.sorted() {
            if let connection = self.connections[id] { self.push(to: connection, &effects) }
        }
    }

    /// Notes that a connection has read all pages that were sent to it.
    func drained(_ connection: EngineConnection) {
        for subscription in connection.changeSubscriptions { subscription.isWaiting = false }
    }

    /// Sends the next page of each subscription of a connection that has drained or just subscribed, and a progress
    /// mark if that was the last page.
    func sendNextPages(_ connection: EngineConnection, _ effects: inout [EngineEffect]) {
        self.push(to: connection, &effects)
        self.progress.push(to: CollectionOfOne(connection.id), &effects)
    }

    private func push(to connection: EngineConnection, _ effects: inout [EngineEffect]) {
        guard !connection.isBlocked else { return }
        for subscription in connection.changeSubscriptions where !subscription.isWaiting {
            do {
                try self.push(subscription, to: connection.id, &effects)
            } catch {
                let failure = error.nestError
                let end = EnginePush.Content.end(failure.code, failure.message)
                effects.append(.push(EnginePush(view: subscription.view, content: end), to: [connection.id]))
                if let index = connection.changeSubscriptions.firstIndex(where: { $0 === subscription }) {
                    self.end(connection, at: index)
                }
            }
        }
    }

    private func push(
        _ subscription: ChangeSubscription,
        to id: ConnectionID,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let start = subscription.cursor
        guard start.revision < self.store.head else { return }
        guard start.revision >= self.store.oldestBase else { throw self.revisionDropped(start.revision) }
        if let page = try self.pages.page(after: start, of: subscription.kinds) {
            for body in page.bodies {
                effects.append(.push(EnginePush(view: subscription.view, content: .changeSet(body)), to: [id]))
            }
            subscription.cursor = page.end
        }
        guard subscription.cursor.revision < self.store.head else { return }
        subscription.isWaiting = true
        effects.append(.whenDrained(id))
    }

    func endBatch() {
        guard !self.followers.isEmpty else { return self.pages.endBatch(isMoreWanted: false) }
        let isMoreWanted = self.followers.contains { id in
            self.connections[id]?.changeSubscriptions.contains { $0.isWaiting } ?? false
        }
        self.pages.endBatch(isMoreWanted: isMoreWanted)
    }
}

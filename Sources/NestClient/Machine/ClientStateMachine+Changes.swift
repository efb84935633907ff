import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Subscriptions to all changes, each with its own cursor in the journal.
extension ClientStateMachine {
    /// Adds a local subscriber to changes. Each has its own subscription at the server, because each has another
    /// cursor.
    package mutating func subscribeToChanges(
        _ subscriber: SubscriberID,
        since: ResumePoint?,
        entities: [EntityNumber]
    ) -> [ClientAction] {
        if case .closed(let error) = self.phase { return [.endSubscription([subscriber], error)] }
        if let error = self.modelError(.subscribeChanges) { return [.endSubscription([subscriber], error)] }
        let id = SubscriptionID(self.nextSubscriptionID)
        self.nextSubscriptionID += 1
        self.changeFeeds[id] = ChangeFeed(subscriber: subscriber, since: since, entities: entities)
        self.subscriptionOfSubscriber[subscriber] = id
        if case .ready = self.phase { self.requestChanges(id) }
        return self.connectIfIdle() + self.flush()
    }

    package mutating func unsubscribeFromChanges(_ subscriber: SubscriberID) -> [ClientAction] {
        guard let id = self.subscriptionOfSubscriber.removeValue(forKey: subscriber),
            let subscription = self.changeFeeds.removeValue(forKey: id), case .live(let view) = subscription.phase
        else { return [] }
        self.subscriptionOfView[view] = nil
        self.sendUnsubscribe(view: view)
        return self.flush()
    }

    /// Queues the SUBSCRIBE_CHANGES of a subscription, from its subscriber's cursor.
    mutating func requestChanges(_ id: SubscriptionID) {
        guard let subscription = self.changeFeeds[id] else { return }
        self.changeFeeds[id]?.phase = .subscribing
        let message = SubscribeChanges(
            since: subscription.head,
            place: subscription.place,
            entities: subscription.entities
        )
        _ = self.requests.submit(OutgoingRequest(owner: .subscription(id), kind: .connection, message))
    }

    mutating func received(_ subscribed: Subscribed, forChanges id: SubscriptionID) -> [ClientAction] {
        guard let subscription = self.changeFeeds[id], let welcome = self.welcome else { return [] }
        guard case .current(let revision) = subscribed.first else {
            return self.violation("a subscription to changes cannot start with a state")
        }
        self.changeFeeds[id]?.phase = .live(view: subscribed.view)
        self.changeFeeds[id]?.hasBegun = true
        self.subscriptionOfView[subscribed.view] = id
        let head = subscription.head ?? ResumePoint(historyID: welcome.historyID, revision: revision)
        self.changeFeeds[id]?.head = head
        let event = subscription.hasBegun ? ChangesEvent.resumed(head.revision) : .following(head)
        return [.deliverChanges(event, to: subscription.subscriber, byteCount: 0)]
    }

    mutating func receivedChangeSet(_ body: ByteBuffer, view: UInt32) throws(WireError) -> [ClientAction] {
        guard let id = self.subscriptionOfView[view], let subscription = self.changeFeeds[id],
            let head = subscription.head
        else { return [] }
        let part = try ChangeSetMessage(body: body).part
        guard part.revision > head.revision else {
            return self.violation("a change set of revision \(part.revision) after revision \(head.revision)")
        }
        self.note(part.revision)
        if part.hasMore {
            // The head is the revision before this one, whatever revisions the subscription has skipped since its last
            // head.
            self.changeFeeds[id]?.head?.revision = Revision(part.revision.rawValue - 1)
        } else {
            self.changeFeeds[id]?.head?.revision = part.revision
        }
        self.changeFeeds[id]?.place = part.place
        return [.deliverChanges(.changes(part), to: subscription.subscriber, byteCount: part.byteCount)]
    }

    /// Handles a progress mark: the server has sent all changes up to this revision. Delivers it to subscriptions whose
    /// head is older.
    mutating func changesReached(_ revision: Revision) -> [ClientAction] {
        var actions: [ClientAction] = []
        for id in self.changeFeeds.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let subscription = self.changeFeeds[id], case .live = subscription.phase,
                let head = subscription.head,
                head.revision < revision
            else { continue }
            self.changeFeeds[id]?.head?.revision = revision
            actions.append(.deliverChanges(.progress(revision), to: subscription.subscriber, byteCount: 0))
        }
        return actions
    }

    /// Handles the loss of the connection.
    mutating func detachChangeFeeds(_ reason: NestError) -> [ClientAction] {
        var actions: [ClientAction] = []
        for id in self.changeFeeds.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let subscription = self.changeFeeds[id] else { continue }
            self.changeFeeds[id]?.phase = .detached
            // The subscriber of a subscription that is not live knows already that it is disconnected.
            guard case .live = subscription.phase else { continue }
            let event = ChangesEvent.disconnected(reason: reason.message)
            actions.append(.deliverChanges(event, to: subscription.subscriber, byteCount: 0))
        }
        return actions
    }

    mutating func endChangeFeed(_ id: SubscriptionID, _ error: NestError) -> [ClientAction] {
        guard let subscription = self.changeFeeds.removeValue(forKey: id) else { return [] }
        if case .live(let view) = subscription.phase { self.subscriptionOfView[view] = nil }
        self.subscriptionOfSubscriber[subscription.subscriber] = nil
        return [.endSubscription([subscription.subscriber], error)]
    }
}

extension ChangeSetPart {
    /// The approximate number of bytes in memory.
    fileprivate var byteCount: Int {
        self.objects.reduce(128 + self.name.utf8.count) { total, object in
            total + MemoryLayout<ChangedObject>.stride
                + (object.properties.isEmpty ? 0 : 32 + 2 * object.properties.count)
        }
    }
}

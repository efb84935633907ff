import NestModel
import NestProtocol

/// Subscriptions whose request changes.
///
/// A subscriber that is alone on its subscription changes it with RESUBSCRIBE: the server sends the difference between
/// the state it holds and the new result. A subscriber that shares a subscription leaves it for one of its own as soon
/// as the server has accepted that one. If changes follow each other faster than the server answers, only the newest is
/// requested.
///
///     waiting ──subscription settled──▶ under way ──SUBSCRIBED──▶ made
///        ▲                         │  └──────ERROR──────▶ refused: the subscription is as it was
///        └──── connection lost ────┘
extension ClientStateMachine {
    /// Changes the request of a subscriber.
    package mutating func change(
        _ subscriber: SubscriberID,
        to request: ObjectFetchRequest,
        _ token: RequestToken
    ) -> [ClientAction] {
        if case .closed(let error) = self.phase { return [.fail(token, error)] }
        let message = OutgoingRequest(owner: .noCaller, kind: .connection, Subscribe(request))
        if let error = self.modelError(.resubscribe) ?? self.sizeError(message) { return [.fail(token, error)] }
        guard let id = self.subscriptionOfSubscriber[subscriber], self.subscriptions[id] != nil else {
            return [.fail(token, Self.subscriptionEnded)]
        }
        let actions = self.waitingChanges[subscriber].map { self.superseded($0) } ?? []
        self.subscriptions[id]?.setFolds(waitForEdit: false)
        self.waitingChanges[subscriber] = SubscriptionChange(subscriber: subscriber, request: request, token: token)
        return actions + self.settle(id) + self.flush()
    }

    /// Starts the pending pause or changes of a subscription, if nothing else is under way.
    mutating func settle(_ id: SubscriptionID) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], subscription.origin == nil, subscription.isSettled,
            case .live(let view) = subscription.phase
        else {
            return []
        }
        if subscription.isPaused { return self.suspend(id) + self.flush() }
        if subscription.folds != nil { return self.settleOutline(id, view: view) }
        for subscriber in subscription.subscribers where self.candidates[subscriber] == nil {
            guard let change = self.waitingChanges.removeValue(forKey: subscriber) else { continue }
            if subscription.subscribers.count == 1 {
                self.subscriptions[id]?.phase = .changing(view: view)
                self.subscriptions[id]?.change = change
                let message = Resubscribe(view: view, request: change.request)
                let owner = OutgoingRequest.Owner.change(id, view: view)
                _ = self.requests.submit(OutgoingRequest(owner: owner, kind: .connection, message))
            } else {
                self.addCandidate(change, origin: id)
            }
        }
        return self.flush()
    }

    private mutating func addCandidate(_ change: SubscriptionChange, origin: SubscriptionID) {
        var subscription = Subscription(request: change.request, subscriber: change.subscriber)
        subscription.origin = origin
        subscription.change = change
        let id = self.add(subscription)
        self.candidates[change.subscriber] = id
        if case .ready = self.phase { self.subscribe(id) }
    }

    // MARK: Answers

    mutating func received(_ subscribed: Subscribed, forChange id: SubscriptionID, of old: UInt32) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], subscription.phase == .changing(view: old),
            let change = subscription.change
        else {
            // No subscriber needs the view any more.
            self.sendUnsubscribe(view: subscribed.view)
            return self.flush()
        }
        self.subscriptions[id]?.change = nil
        self.subscriptions[id]?.become(change.request, replacesFolds: change.replacesFolds)
        var actions = self.made(change)
        if change.replacesFolds { actions += self.recordReplacedFolds(id) }
        switch subscribed.first {
        case .current:
            self.subscriptions[id]?.phase = .live(view: old)
            let renamed = ClientAction.deliver(.request(change.request), to: subscription.subscribers, byteCount: 0)
            return actions + [renamed] + self.goOn(id, view: old)
        case .alreadySubscribed:
            self.subscriptionOfView[old] = nil
            return actions + self.join(view: subscribed.view, subscription: id, had: subscription.head)
        case .snapshot, .difference:
            self.subscriptionOfView[old] = nil
            self.subscriptionOfView[subscribed.view] = id
            self.subscriptions[id]?.phase = .live(view: subscribed.view)
            self.subscriptions[id]?.projection = subscribed.projection
            self.subscriptions[id]?.assembler = nil
            if case .difference = subscribed.first, subscription.head != nil {
                self.subscriptions[id]?.awaitsDifference = true
                return actions
            }
            self.subscriptions[id]?.head = nil
            let reset = self.reset(subscription.subscribers, had: subscription.head, subscribed.reason)
            if subscription.isPaused { return actions + reset + self.suspend(id) + self.flush() }
            if case .difference = subscribed.first {
                // The state from which the difference starts was found to be wrong in the meantime.
                self.leave(view: subscribed.view)
                self.subscribe(id)
            }
            return actions + reset + self.flush()
        }
    }

    /// Handles a new request that has the same view as another subscription.
    private mutating func join(view: UInt32, subscription id: SubscriptionID, had head: ResumePoint?) -> [ClientAction]
    {
        self.sendUnsubscribe(view: view)
        guard let subscription = self.subscriptions[id] else { return self.flush() }
        self.subscriptions[id]?.head = nil
        self.subscriptions[id]?.assembler = nil
        self.subscriptions[id]?.phase = .detached
        var actions = self.reset(subscription.subscribers, had: head, "another subscription has the same view")
        if subscription.isPaused {
            actions += self.suspend(id)
        } else if let other = self.shareableSubscription(ofView: view), other != id {
            actions += self.move(subscription.subscribers, from: id, to: other)
        } else {
            self.subscribeLater(id)
        }
        return actions + self.flush()
    }

    /// Handles a refused change. The subscription continues as before.
    mutating func refused(_ error: NestError, change id: SubscriptionID, of old: UInt32) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], subscription.phase == .changing(view: old),
            let change = subscription.change
        else {
            self.sendUnsubscribe(view: old)
            return self.flush()
        }
        self.subscriptions[id]?.change = nil
        self.subscriptions[id]?.phase = .live(view: old)
        if let retry = self.withoutAnchor(change, subscription, error) {
            return self.waitAgain(retry) + self.goOn(id, view: old)
        }
        if change.edits.count > 1 {
            // One may be refused for a reason of its own, such as a scroll to a row that is not below the new object.
            var split = change
            split.isSplit = true
            return self.waitAgain(split) + self.goOn(id, view: old)
        }
        return self.failed(change, error) + self.goOn(id, view: old)
    }

    /// Continues after an answer that has not changed the view.
    private mutating func goOn(_ id: SubscriptionID, view: UInt32) -> [ClientAction] {
        guard let subscription = self.subscriptions[id] else { return [] }
        if subscription.isPaused { return self.suspend(id) + self.flush() }
        if subscription.head == nil, subscription.assembler == nil {
            // The state was found to be wrong in the meantime.
            self.leave(view: view)
            self.subscribe(id)
        }
        return self.settle(id) + self.flush()
    }

    /// Handles a candidate that the server has accepted: its subscriber leaves the shared subscription.
    mutating func adopt(_ id: SubscriptionID) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], let origin = subscription.origin,
            let change = subscription.change
        else { return [] }
        self.subscriptions[id]?.origin = nil
        self.subscriptions[id]?.change = nil
        self.candidates[change.subscriber] = nil
        self.subscriptionOfSubscriber[change.subscriber] = id
        let had = self.subscriptions[origin]?.head
        self.depart(change.subscriber, from: origin)
        return self.made(change) + self.reset(subscription.subscribers, had: had, "the request has changed")
    }

    /// Handles a candidate that the server has refused.
    mutating func refused(_ error: NestError, candidate id: SubscriptionID) -> [ClientAction] {
        guard let subscription = self.subscriptions.removeValue(forKey: id), let change = subscription.change,
            let origin = subscription.origin
        else {
            return []
        }
        self.candidates[change.subscriber] = nil
        return self.failed(change, error) + self.settle(origin)
    }

    /// Handles a candidate that has the same view as its subscriber's subscription.
    mutating func same(candidate id: SubscriptionID) -> [ClientAction] {
        guard let subscription = self.subscriptions.removeValue(forKey: id), let change = subscription.change,
            let origin = subscription.origin
        else {
            return []
        }
        self.candidates[change.subscriber] = nil
        let renamed = ClientAction.deliver(.request(change.request), to: subscription.subscribers, byteCount: 0)
        return self.made(change) + [renamed] + self.settle(origin)
    }

    // MARK: Ends

    /// Handles the loss of the connection. Unanswered changes wait for the next connection. Subscriptions whose change
    /// was accepted but whose difference did not arrive start again.
    mutating func changesLost() -> [ClientAction] {
        var actions: [ClientAction] = []
        for id in self.subscriptions.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let subscription = self.subscriptions[id] else { continue }
            guard subscription.origin == nil else {
                // The candidate is requested again, unless the subscriber has a newer change.
                guard let change = subscription.change, self.waitingChanges[change.subscriber] != nil else { continue }
                self.subscriptions[id] = nil
                self.candidates[change.subscriber] = nil
                actions += self.superseded(change)
                continue
            }
            if let change = subscription.change {
                self.subscriptions[id]?.change = nil
                actions += self.waitAgain(change)
            }
            if subscription.awaitsDifference {
                self.subscriptions[id]?.awaitsDifference = false
                self.subscriptions[id]?.head = nil
                let message = "the connection was lost before the difference to the new request arrived"
                actions += self.reset(subscription.subscribers, had: subscription.head, message)
            }
        }
        return actions
    }

    /// Queues a change that was under way, unless the subscriber has a newer change.
    mutating func waitAgain(_ change: SubscriptionChange) -> [ClientAction] {
        if change.replacesFolds, self.waitingChanges[change.subscriber]?.replacesFolds != true,
            let id = self.subscriptionOfSubscriber[change.subscriber]
        {
            // All fold states that wait were set after the change was sent.
            self.subscriptions[id]?.setFolds(waitForEdit: true)
        }
        guard let newer = self.waitingChanges[change.subscriber] else {
            self.waitingChanges[change.subscriber] = change
            return []
        }
        guard !change.edits.isEmpty else { return self.superseded(change) }
        var merged = change
        let covered = merged.append(newer.edits)
        self.waitingChanges[change.subscriber] = merged
        return covered.map { .succeed($0, .changed(isNewest: false)) }
    }

    /// Drops the changes of a subscriber that has left, or whose subscription has ended.
    mutating func dropChanges(of subscriber: SubscriberID, _ error: NestError) -> [ClientAction] {
        var actions = self.waitingChanges.removeValue(forKey: subscriber).map { self.failed($0, error) } ?? []
        if let id = self.candidates.removeValue(forKey: subscriber),
            let change = self.subscriptions.removeValue(forKey: id)?.change
        {
            actions += self.failed(change, error)
        }
        return actions
    }

    /// Abandons a change because its caller no longer waits. `isKnown` is false if the token belongs to no change.
    mutating func abandonChange(_ token: RequestToken) -> (wasSent: Bool, isKnown: Bool) {
        if let subscriber = self.waitingChanges.first(where: { $0.value.token == token })?.key {
            self.waitingChanges[subscriber] = nil
            return (false, true)
        }
        let outline = self.abandonOutlineChange(token)
        if outline.isKnown { return outline }
        guard let id = self.subscriptions.first(where: { $0.value.change?.token == token })?.key else {
            return (false, false)
        }
        self.subscriptions[id]?.change?.token = nil
        return (true, true)
    }

    // MARK: Helpers

    static let subscriptionEnded = NestError(.cancelled, "the subscription has ended")

    private func made(_ change: SubscriptionChange) -> [ClientAction] {
        change.tokens.map { .succeed($0, .changed(isNewest: true)) }
    }

    private func superseded(_ change: SubscriptionChange) -> [ClientAction] {
        change.tokens.map { .succeed($0, .changed(isNewest: false)) }
    }

    func failed(_ change: SubscriptionChange, _ error: NestError) -> [ClientAction] {
        change.tokens.map { .fail($0, error) }
    }

    /// Notifies subscribers that hold a state that it will be replaced.
    private func reset(_ subscribers: [SubscriberID], had head: ResumePoint?, _ message: String) -> [ClientAction] {
        guard head != nil else { return [] }
        let reset = ResultsReset(cause: .request, message: message.isEmpty ? "the request has changed" : message)
        return [.deliver(.reset(reset), to: subscribers, byteCount: 0)]
    }
}

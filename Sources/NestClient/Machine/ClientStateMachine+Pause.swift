import NestModel
import NestProtocol

/// Paused subscriptions: the server drops them, and the client keeps the state from which they resume.
extension ClientStateMachine {
    /// Pauses a subscriber. If it shares a subscription, it gets a paused one of its own.
    package mutating func pause(_ subscriber: SubscriberID) -> [ClientAction] {
        guard let id = self.subscriptionOfSubscriber[subscriber], let subscription = self.subscriptions[id],
            !subscription.isPaused
        else { return [] }
        var actions: [ClientAction] = []
        if let candidate = self.candidates.removeValue(forKey: subscriber),
            let change = self.subscriptions.removeValue(forKey: candidate)?.change
        {
            // The change is requested again after the pause.
            actions += self.waitAgain(change)
        }
        guard subscription.subscribers.count > 1 else {
            self.subscriptions[id]?.isPaused = true
            return actions + self.suspend(id) + self.flush()
        }
        var own = Subscription(request: subscription.request, subscriber: subscriber)
        own.isPaused = true
        own.head = subscription.head
        own.projection = subscription.projection
        self.depart(subscriber, from: id)
        self.subscriptionOfSubscriber[subscriber] = self.add(own)
        return actions + [.deliver(.paused, to: [subscriber], byteCount: 0)]
    }

    /// Resumes a subscriber from the state that it holds.
    package mutating func resume(_ subscriber: SubscriberID) -> [ClientAction] {
        guard let id = self.subscriptionOfSubscriber[subscriber], let subscription = self.subscriptions[id],
            subscription.isPaused
        else { return [] }
        self.subscriptions[id]?.isPaused = false
        // Otherwise the pause has not taken effect, or an answer is pending.
        guard case .detached = subscription.phase else { return self.settle(id) }
        guard case .ready = self.phase else {
            let reason = self.closeReason?.message ?? "there is no connection yet"
            return [.deliver(.disconnected(reason: reason), to: subscription.subscribers, byteCount: 0)]
        }
        self.subscribe(id)
        return self.flush()
    }

    /// Unsubscribes a paused subscription. If a change, also of fold states, is under way, this happens after it.
    mutating func suspend(_ id: SubscriptionID) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], subscription.isPaused, subscription.change == nil,
            subscription.foldsUnderWay == nil || subscription.view == nil, !subscription.awaitsDifference
        else { return [] }
        if case .live(let view) = subscription.phase {
            self.leave(view: view)
            self.subscriptions[id]?.phase = .detached
        }
        self.subscriptions[id]?.assembler = nil
        return [.deliver(.paused, to: subscription.subscribers, byteCount: 0)]
    }
}

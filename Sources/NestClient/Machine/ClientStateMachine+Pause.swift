import NestModel
import NestProtocol

/// Subscriptions that rest: the server forgets them, and the client keeps the state to go on from.
extension ClientStateMachine {
    /// A subscriber wants nothing for now. One that shares its subscription gets one of its own, which rests.
    package mutating func pause(_ subscriber: SubscriberID) -> [ClientAction] {
        guard let id = self.subscriptionOfSubscriber[subscriber], let subscription = self.subscriptions[id],
            !subscription.isPaused
        else { return [] }
        var actions: [ClientAction] = []
        if let candidate = self.candidates.removeValue(forKey: subscriber),
            let change = self.subscriptions.removeValue(forKey: candidate)?.change
        {
            // Asked for again when it goes on.
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

    /// It wants everything again, from the state that it holds on.
    package mutating func resume(_ subscriber: SubscriberID) -> [ClientAction] {
        guard let id = self.subscriptionOfSubscriber[subscriber], let subscription = self.subscriptions[id],
            subscription.isPaused
        else { return [] }
        self.subscriptions[id]?.isPaused = false
        // Otherwise the pause has not begun, or an answer is due.
        guard case .detached = subscription.phase else { return self.settle(id) }
        guard case .ready = self.phase else {
            let reason = self.closeReason?.message ?? "there is no connection yet"
            return [.deliver(.disconnected(reason: reason), to: subscription.subscribers, byteCount: 0)]
        }
        self.subscribe(id)
        return self.flush()
    }

    /// Ends the subscription of a subscription that is to rest, unless a change of it is under way: then after that.
    mutating func suspend(_ id: SubscriptionID) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], subscription.isPaused, subscription.change == nil,
            !subscription.awaitsDifference
        else { return [] }
        if case .live(let view) = subscription.phase {
            self.leave(view: view)
            self.subscriptions[id]?.phase = .detached
        }
        self.subscriptions[id]?.assembler = nil
        return [.deliver(.paused, to: subscription.subscribers, byteCount: 0)]
    }
}

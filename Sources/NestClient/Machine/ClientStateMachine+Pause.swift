import NestModel
import NestProtocol

/// Subscriptions that rest: the server forgets them, and the client keeps the state to go on from.
extension ClientStateMachine {
    /// A subscriber wants nothing for now. One that shares its feed gets one of its own, which rests.
    package mutating func pause(_ subscriber: SubscriberID) -> [ClientAction] {
        guard let id = self.feedOfSubscriber[subscriber], let feed = self.feeds[id], !feed.isPaused else { return [] }
        var actions: [ClientAction] = []
        if let candidate = self.candidates.removeValue(forKey: subscriber),
            let change = self.feeds.removeValue(forKey: candidate)?.change
        {
            // Asked for again when it goes on.
            actions += self.waitAgain(change)
        }
        guard feed.subscribers.count > 1 else {
            self.feeds[id]?.isPaused = true
            return actions + self.suspend(id) + self.flush()
        }
        var own = Feed(request: feed.request, subscriber: subscriber)
        own.isPaused = true
        own.head = feed.head
        own.projection = feed.projection
        self.depart(subscriber, from: id)
        self.feedOfSubscriber[subscriber] = self.add(own)
        return actions + [.deliver(.paused, to: [subscriber], byteCount: 0)]
    }

    /// It wants everything again, from the state that it holds on.
    package mutating func resume(_ subscriber: SubscriberID) -> [ClientAction] {
        guard let id = self.feedOfSubscriber[subscriber], let feed = self.feeds[id], feed.isPaused else { return [] }
        self.feeds[id]?.isPaused = false
        // Otherwise the pause has not begun, or an answer is due.
        guard case .detached = feed.phase else { return self.settle(id) }
        guard case .ready = self.phase else {
            let reason = self.closeReason?.message ?? "there is no connection yet"
            return [.deliver(.disconnected(reason: reason), to: feed.subscribers, byteCount: 0)]
        }
        self.subscribe(id)
        return self.flush()
    }

    /// Ends the subscription of a feed that is to rest, unless a change of it is under way: then after that.
    mutating func suspend(_ id: FeedID) -> [ClientAction] {
        guard let feed = self.feeds[id], feed.isPaused, feed.change == nil, !feed.awaitsDifference else { return [] }
        if case .live(let view) = feed.phase {
            self.leave(view: view)
            self.feeds[id]?.phase = .detached
        }
        self.feeds[id]?.assembler = nil
        return [.deliver(.paused, to: feed.subscribers, byteCount: 0)]
    }
}

import NestModel
import NestProtocol

/// Subscriptions that become others while they last.
///
/// A subscriber that is alone on its feed changes it by RESUBSCRIBE: the difference leads from what it holds to what it
/// wants. One that shares it with others leaves it for a feed of its own, when the server has accepted that. Of changes that
/// follow each other faster than the server answers only the newest is asked for.
///
///     waiting ──feed settled──▶ under way ──SUBSCRIBED──▶ made
///        ▲                         │  └──────ERROR──────▶ refused: everything is as it was
///        └──── connection lost ────┘
extension ClientStateMachine {
    /// A subscriber wants another request's result from now on.
    package mutating func change(
        _ subscriber: SubscriberID,
        to request: FetchRequest,
        _ token: RequestToken
    ) -> [ClientAction] {
        if case .closed(let error) = self.phase { return [.fail(token, error)] }
        let message = OutgoingRequest(owner: .nobody, kind: .connection, Subscribe(request))
        if let error = self.modelError(.resubscribe) ?? self.sizeError(message) { return [.fail(token, error)] }
        guard let id = self.feedOfSubscriber[subscriber], self.feeds[id] != nil else {
            return [.fail(token, Self.subscriptionEnded)]
        }
        let actions = self.waitingChanges[subscriber].map { self.superseded($0) } ?? []
        self.waitingChanges[subscriber] = FeedChange(subscriber: subscriber, request: request, token: token)
        return actions + self.settle(id) + self.flush()
    }

    /// Goes on with what the subscribers of a feed want, when nothing is under way there.
    mutating func settle(_ id: FeedID) -> [ClientAction] {
        guard let feed = self.feeds[id], feed.origin == nil, feed.isSettled, case .live(let view) = feed.phase else {
            return []
        }
        if feed.isPaused { return self.suspend(id) + self.flush() }
        for subscriber in feed.subscribers where self.candidates[subscriber] == nil {
            guard let change = self.waitingChanges.removeValue(forKey: subscriber) else { continue }
            if feed.subscribers.count == 1 {
                self.feeds[id]?.phase = .changing(view: view)
                self.feeds[id]?.change = change
                let message = Resubscribe(view: view, request: change.request)
                let owner = OutgoingRequest.Owner.change(id, view: view)
                _ = self.requests.submit(OutgoingRequest(owner: owner, kind: .connection, message))
            } else {
                self.addCandidate(change, origin: id)
            }
        }
        return self.flush()
    }

    private mutating func addCandidate(_ change: FeedChange, origin: FeedID) {
        var feed = Feed(request: change.request, subscriber: change.subscriber)
        feed.origin = origin
        feed.change = change
        let id = self.add(feed)
        self.candidates[change.subscriber] = id
        if case .ready = self.phase { self.subscribe(id) }
    }

    // MARK: Answers

    mutating func received(_ subscribed: Subscribed, forChange id: FeedID, of old: UInt32) -> [ClientAction] {
        guard let feed = self.feeds[id], feed.phase == .changing(view: old), let change = feed.change else {
            // Nobody is left who wanted it.
            self.sendUnsubscribe(view: subscribed.view)
            return self.flush()
        }
        self.feeds[id]?.change = nil
        self.feeds[id]?.become(change.request)
        let actions = self.made(change)
        switch subscribed.first {
        case .current:
            self.feeds[id]?.phase = .live(view: old)
            let renamed = ClientAction.deliver(.request(change.request), to: feed.subscribers, byteCount: 0)
            return actions + [renamed] + self.goOn(id, view: old)
        case .alreadySubscribed:
            self.feedOfView[old] = nil
            return actions + self.join(view: subscribed.view, feed: id, had: feed.head)
        case .snapshot, .difference:
            self.feedOfView[old] = nil
            self.feedOfView[subscribed.view] = id
            self.feeds[id]?.phase = .live(view: subscribed.view)
            self.feeds[id]?.projection = subscribed.projection
            self.feeds[id]?.assembler = nil
            if case .difference = subscribed.first, feed.head != nil {
                self.feeds[id]?.awaitsDifference = true
                return actions
            }
            self.feeds[id]?.head = nil
            let reset = self.reset(feed.subscribers, had: feed.head, subscribed.reason)
            if feed.isPaused { return actions + reset + self.suspend(id) + self.flush() }
            if case .difference = subscribed.first {
                // What it starts from was found to be wrong meanwhile.
                self.leave(view: subscribed.view)
                self.subscribe(id)
            }
            return actions + reset + self.flush()
        }
    }

    /// The request is the view of another feed.
    private mutating func join(view: UInt32, feed id: FeedID, had head: ResumePoint?) -> [ClientAction] {
        self.sendUnsubscribe(view: view)
        guard let feed = self.feeds[id] else { return self.flush() }
        self.feeds[id]?.head = nil
        self.feeds[id]?.assembler = nil
        self.feeds[id]?.phase = .detached
        var actions = self.reset(feed.subscribers, had: head, "another subscription has the same view")
        if feed.isPaused {
            actions += self.suspend(id)
        } else if let other = self.shareableFeed(ofView: view), other != id {
            actions += self.move(feed.subscribers, from: id, to: other)
        } else {
            self.subscribeLater(id)
        }
        return actions + self.flush()
    }

    /// A change was refused: the feed goes on as it was.
    mutating func refused(_ error: NestError, change id: FeedID, of old: UInt32) -> [ClientAction] {
        guard let feed = self.feeds[id], feed.phase == .changing(view: old), let change = feed.change else {
            self.sendUnsubscribe(view: old)
            return self.flush()
        }
        self.feeds[id]?.change = nil
        self.feeds[id]?.phase = .live(view: old)
        return self.failed(change, error) + self.goOn(id, view: old)
    }

    /// The answer to a change has left the view as it was.
    private mutating func goOn(_ id: FeedID, view: UInt32) -> [ClientAction] {
        guard let feed = self.feeds[id] else { return [] }
        if feed.isPaused { return self.suspend(id) + self.flush() }
        if feed.head == nil, feed.assembler == nil {
            // Its state was found to be wrong meanwhile.
            self.leave(view: view)
            self.subscribe(id)
        }
        return self.settle(id) + self.flush()
    }

    /// The server has accepted a candidate: its subscriber leaves the feed that it has shared.
    mutating func adopt(_ id: FeedID) -> [ClientAction] {
        guard let feed = self.feeds[id], let origin = feed.origin, let change = feed.change else { return [] }
        self.feeds[id]?.origin = nil
        self.feeds[id]?.change = nil
        self.candidates[change.subscriber] = nil
        self.feedOfSubscriber[change.subscriber] = id
        let had = self.feeds[origin]?.head
        self.depart(change.subscriber, from: origin)
        return self.made(change) + self.reset(feed.subscribers, had: had, "the request has changed")
    }

    /// A candidate that was refused.
    mutating func refused(_ error: NestError, candidate id: FeedID) -> [ClientAction] {
        guard let feed = self.feeds.removeValue(forKey: id), let change = feed.change, let origin = feed.origin else {
            return []
        }
        self.candidates[change.subscriber] = nil
        return self.failed(change, error) + self.settle(origin)
    }

    /// A candidate is the view that its subscriber has already.
    mutating func same(candidate id: FeedID) -> [ClientAction] {
        guard let feed = self.feeds.removeValue(forKey: id), let change = feed.change, let origin = feed.origin else {
            return []
        }
        self.candidates[change.subscriber] = nil
        let renamed = ClientAction.deliver(.request(change.request), to: feed.subscribers, byteCount: 0)
        return self.made(change) + [renamed] + self.settle(origin)
    }

    // MARK: Ends

    /// The connection is lost. What was not answered waits for the next one; what was accepted, and did not come, begins anew.
    mutating func changesLost() -> [ClientAction] {
        var actions: [ClientAction] = []
        for id in self.feeds.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            guard let feed = self.feeds[id] else { continue }
            guard feed.origin == nil else {
                // A candidate is asked for again, unless the subscriber wants something newer.
                guard let change = feed.change, self.waitingChanges[change.subscriber] != nil else { continue }
                self.feeds[id] = nil
                self.candidates[change.subscriber] = nil
                actions += self.superseded(change)
                continue
            }
            if let change = feed.change {
                self.feeds[id]?.change = nil
                actions += self.waitAgain(change)
            }
            if feed.awaitsDifference {
                self.feeds[id]?.awaitsDifference = false
                self.feeds[id]?.head = nil
                let message = "the connection was lost before the difference to the new request came"
                actions += self.reset(feed.subscribers, had: feed.head, message)
            }
        }
        return actions
    }

    /// A change that was under way has to be asked for again, unless the subscriber wants something newer.
    mutating func waitAgain(_ change: FeedChange) -> [ClientAction] {
        if self.waitingChanges[change.subscriber] != nil { return self.superseded(change) }
        self.waitingChanges[change.subscriber] = change
        return []
    }

    /// A subscriber has gone, or its subscription has ended.
    mutating func dropChanges(of subscriber: SubscriberID, _ error: NestError) -> [ClientAction] {
        var actions = self.waitingChanges.removeValue(forKey: subscriber).map { self.failed($0, error) } ?? []
        if let id = self.candidates.removeValue(forKey: subscriber),
            let change = self.feeds.removeValue(forKey: id)?.change
        {
            actions += self.failed(change, error)
        }
        return actions
    }

    /// The caller of a change has waited long enough. `nil` when it is no change of which this is known.
    mutating func abandonChange(_ token: RequestToken) -> (wasSent: Bool, isKnown: Bool) {
        if let subscriber = self.waitingChanges.first(where: { $0.value.token == token })?.key {
            self.waitingChanges[subscriber] = nil
            return (false, true)
        }
        guard let id = self.feeds.first(where: { $0.value.change?.token == token })?.key else { return (false, false) }
        self.feeds[id]?.change?.token = nil
        return (true, true)
    }

    // MARK: Helpers

    static let subscriptionEnded = NestError(.cancelled, "the subscription has ended")

    private func made(_ change: FeedChange) -> [ClientAction] {
        change.token.map { [.succeed($0, .changed(isNewest: true))] } ?? []
    }

    private func superseded(_ change: FeedChange) -> [ClientAction] {
        change.token.map { [.succeed($0, .changed(isNewest: false))] } ?? []
    }

    func failed(_ change: FeedChange, _ error: NestError) -> [ClientAction] {
        change.token.map { [.fail($0, error)] } ?? []
    }

    /// Says that what is held will be replaced, to those who hold something.
    private func reset(_ subscribers: [SubscriberID], had head: ResumePoint?, _ message: String) -> [ClientAction] {
        guard head != nil else { return [] }
        let reset = ResultsReset(cause: .request, message: message.isEmpty ? "the request has changed" : message)
        return [.deliver(.reset(reset), to: subscribers, byteCount: 0)]
    }
}

import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Subscriptions to results: begun, resumed, told apart by their views, ended.
extension ClientStateMachine {
    /// A local subscriber. One that asks for what another has already shares its feed.
    package mutating func subscribe(_ subscriber: SubscriberID, to request: FetchRequest) -> [ClientAction] {
        if case .closed(let error) = self.phase { return [.endFeed([subscriber], error)] }
        if let error = self.modelError(.subscribe) { return [.endFeed([subscriber], error)] }
        if let (id, feed) = self.feeds.first(where: { $0.value.request == request && $0.value.isShareable }) {
            self.feeds[id]?.subscribers.append(subscriber)
            self.feedOfSubscriber[subscriber] = id
            return [.seed(subscriber, from: feed.subscribers[0])]
        }
        let id = self.add(Feed(request: request, subscriber: subscriber))
        self.feedOfSubscriber[subscriber] = id
        if case .ready = self.phase { self.subscribe(id) }
        return self.connectIfIdle() + self.flush()
    }

    package mutating func unsubscribe(_ subscriber: SubscriberID) -> [ClientAction] {
        guard let id = self.feedOfSubscriber.removeValue(forKey: subscriber) else { return [] }
        var actions = self.dropChanges(of: subscriber, Self.subscriptionEnded)
        if let change = self.feeds[id]?.change { actions += self.failed(change, Self.subscriptionEnded) }
        self.depart(subscriber, from: id)
        return actions + self.flush()
    }

    mutating func add(_ feed: Feed) -> FeedID {
        let id = FeedID(self.nextFeedID)
        self.nextFeedID += 1
        self.feeds[id] = feed
        return id
    }

    /// Takes a subscriber off a feed, which ends with the last.
    mutating func depart(_ subscriber: SubscriberID, from id: FeedID) {
        self.feeds[id]?.subscribers.removeAll { $0 == subscriber }
        guard let feed = self.feeds[id], feed.subscribers.isEmpty else { return }
        self.feeds[id] = nil
        switch feed.phase {
        case .live(let view): self.leave(view: view)
        // The answer will tell which view is to be left.
        case .changing(let view): self.feedOfView[view] = nil
        case .detached, .subscribing: break
        }
    }

    /// A subscriber found that its state does not fit: everybody on the feed begins again with a snapshot.
    package mutating func restart(_ subscriber: SubscriberID, reason: String) -> [ClientAction] {
        guard let id = self.feedOfSubscriber[subscriber] else { return [] }
        return self.restart(id, reason: reason) + self.flush()
    }

    mutating func restart(_ id: FeedID, reason: String) -> [ClientAction] {
        guard let feed = self.feeds[id], feed.head != nil else { return [] }
        self.feeds[id]?.head = nil
        self.feeds[id]?.assembler = nil
        self.feeds[id]?.awaitsDifference = false
        if case .live(let view) = feed.phase {
            self.leave(view: view)
            self.subscribe(id)
        }
        let reset = ResultsReset(cause: .mismatch, message: reason)
        return [.deliver(.reset(reset), to: feed.subscribers, byteCount: 0)]
    }

    mutating func leave(view: UInt32) {
        self.feedOfView[view] = nil
        self.sendUnsubscribe(view: view)
    }

    /// The server counts the subscriptions of a view; this client keeps one of each, however many share it.
    mutating func sendUnsubscribe(view: UInt32) {
        _ = self.requests.submit(OutgoingRequest(owner: .nobody, kind: .connection, Unsubscribe(view: view)))
    }

    /// Queues the SUBSCRIBE of a feed.
    mutating func subscribe(_ id: FeedID) {
        guard let feed = self.feeds[id] else { return }
        self.feeds[id]?.phase = .subscribing
        let resume = self.welcome?.features.contains(.resume) == true ? feed.head : nil
        let message = Subscribe(feed.request, resume: resume)
        _ = self.requests.submit(OutgoingRequest(owner: .feed(id), kind: .connection, message))
    }

    mutating func received(_ subscribed: Subscribed, for id: FeedID) -> [ClientAction] {
        let view = subscribed.view
        guard let feed = self.feeds[id], case .subscribing = feed.phase, !feed.isPaused else {
            // Nobody is left who wants it, or not now.
            if self.feeds[id]?.phase == .subscribing { self.feeds[id]?.phase = .detached }
            self.sendUnsubscribe(view: view)
            return self.flush()
        }
        if case .alreadySubscribed = subscribed.first { return self.share(view: view, feed: id) }
        let adopted = self.adopt(id)
        self.feeds[id]?.phase = .live(view: view)
        self.feeds[id]?.projection = subscribed.projection
        self.feedOfView[view] = id
        switch subscribed.first {
        case .snapshot:
            guard feed.head != nil else { return adopted + self.flush() }
            self.feeds[id]?.head = nil
            let message = subscribed.reason.isEmpty ? "the server sends a snapshot" : subscribed.reason
            let reset = ResultsReset(cause: .server, message: message)
            return adopted + [.deliver(.reset(reset), to: feed.subscribers, byteCount: 0)]
        case .difference:
            guard let head = feed.head else { return self.violation("a difference for a client that holds nothing") }
            return [.deliver(.resumed(head.revision), to: feed.subscribers, byteCount: 0)] + self.settle(id)
        case .current(let revision):
            guard feed.head != nil else { return self.violation("'current' for a client that holds nothing") }
            self.feeds[id]?.head?.revision = revision
            return [.deliver(.resumed(revision), to: feed.subscribers, byteCount: 0)] + self.settle(id)
        case .alreadySubscribed:
            return []
        }
    }

    /// The request, spelled differently, is the view of another feed: its frames serve both.
    private mutating func share(view: UInt32, feed id: FeedID) -> [ClientAction] {
        self.sendUnsubscribe(view: view)
        guard let other = self.shareableFeed(ofView: view), let feed = self.feeds[id] else {
            // The other subscription has ended while this one was asked for, or becomes another: begin anew.
            self.subscribeLater(id)
            return self.flush()
        }
        if feed.origin == other { return self.same(candidate: id) + self.flush() }
        var actions = self.flush() + self.adopt(id)
        if feed.head != nil {
            let reset = ResultsReset(cause: .server, message: "another subscription has the same view")
            actions.append(.deliver(.reset(reset), to: feed.subscribers, byteCount: 0))
        }
        return actions + self.move(feed.subscribers, from: id, to: other) + self.flush()
    }

    /// One at a time: of two feeds that ask for the same view together, each would be told that the other has it.
    mutating func subscribeLater(_ id: FeedID) {
        self.feeds[id]?.phase = .detached
        self.retries.append(id)
    }

    /// The answer to a subscription has come.
    mutating func subscribeNext() {
        while !self.retries.isEmpty, !self.feeds.values.contains(where: { $0.phase == .subscribing }) {
            let id = self.retries.removeFirst()
            guard let feed = self.feeds[id], case .detached = feed.phase, !feed.isPaused else { continue }
            self.subscribe(id)
        }
    }

    /// The feed of a view, when others may join it.
    func shareableFeed(ofView view: UInt32) -> FeedID? {
        self.feedOfView[view].flatMap { self.feeds[$0]?.isShareable == true ? $0 : nil }
    }

    /// Subscribers of a feed that ends join another, and begin with what it holds.
    mutating func move(_ subscribers: [SubscriberID], from id: FeedID, to other: FeedID) -> [ClientAction] {
        guard let donor = self.feeds[other]?.subscribers.first else { return [] }
        self.feeds[id] = nil
        self.feeds[other]?.subscribers += subscribers
        for subscriber in subscribers { self.feedOfSubscriber[subscriber] = other }
        return subscribers.map { .seed($0, from: donor) } + self.settle(other)
    }

    mutating func receivedDiff(_ body: ByteBuffer, view: UInt32) throws(WireError) -> [ClientAction] {
        guard let id = self.feedOfView[view], let feed = self.feeds[id] else { return [] }
        let message = try DiffBody(body: body)
        let diff: ResultsDiff
        do throws(DecodingFailure) {
            diff = try message.diff(valueCount: feed.projection.count, hasWindow: feed.request.window != nil)
        } catch {
            throw .malformed(error)
        }
        switch self.feeds[id]?.take(diff) ?? .notYet {
        case .apply(var diff):
            diff.ownRevisions = self.ownRevisions(after: diff.from, through: diff.to)
            let element = FeedElement.diff(diff, of: feed.awaitsDifference ? feed.request : nil)
            return [.deliver(element, to: feed.subscribers, byteCount: body.readableBytes)] + self.settle(id)
        case .known, .notYet: return []
        case .gap:
            let reason = "a diff from revision \(diff.from) does not fit revision \(feed.head?.revision ?? Revision(0))"
            return self.restart(id, reason: reason) + self.flush()
        }
    }

    mutating func received(_ snapshot: SnapshotMessage, view: UInt32, hasMore: Bool) throws(WireError) -> [ClientAction]
    {
        guard let id = self.feedOfView[view], let feed = self.feeds[id] else { return [] }
        self.feeds[id]?.assembler = SnapshotAssembler(snapshot, projection: feed.projection)
        self.feeds[id]?.awaitsDifference = false
        var actions: [ClientAction] = []
        if feed.head != nil {
            self.feeds[id]?.head = nil
            let reset = ResultsReset(cause: .server, message: "\(snapshot.header.reason)")
            actions.append(.deliver(.reset(reset), to: feed.subscribers, byteCount: 0))
        }
        return hasMore ? actions : actions + (try self.finishSnapshot(id))
    }

    mutating func receivedPart(
        _ body: ByteBuffer,
        isSections: Bool,
        view: UInt32,
        hasMore: Bool
    ) throws(WireError) -> [ClientAction] {
        guard let id = self.feedOfView[view], self.feeds[id]?.assembler != nil else { return [] }
        if isSections {
            try self.feeds[id]?.assembler?.add(sections: body)
        } else {
            try self.feeds[id]?.assembler?.add(rows: body)
        }
        return hasMore ? [] : try self.finishSnapshot(id)
    }

    private mutating func finishSnapshot(_ id: FeedID) throws(WireError) -> [ClientAction] {
        guard let feed = self.feeds[id], let assembler = feed.assembler, let welcome = self.welcome else { return [] }
        self.feeds[id]?.assembler = nil
        let snapshot = try assembler.finish(hasWindow: feed.request.window != nil)
        self.feeds[id]?.follow(snapshot.window)
        self.feeds[id]?.head = ResumePoint(historyID: welcome.historyID, revision: snapshot.revision)
        let header = assembler.header
        let element = FeedElement.snapshot(snapshot, header.reason, digest: header.digest, of: feed.request)
        return [.deliver(element, to: feed.subscribers, byteCount: assembler.byteCount)] + self.settle(id)
    }

    mutating func received(_ totals: Totals, view: UInt32) -> [ClientAction] {
        guard let id = self.feedOfView[view], let feed = self.feeds[id], feed.head != nil, feed.request.window != nil
        else { return [] }
        return [.deliver(.position(totals.window, totals.revision), to: feed.subscribers, byteCount: 0)]
    }

    mutating func received(_ progress: Progress) -> [ClientAction] {
        var subscribers: [SubscriberID] = []
        for id in self.feeds.keys where self.feeds[id]?.progress(progress.revision) == true {
            subscribers += self.feeds[id]?.subscribers ?? []
        }
        let changes = self.changesReached(progress.revision)
        guard !subscribers.isEmpty else { return changes }
        return [.deliver(.progress(progress.revision), to: subscribers, byteCount: 0)] + changes
    }

    mutating func endFeed(_ id: FeedID, _ error: NestError) -> [ClientAction] {
        guard let feed = self.feeds.removeValue(forKey: id) else { return self.endChangeFeed(id, error) }
        var actions = feed.change.map { self.failed($0, error) } ?? []
        guard feed.origin == nil else {
            // Its subscriber is on another feed.
            for subscriber in feed.subscribers { self.candidates[subscriber] = nil }
            return actions
        }
        if let view = feed.view { self.feedOfView[view] = nil }
        for subscriber in feed.subscribers {
            self.feedOfSubscriber[subscriber] = nil
            actions += self.dropChanges(of: subscriber, error)
        }
        return actions + [.endFeed(feed.subscribers, error)]
    }

    mutating func endAllFeeds(_ error: NestError) -> [ClientAction] {
        let all = Array(self.feeds.keys) + Array(self.changeFeeds.keys)
        return all.sorted { $0.rawValue < $1.rawValue }.flatMap { self.endFeed($0, error) }
    }
}

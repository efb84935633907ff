import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Subscriptions to results: how they start, resume and end. The view id of a frame identifies its subscription.
extension ClientStateMachine {
    /// Whether a new subscriber of a request would share a subscription.
    package func isShared(_ request: ObjectFetchRequest) -> Bool {
        self.subscriptions.values.contains { $0.request == request && $0.isShareable }
    }

    /// Adds a local subscriber. Subscribers with the same request share a subscription. A new one may begin with a
    /// state from the cache.
    package mutating func subscribe(
        _ subscriber: SubscriberID,
        to request: ObjectFetchRequest,
        cached: LoadedView? = nil
    ) -> [ClientAction] {
        if case .closed(let error) = self.phase { return [.endSubscription([subscriber], error)] }
        if let error = self.modelError(.subscribe) { return [.endSubscription([subscriber], error)] }
        if let (id, subscription) = self.subscriptions.first(where: {
            $0.value.request == request && $0.value.isShareable
        }) {
            self.subscriptions[id]?.subscribers.append(subscriber)
            self.subscriptionOfSubscriber[subscriber] = id
            return [.seed(subscriber, from: subscription.subscribers[0])]
        }
        let id = self.add(Subscription(request: request, subscriber: subscriber))
        if self.usesCache, request.outline != nil { self.subscriptions[id]?.kept = KeptOutline(request) }
        self.subscriptionOfSubscriber[subscriber] = id
        let begun = cached.map { self.begin(id, with: $0) } ?? []
        if case .ready = self.phase { self.subscribe(id) }
        return begun + self.connectIfIdle() + self.flush()
    }

    package mutating func unsubscribe(_ subscriber: SubscriberID) -> [ClientAction] {
        guard let id = self.subscriptionOfSubscriber.removeValue(forKey: subscriber) else { return [] }
        var actions = self.dropChanges(of: subscriber, Self.subscriptionEnded)
        if let subscription = self.subscriptions[id] {
            if let change = subscription.change { actions += self.failed(change, Self.subscriptionEnded) }
            actions += self.dropFolds(of: subscription, Self.subscriptionEnded)
        }
        actions += self.record(id, [])
        self.depart(subscriber, from: id)
        return actions + self.flush()
    }

    mutating func add(_ subscription: Subscription) -> SubscriptionID {
        let id = SubscriptionID(self.nextSubscriptionID)
        self.nextSubscriptionID += 1
        self.subscriptions[id] = subscription
        return id
    }

    /// Removes a subscriber from a subscription. The subscription ends with its last subscriber.
    mutating func depart(_ subscriber: SubscriberID, from id: SubscriptionID) {
        self.subscriptions[id]?.subscribers.removeAll { $0 == subscriber }
        guard let subscription = self.subscriptions[id], subscription.subscribers.isEmpty else { return }
        self.subscriptions[id] = nil
        switch subscription.phase {
        case .live(let view): self.leave(view: view)
        // The answer will contain the view to leave.
        case .changing(let view): self.subscriptionOfView[view] = nil
        case .detached, .subscribing: break
        }
    }

    /// Handles a subscriber whose state does not fit: all subscribers of the subscription restart with a snapshot.
    package mutating func restart(_ subscriber: SubscriberID, reason: String) -> [ClientAction] {
        guard let id = self.subscriptionOfSubscriber[subscriber] else { return [] }
        return self.restart(id, reason: reason) + self.flush()
    }

    mutating func restart(_ id: SubscriptionID, reason: String) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], subscription.head != nil else { return [] }
        let forgotten = self.forgetRecording(id, reason)
        self.subscriptions[id]?.confirmed()
        self.subscriptions[id]?.head = nil
        self.subscriptions[id]?.assembler = nil
        self.subscriptions[id]?.awaitsDifference = false
        if case .live(let view) = subscription.phase {
            self.leave(view: view)
            self.subscribe(id)
        }
        let reset = ResultsReset(cause: .mismatch, message: reason)
        return forgotten + [.deliver(.reset(reset), to: subscription.subscribers, byteCount: 0)]
    }

    mutating func leave(view: UInt32) {
        self.subscriptionOfView[view] = nil
        self.sendUnsubscribe(view: view)
    }

    /// Unsubscribes from a view. The server counts the subscriptions of a view; this client has one, however many
    /// subscribers share it.
    mutating func sendUnsubscribe(view: UInt32) {
        _ = self.requests.submit(OutgoingRequest(owner: .noCaller, kind: .connection, Unsubscribe(view: view)))
    }

    /// Queues the SUBSCRIBE of a subscription.
    mutating func subscribe(_ id: SubscriptionID) {
        guard let subscription = self.subscriptions[id] else { return }
        self.subscriptions[id]?.phase = .subscribing
        let resume = self.welcome?.features.contains(.resume) == true ? subscription.head : nil
        self.subscriptions[id]?.isResuming = resume != nil
        self.subscriptions[id]?.nextTotals = nil
        let request = self.outlineRequest(id) ?? subscription.request
        let message = Subscribe(request, resume: resume, atLeast: self.atLeast())
        _ = self.requests.submit(OutgoingRequest(owner: .subscription(id), kind: .connection, message))
    }

    mutating func received(_ subscribed: Subscribed, for id: SubscriptionID) -> [ClientAction] {
        let view = subscribed.view
        guard let subscription = self.subscriptions[id], case .subscribing = subscription.phase, !subscription.isPaused
        else {
            // The subscription has ended or is paused.
            if self.subscriptions[id]?.phase == .subscribing { self.subscriptions[id]?.phase = .detached }
            self.sendUnsubscribe(view: view)
            return self.flush()
        }
        if case .alreadySubscribed = subscribed.first { return self.share(view: view, subscription: id) }
        let adopted = self.adopt(id)
        if !subscription.showsCachedOutline { self.subscriptions[id]?.confirmed() }
        self.subscriptions[id]?.phase = .live(view: view)
        self.subscriptions[id]?.awaitsTotals = false
        self.subscriptions[id]?.projection = subscribed.projection
        self.subscriptionOfView[view] = id
        switch subscribed.first {
        case .snapshot:
            guard let head = subscription.head else { return adopted + self.flush() }
            self.subscriptions[id]?.head = nil
            if subscription.showsCachedOutline {
                // The queue makes the snapshot the difference to the cached rows.
                let resumed = SubscriptionElement.resumed(head.revision, awaitsDifference: true)
                return [.deliver(resumed, to: subscription.subscribers, byteCount: 0)] + self.flush()
            }
            let message = subscribed.reason.isEmpty ? "the server sends a snapshot" : subscribed.reason
            let reset = ResultsReset(cause: .server, message: message)
            return adopted + [.deliver(.reset(reset), to: subscription.subscribers, byteCount: 0)]
        case .difference:
            guard let head = subscription.head else {
                return self.dropped(id, view: view, "a difference for a subscription without a state")
            }
            let resumed = SubscriptionElement.resumed(head.revision, awaitsDifference: true)
            return [.deliver(resumed, to: subscription.subscribers, byteCount: 0)] + self.settle(id)
        case .current(let revision):
            guard subscription.head != nil else {
                return self.dropped(id, view: view, "'current' for a subscription without a state")
            }
            self.subscriptions[id]?.head?.revision = revision
            self.subscriptions[id]?.awaitsTotals = !subscription.request.totals.isEmpty
            return [.deliver(.resumed(revision), to: subscription.subscribers, byteCount: 0)] + self.record(id, [])
                + self.settle(id)
        case .alreadySubscribed:
            return []
        }
    }

    /// Handles the answer to a resume whose state was found to be wrong in the meantime: the subscription starts again.
    /// If the client named no state, the answer is wrong.
    private mutating func dropped(_ id: SubscriptionID, view: UInt32, _ fault: String) -> [ClientAction] {
        guard self.subscriptions[id]?.isResuming == true else { return self.violation(fault) }
        self.leave(view: view)
        self.subscribe(id)
        return self.flush()
    }

    /// Handles a request that is written differently but has the view of another subscription: that view's frames serve
    /// both.
    private mutating func share(view: UInt32, subscription id: SubscriptionID) -> [ClientAction] {
        self.sendUnsubscribe(view: view)
        guard let other = self.shareableSubscription(ofView: view), let subscription = self.subscriptions[id] else {
            // The other subscription has ended in the meantime, or is changing: subscribe again.
            self.subscribeLater(id)
            return self.flush()
        }
        if subscription.origin == other { return self.same(candidate: id) + self.flush() }
        var actions = self.flush() + self.adopt(id)
        if subscription.head != nil {
            let reset = ResultsReset(cause: .server, message: "another subscription has the same view")
            actions.append(.deliver(.reset(reset), to: subscription.subscribers, byteCount: 0))
        }
        return actions + self.move(subscription.subscribers, from: id, to: other) + self.flush()
    }

    /// Subscribes again, one subscription at a time: if two subscribed to the same view at once, the server would
    /// refuse each because of the other.
    mutating func subscribeLater(_ id: SubscriptionID) {
        self.subscriptions[id]?.phase = .detached
        self.retries.append(id)
    }

    /// Starts the next subscription that has to wait for its turn.
    mutating func subscribeNext() {
        while !self.retries.isEmpty, !self.subscriptions.values.contains(where: { $0.phase == .subscribing }) {
            let id = self.retries.removeFirst()
            guard let subscription = self.subscriptions[id], case .detached = subscription.phase, !subscription.isPaused
            else { continue }
            self.subscribe(id)
        }
    }

    /// Returns the subscription of a view, if other subscribers may join it.
    func shareableSubscription(ofView view: UInt32) -> SubscriptionID? {
        self.subscriptionOfView[view].flatMap { self.subscriptions[$0]?.isShareable == true ? $0 : nil }
    }

    /// Moves the subscribers of a subscription that ends to another one. They start with its state.
    mutating func move(_ subscribers: [SubscriberID], from id: SubscriptionID, to other: SubscriptionID)
        -> [ClientAction]
    {
        guard let donor = self.subscriptions[other]?.subscribers.first else { return [] }
        self.subscriptions[id] = nil
        self.subscriptions[other]?.subscribers += subscribers
        for subscriber in subscribers {
            self.subscriptionOfSubscriber[subscriber] = other
            if let candidate = self.candidates[subscriber] { self.subscriptions[candidate]?.origin = other }
        }
        return subscribers.map { .seed($0, from: donor) } + self.settle(other)
    }

    mutating func receivedDiff(_ body: ByteBuffer, view: UInt32) throws(WireError) -> [ClientAction] {
        guard let id = self.subscriptionOfView[view], let subscription = self.subscriptions[id] else { return [] }
        let message = try DiffBody(body: body)
        let diff: ResultsDiff
        do throws(DecodingFailure) {
            diff = try message.diff(
                valueCount: subscription.projection.count,
                hasWindow: subscription.request.window != nil
            )
        } catch {
            throw .malformed(error)
        }
        self.note(diff.to)
        let totals = self.subscriptions[id]?.nextTotals
        self.subscriptions[id]?.nextTotals = nil
        if let totals, totals.revision != diff.to {
            throw .malformed(DecodingFailure(.invalidValue, "totals of a diff"))
        }
        let isAnswer = subscription.awaitsDifference || diff.from == diff.to
        switch self.subscriptions[id]?.take(diff) ?? .notYet {
        case .apply(var diff):
            diff.totals = totals
            self.subscriptions[id]?.awaitsTotals = false
            diff.ownRevisions = self.ownRevisions(after: diff.from, through: diff.to)
            diff.authors = self.authors.filter { $0.revision > diff.from && $0.revision <= diff.to }
            let element = SubscriptionElement.diff(diff, of: isAnswer ? subscription.request : nil)
            var frames: [CachedFrame] = []
            if subscription.recording != nil {
                if let totals { frames.append(CachedFrame(ResultTotalsMessage(totals, isBeforeRows: true))) }
                frames.append(CachedFrame(message))
            }
            return [.deliver(element, to: subscription.subscribers, byteCount: body.readableBytes)]
                + self.record(id, diff, frames) + self.settle(id)
        case .known, .notYet: return []
        case .gap:
            let reason =
                "a diff from revision \(diff.from) does not fit revision \(subscription.head?.revision ?? Revision(0))"
            return self.restart(id, reason: reason) + self.flush()
        }
    }

    mutating func received(
        _ snapshot: SnapshotMessage,
        _ body: ByteBuffer,
        view: UInt32,
        hasMore: Bool
    ) throws(WireError) -> [ClientAction] {
        guard let id = self.subscriptionOfView[view], let subscription = self.subscriptions[id] else { return [] }
        self.subscriptions[id]?.assembler = SnapshotAssembler(
            snapshot,
            projection: subscription.projection,
            totals: subscription.nextTotals
        )
        self.beginRecording(id, body, totals: subscription.nextTotals)
        self.subscriptions[id]?.awaitsTotals = false
        self.subscriptions[id]?.nextTotals = nil
        self.subscriptions[id]?.awaitsDifference = false
        var actions: [ClientAction] = []
        if subscription.head != nil {
            self.subscriptions[id]?.head = nil
            let reset = ResultsReset(cause: .server, message: "\(snapshot.header.reason)")
            actions.append(.deliver(.reset(reset), to: subscription.subscribers, byteCount: 0))
        }
        return hasMore ? actions : actions + (try self.finishSnapshot(id))
    }

    mutating func receivedPart(
        _ body: ByteBuffer,
        isSections: Bool,
        view: UInt32,
        hasMore: Bool
    ) throws(WireError) -> [ClientAction] {
        guard let id = self.subscriptionOfView[view], self.subscriptions[id]?.assembler != nil else { return [] }
        if isSections {
            try self.subscriptions[id]?.assembler?.add(sections: body)
        } else {
            try self.subscriptions[id]?.assembler?.add(rows: body)
        }
        self.recordPart(id, isSections ? .snapshotSections : .snapshotRows, body)
        return hasMore ? [] : try self.finishSnapshot(id)
    }

    private mutating func finishSnapshot(_ id: SubscriptionID) throws(WireError) -> [ClientAction] {
        guard let subscription = self.subscriptions[id], let assembler = subscription.assembler,
            let welcome = self.welcome
        else { return [] }
        self.subscriptions[id]?.assembler = nil
        let snapshot = try assembler.finish(hasWindow: subscription.request.window != nil)
        self.subscriptions[id]?.follow(snapshot.window)
        self.subscriptions[id]?.head = ResumePoint(historyID: welcome.historyID, revision: snapshot.revision)
        self.subscriptions[id]?.confirmed()
        self.subscriptions[id]?.kept?.show(snapshot)
        let header = assembler.header
        let element = SubscriptionElement.snapshot(
            snapshot,
            header.reason,
            digest: header.digest,
            of: subscription.request
        )
        return [.deliver(element, to: subscription.subscribers, byteCount: assembler.byteCount)]
            + self.finishRecording(id, digest: header.digest) + self.settle(id)
    }

    mutating func received(_ totals: Totals, view: UInt32) -> [ClientAction] {
        guard let id = self.subscriptionOfView[view], let subscription = self.subscriptions[id],
            subscription.head != nil, subscription.request.window != nil
        else { return [] }
        self.note(totals.revision)
        self.subscriptions[id]?.follow(totals.window)
        self.subscriptions[id]?.kept?.move(to: totals.window)
        return [.deliver(.position(totals.window, totals.revision), to: subscription.subscribers, byteCount: 0)]
            + (subscription.recording == nil ? [] : self.record(id, [CachedFrame(totals)]))
    }

    /// Handles totals: of the next diff or snapshot of the view or request, or of the state that the client holds.
    mutating func received(_ message: ResultTotalsMessage, _ frame: Frame) throws(WireError) -> [ClientAction] {
        guard frame.id >= Limits.viewIDMin else {
            self.requests[frame.id]?.totals = message.totals
            return []
        }
        guard let id = self.subscriptionOfView[frame.id], let subscription = self.subscriptions[id] else { return [] }
        guard message.totals.values.count == subscription.request.totals.count else {
            throw .malformed(DecodingFailure(.invalidValue, "totals"))
        }
        self.note(message.totals.revision)
        guard !message.isBeforeRows else {
            self.subscriptions[id]?.nextTotals = message.totals
            return []
        }
        guard let head = subscription.head, head.revision <= message.totals.revision else { return [] }
        self.subscriptions[id]?.head?.revision = message.totals.revision
        self.subscriptions[id]?.awaitsTotals = false
        let bytes = frame.body.readableBytes
        return [.deliver(.totals(message.totals), to: subscription.subscribers, byteCount: bytes)]
            + (subscription.recording == nil ? [] : self.record(id, [CachedFrame(message)]))
    }

    mutating func received(_ progress: Progress) -> [ClientAction] {
        self.note(progress.revision)
        var subscribers: [SubscriberID] = []
        var changes: [ClientAction] = []
        for id in self.subscriptions.keys where self.subscriptions[id]?.progress(progress.revision) == true {
            subscribers += self.subscriptions[id]?.subscribers ?? []
            changes += self.recordProgress(id)
        }
        changes += self.changesReached(progress.revision)
        guard !subscribers.isEmpty else { return changes }
        return [.deliver(.progress(progress.revision), to: subscribers, byteCount: 0)] + changes
    }

    mutating func endSubscription(_ id: SubscriptionID, _ error: NestError) -> [ClientAction] {
        var actions = self.record(id, [])
        guard let subscription = self.subscriptions.removeValue(forKey: id) else {
            return self.endChangeFeed(id, error)
        }
        actions += subscription.change.map { self.failed($0, error) } ?? []
        actions += self.dropFolds(of: subscription, error)
        guard subscription.origin == nil else {
            // The subscriber has another subscription.
            for subscriber in subscription.subscribers { self.candidates[subscriber] = nil }
            return actions
        }
        if let view = subscription.view { self.subscriptionOfView[view] = nil }
        for subscriber in subscription.subscribers {
            self.subscriptionOfSubscriber[subscriber] = nil
            actions += self.dropChanges(of: subscriber, error)
        }
        return actions + [.endSubscription(subscription.subscribers, error)]
    }

    mutating func endAllSubscriptions(_ error: NestError) -> [ClientAction] {
        let all = Array(self.subscriptions.keys) + Array(self.changeFeeds.keys)
        return all.sorted { $0.rawValue < $1.rawValue }.flatMap { self.endSubscription($0, error) }
    }
}

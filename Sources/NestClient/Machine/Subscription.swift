import NestModel

/// Names a subscription of this client, over all connections.
package struct SubscriptionID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// Names one subscriber of this client.
package struct SubscriberID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// One fetch request that the server keeps this client informed about, for one or more local subscribers.
///
///     detached ──connected──▶ subscribing ──SUBSCRIBED──▶ live ──RESUBSCRIBE──▶ changing ──answer──▶ live
///        ▲                                                 │                        │
///        └───────────── connection lost, or paused ────────┴────────────────────────┘
///
/// All its subscribers hold the same state at its head (counting what waits in their queues), so they share frames.
package struct Subscription: Sendable {
    package enum Phase: Equatable, Sendable {
        case detached
        case subscribing
        case live(view: UInt32)
        /// A change is under way; until it is answered the frames are of this view.
        case changing(view: UInt32)
    }

    /// As it would be asked for now: a window around an object names the one that it follows.
    package private(set) var request: ObjectFetchRequest
    package var subscribers: [SubscriberID]
    package var phase = Phase.detached
    /// The state that the subscribers reach with what they were given; `nil` before the first snapshot.
    package var head: ResumePoint?
    package var projection: [PropertyNumber] = []
    package var assembler: SnapshotAssembler?
    /// The change that is under way.
    package var change: SubscriptionChange?
    /// The request has changed, and the difference from the state held has not come yet.
    package var awaitsDifference = false
    /// Its only subscriber wants nothing for now.
    package var isPaused = false
    /// The subscription that its subscriber is on until the server has accepted this one; `nil` for all but such a candidate.
    package var origin: SubscriptionID?

    package init(request: ObjectFetchRequest, subscriber: SubscriberID) {
        self.request = request
        self.subscribers = [subscriber]
    }

    /// Its view's id at the server.
    package var view: UInt32? {
        switch self.phase {
        case .live(let view), .changing(let view): view
        case .detached, .subscribing: nil
        }
    }

    /// It has a state, and nothing is under way that would replace it: a change may be asked for.
    package var isSettled: Bool {
        guard case .live = self.phase else { return false }
        return self.head != nil && self.assembler == nil && !self.awaitsDifference
    }

    /// Whether others may join: it will go on with the request that it has now.
    package var isShareable: Bool {
        self.origin == nil && self.change == nil && !self.awaitsDifference && !self.isPaused
    }

    package enum DiffVerdict: Equatable, Sendable {
        /// It leads from the head on; the diff as the subscribers get it, from the revision they hold.
        case apply(ResultsDiff)
        /// It ends at or before the head.
        case known
        /// It begins after the head: something is missing.
        case gap
        /// A snapshot is awaited, which will contain it.
        case notYet
    }

    /// Judges a diff by `from <= head < to`, and moves the head when it fits. The one that answers a change is from a revision
    /// to the same one, and no other is.
    package mutating func take(_ diff: ResultsDiff) -> DiffVerdict {
        guard let head = self.head else { return .notYet }
        if self.awaitsDifference {
            guard diff.from == diff.to, head.revision <= diff.to else { return .gap }
            self.awaitsDifference = false
        } else {
            guard diff.from < diff.to else { return .gap }
            guard diff.to > head.revision else { return .known }
            guard diff.from <= head.revision else { return .gap }
        }
        var diff = diff
        diff.from = head.revision
        self.head?.revision = diff.to
        self.follow(diff.window)
        return .apply(diff)
    }

    /// Takes where a window is: around another object, when the one before has left.
    package mutating func follow(_ window: WindowPosition?) {
        if let anchor = window?.anchor, case .around(_, let before, let after)? = self.request.window {
            self.request.window = .around(anchor, before: before, after: after)
        }
    }

    /// The server has accepted another request.
    package mutating func become(_ request: ObjectFetchRequest) {
        self.request = request
    }

    /// A progress mark: a state that is held is exact there too. `true` when that is news.
    package mutating func progress(_ revision: Revision) -> Bool {
        guard self.view != nil, let head = self.head, head.revision < revision else { return false }
        self.head?.revision = revision
        return true
    }
}

/// What a subscriber wants instead of what it has.
package struct SubscriptionChange: Equatable, Sendable {
    package var subscriber: SubscriberID
    package var request: ObjectFetchRequest
    /// The caller who waits for it; `nil` when nobody does any more.
    package var token: RequestToken?
}

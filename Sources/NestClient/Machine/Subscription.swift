import NestModel

/// Identifies a subscription of this client, across all connections.
package struct SubscriptionID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// Identifies a subscriber of this client.
package struct SubscriberID: Hashable, Sendable {
    package let rawValue: UInt64

    package init(_ rawValue: UInt64) {
        self.rawValue = rawValue
    }
}

/// A fetch request whose result the server keeps up to date for one or more local subscribers.
///
///     detached ──connected──▶ subscribing ──SUBSCRIBED──▶ live ──RESUBSCRIBE──▶ changing ──answer──▶ live
///        ▲                                                 │                        │
///        └───────────── connection lost, or paused ────────┴────────────────────────┘
///
/// All its subscribers hold the same state at its head, including the elements in their queues, so they share frames.
package struct Subscription: Sendable {
    package enum Phase: Equatable, Sendable {
        case detached
        case subscribing
        case live(view: UInt32)
        /// A change is under way. Until it is answered, frames have this view.
        case changing(view: UInt32)
    }

    /// The current request. A window around an object names the object that it follows now.
    package private(set) var request: ObjectFetchRequest
    /// The request as the subscriber wrote it, with the object that its window began around.
    private(set) var original: ObjectFetchRequest
    package var subscribers: [SubscriberID]
    package var phase = Phase.detached
    /// The state that the subscribers reach by the delivered elements; `nil` before the first snapshot.
    package var head: ResumePoint?
    /// Whether the last SUBSCRIBE named the head of that time.
    var isResuming = false
    package var projection: [PropertyNumber] = []
    package var assembler: SnapshotAssembler?
    /// Whether the state is from the cache, and no server has confirmed it.
    private(set) var isFromCache = false
    /// The cached view that gets the changes of the state.
    var recording: CacheRecording?
    /// The frames of the snapshot that is arriving, for the cache.
    var snapshotFrames: [CachedFrame] = []
    /// Whether the totals of the state are older than its head: the server has confirmed its rows, and totals follow.
    var awaitsTotals = false
    /// The totals of the next diff or snapshot.
    var nextTotals: TotalsUpdate?
    /// The change that is under way.
    package var change: SubscriptionChange?
    /// Whether the request has changed and the difference to the new result has not arrived.
    package var awaitsDifference = false
    /// Whether its only subscriber has paused it.
    package var isPaused = false
    /// The subscription that the subscriber has until the server accepts this one. `nil`, except for such a candidate.
    package var origin: SubscriptionID?
    /// The row of the whole result with which the window began last.
    package private(set) var start: Int?
    /// The fold states of an outline; `nil`: it is no outline.
    package var folds: OutlineFolds?
    /// What the cache keeps of an outline; `nil`: it is no outline, or there is no cache.
    var kept: KeptOutline?
    /// The fold states that were not sent, and those that were sent in one request.
    package var waitingFolds: [PendingFolds] = []
    package var foldsUnderWay: [PendingFolds]?

    package init(request: ObjectFetchRequest, subscriber: SubscriberID) {
        self.request = request
        self.original = request
        self.folds = request.outline.map(OutlineFolds.init)
        self.subscribers = [subscriber]
    }

    /// The server's id of its view.
    package var view: UInt32? {
        switch self.phase {
        case .live(let view), .changing(let view): view
        case .detached, .subscribing: nil
        }
    }

    /// The window by rows that shows what a window around an object showed last; `nil`: it is by rows already.
    var windowWithoutAnchor: FetchWindow? {
        guard let start, let window = self.request.window, window.isAround else { return nil }
        return .range(offset: start, limit: window.rowCountMax)
    }

    /// Whether it has a state, and nothing is under way that would replace the state. If so, a change may be requested.
    package var isSettled: Bool {
        guard case .live = self.phase else { return false }
        return self.head != nil && self.assembler == nil && !self.awaitsDifference
    }

    /// Whether other subscribers may join: its request is not changing. An outline has its subscriber's fold states.
    package var isShareable: Bool {
        self.folds == nil && self.origin == nil && self.change == nil && !self.awaitsDifference && !self.isPaused
    }

    package enum DiffVerdict: Equatable, Sendable {
        /// The diff follows the head. This is the diff for the subscribers, from the revision that they hold.
        case apply(ResultsDiff)
        /// The diff ends at or before the head.
        case known
        /// The diff starts after the head: some diff is missing.
        case gap
        /// The diff will be part of a snapshot that has not arrived yet.
        case notYet
    }

    /// Checks a diff by `from <= head < to`, and moves the head if it fits. The diff that answers a change leads from a
    /// revision to the same revision; no other diff does, except in outlines, where it may also show other fold states.
    package mutating func take(_ diff: ResultsDiff) -> DiffVerdict {
        guard let head = self.head else { return .notYet }
        if self.awaitsDifference || self.folds != nil && diff.from == diff.to {
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

    /// Follows a window's anchor: another object becomes the anchor when the previous one leaves the result.
    package mutating func follow(_ window: WindowPosition?) {
        if let window { self.start = window.start.row }
        if let anchor = window?.anchor, case .around(_, let before, let after)? = self.request.window {
            self.request.window = .around(anchor, before: before, after: after)
        }
    }

    /// Sets the request that the server has accepted. `replacesFolds`: its fold states replace those of an outline.
    package mutating func become(_ request: ObjectFetchRequest, replacesFolds: Bool = false) {
        self.request = request
        self.original = request
        if self.kept == nil { self.recording = nil }
        if self.kept?.isOf(request) == false { self.kept?.isAway = true }
        if replacesFolds { self.folds = request.outline.map(OutlineFolds.init) }
    }

    /// Begins with a state from the cache.
    mutating func begin(with cached: LoadedView) {
        self.request = cached.request
        self.projection = cached.state.projection
        self.head = ResumePoint(historyID: cached.recording.historyID, revision: cached.state.revision)
        self.start = cached.state.window?.start.row
        self.recording = cached.recording
        self.isFromCache = true
        if let folds = cached.folds {
            self.folds = folds.last
            self.kept?.show(cached.state)
        }
    }

    /// Forgets the state from the cache.
    mutating func forgetCached() {
        self.isFromCache = false
        self.head = nil
        self.request = self.original
        self.recording = nil
        self.folds = self.original.outline.map(OutlineFolds.init)
        self.kept?.show(nil)
    }

    /// The server has confirmed or replaced the state from the cache.
    mutating func confirmed() { self.isFromCache = false }

    /// Says whether the waiting fold states come after the waiting edit.
    mutating func setFolds(waitForEdit waits: Bool) {
        for index in self.waitingFolds.indices { self.waitingFolds[index].waitsForEdit = waits }
    }

    /// Handles a progress mark: the held state is exact at this revision too. Returns whether the head has moved.
    package mutating func progress(_ revision: Revision) -> Bool {
        guard self.view != nil, let head = self.head, head.revision < revision else { return false }
        self.head?.revision = revision
        return true
    }
}

/// A change of a subscriber's request.
package struct SubscriptionChange: Equatable, Sendable {
    package var subscriber: SubscriberID
    package var request: ObjectFetchRequest
    /// The waiting caller; `nil` if it no longer waits.
    package var token: RequestToken?
    /// The edits of an outline that lead to the request, oldest first. Until they are sent, `request` is not theirs.
    package var edits: [PendingEdit] = []
    /// Whether the edits are sent one by one, because the server has refused them together.
    package var isSplit = false
}

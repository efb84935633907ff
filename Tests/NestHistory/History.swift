import NestModel

/// What the clients of one run asked for and what they were told, client by client in the order they saw it: all of it, or
/// a piece, which ends at a moment when nothing is in flight.
///
/// The store is one of the nested list, new when the run begins. Nothing else writes to it. Sessions begin and end within a
/// piece; a subscription or follower that was complete at the end of one goes on in the next, under the same name.
public struct History: Sendable {
    /// Every write that was tried.
    public var writes: [Write] = []
    public var fetches: [Fetched] = []
    public var subscriptions: [SubscriptionRecord] = []
    public var followers: [FollowerRecord] = []
    /// All changes since the piece before, read after the last crash by a client that saw nothing before.
    public var audit: [ChangeSetPart] = []

    public init() {}
}

/// A write and the answers to all attempts, which have the same idempotency key.
public struct Write: Sendable {
    public enum Answer: Hashable, Sendable {
        case receipt(Receipt)
        /// Not executed, said the server or the client.
        case refused(ErrorCode)
        /// It may have been executed.
        case unknown
    }

    /// The name of the transaction: no two writes have the same. Undo and redo have none in the store.
    public var name: String
    /// None of an undo or a redo.
    public var mutations: [Mutation]
    /// Whether it takes back, or does again, what its session did.
    public var kind = HistoryEntry.Kind.write
    public var answers: [Answer] = []
    /// Where the subscriptions of its connection were when a receipt had come.
    public var sights: [Sight] = []

    public init(name: String, mutations: [Mutation], kind: HistoryEntry.Kind = .write) {
        self.name = name
        self.mutations = mutations
        self.kind = kind
    }
}

/// A subscription, seen by its own client at the moment when a receipt came.
public struct Sight: Hashable, Sendable {
    public var subscription: String
    /// Of the receipt.
    public var receipt: Revision
    /// That everything which had arrived leads to.
    public var arrived: Revision

    public init(subscription: String, receipt: Revision, arrived: Revision) {
        self.subscription = subscription
        self.receipt = receipt
        self.arrived = arrived
    }
}

/// The answer to a fetch.
public struct Fetched: Sendable {
    public var client: String
    public var query: WatchedQuery
    public var atLeast: Revision
    public var state: SectionedSnapshot

    public init(client: String, query: WatchedQuery, atLeast: Revision, state: SectionedSnapshot) {
        self.client = client
        self.query = query
        self.atLeast = atLeast
        self.state = state
    }
}

/// A subscription from its begin to its end, over all its connections; or what of it is in one piece.
public struct SubscriptionRecord: Sendable {
    public enum Event: Hashable, Sendable {
        case snapshot(SectionedSnapshot)
        case diff(ResultsDiff)
        case progress(Revision)
        /// A window shows what it did, and is somewhere else.
        case position(WindowPosition)
        /// From here on it is of another query: what comes next leads there from what is held.
        case changed(WatchedQuery)
        /// A snapshot follows; `isMismatch`: because what was received did not fit what was held.
        case reset(isMismatch: Bool, String)
        case disconnected
        case resumed(Revision)
    }

    public var name: String
    public var query: WatchedQuery
    public var events: [Event] = []
    /// It was there until nothing more happened, or nothing more in this piece.
    public var isComplete = false

    public init(name: String, query: WatchedQuery) {
        self.name = name
        self.query = query
    }

    /// All that it has been of.
    var queries: [WatchedQuery] {
        [self.query] + self.events.compactMap { if case .changed(let query) = $0 { query } else { nil } }
    }
}

/// Who followed the changes of the store, from the begin of one subscription to its end.
public struct FollowerRecord: Sendable {
    public enum Event: Hashable, Sendable {
        case following(ResumePoint)
        case changes(ChangeSetPart)
        case progress(Revision)
        case disconnected
        case resumed(Revision)
    }

    public var name: String
    /// Where it asked to begin.
    public var since: ResumePoint?
    public var events: [Event] = []
    /// It was there until nothing more happened, or nothing more in this piece.
    public var isComplete = false

    public init(name: String, since: ResumePoint?) {
        self.name = name
        self.since = since
    }
}

import NestModel

/// The requests of the clients of a run and the replies and events that they received, per client in the order of
/// arrival. A history is a whole run or a piece that ends when nothing is in flight.
///
/// The store has the nested list model, is new when the run begins, and has no other writers. Sessions begin and end
/// within a piece. A subscription or follower that is complete at the end of a piece continues in the next under the
/// same name.
public struct History: Sendable {
    /// Every attempted write.
    public var writes: [Write] = []
    public var fetches: [Fetched] = []
    public var subscriptions: [SubscriptionRecord] = []
    public var followers: [FollowerRecord] = []
    public var clients: [ClientRecord] = []
    /// All changes since the previous piece, read after the last crash by a new client.
    public var audit: [ChangeSetPart] = []

    public init() {}
}

/// A write and the outcomes of all attempts, which have the same idempotency key.
public struct Write: Sendable {
    public enum Answer: Hashable, Sendable {
        case receipt(Receipt)
        /// The server or the client reported that the write was not executed.
        case refused(ErrorCode)
        /// The write may have been executed.
        case unknown
    }

    /// The unique name of the transaction. The store does not hold the names of undo and redo requests.
    public var name: String
    /// The mutations; empty for an undo or redo.
    public var mutations: [Mutation]
    /// Whether this is a write, an undo or a redo of its session.
    public var kind = HistoryEntry.Kind.write
    public var answers: [Answer] = []
    /// The states of the connection's subscriptions when a receipt arrived.
    public var observations: [ReceiptObservation] = []

    public init(name: String, mutations: [Mutation], kind: HistoryEntry.Kind = .write) {
        self.name = name
        self.mutations = mutations
        self.kind = kind
    }
}

/// The revision of a subscription when its client received a receipt.
public struct ReceiptObservation: Hashable, Sendable {
    public var subscription: String
    /// The revision of the receipt.
    public var receipt: Revision
    /// The revision after all events that had arrived.
    public var arrived: Revision

    public init(subscription: String, receipt: Revision, arrived: Revision) {
        self.subscription = subscription
        self.receipt = receipt
        self.arrived = arrived
    }
}

/// The reply to a fetch.
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

/// The events of a subscription over all its connections, or those in one piece.
public struct SubscriptionRecord: Sendable {
    public enum Event: Hashable, Sendable {
        case snapshot(SectionedSnapshot)
        case diff(ResultsDiff)
        case progress(Revision)
        /// A window has the same rows and another position.
        case position(WindowPosition)
        /// The query changed. The next event leads from the held state to the new query's state.
        case changed(WatchedQuery)
        /// The user asks for other fold states of an outline. From now on states may have them, or not yet; those of a
        /// query with this `foldNumber` or a later one do.
        case folding(Int, [ExpandedState])
        /// A snapshot follows. `isMismatch`: because a received diff did not apply to the held state.
        case reset(isMismatch: Bool, String)
        case disconnected
        case resumed(Revision)
    }

    public var name: String
    public var query: WatchedQuery
    public var events: [Event] = []
    /// Whether the record reached the end of the run or piece.
    public var isComplete = false

    public init(name: String, query: WatchedQuery) {
        self.name = name
        self.query = query
    }
}

/// The events of one subscription to all changes of the store.
public struct FollowerRecord: Sendable {
    public enum Event: Hashable, Sendable {
        case following(ResumePoint)
        case changes(ChangeSetPart)
        case progress(Revision)
        case disconnected
        case resumed(Revision)
    }

    public var name: String
    /// The requested start.
    public var since: ResumePoint?
    public var events: [Event] = []
    /// Whether the record reached the end of the run or piece.
    public var isComplete = false

    public init(name: String, since: ResumePoint?) {
        self.name = name
        self.since = since
    }
}

import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Makes all decisions of a client: what to send, which callers and subscribers to notify, when to reconnect. It uses
/// no socket, no task and no clock.
///
///     idle ──connect──▶ connecting ──opened──▶ handshaking ──WELCOME──▶ ready ──GOAWAY──▶ leaving
///      ▲                    ▲  │ failed             │ closed              │ closed         │ closed
///      └── all failed ──────┼──┴──▶ backingOff ◀────┴─────────────────────┴────────────────┘
///                           └────────────┘
///     any ──close, or a permanent error──▶ closed
///     handshaking ──WELCOME of a server with another model──▶ comparing ──MODEL──▶ ready
package struct ClientStateMachine: Sendable {
    package enum Phase: Equatable, Sendable {
        case idle
        case connecting
        case handshaking
        /// The server, which sent this WELCOME, has another model than the last one. The client has asked for it.
        case comparing(Welcome)
        case ready
        /// The server will close the connection soon. The client sends no new requests.
        case leaving(retryAfterMilliseconds: Int)
        case backingOff
        case closed(NestError)
    }

    package internal(set) var phase = Phase.idle
    /// WELCOME of the current or last connection.
    package internal(set) var welcome: Welcome?

    var hello: Hello
    /// `nil`: the session is not kept.
    var keptSession: KeptSessionUse?
    /// Whether the connection ends so that the next one has another session.
    var isChangingSession = false
    /// Whether the client goes to the leader when another node refuses a request.
    let followsLeader: Bool
    /// Whether states of subscriptions are kept in a cache.
    let usesCache: Bool
    /// See `CachedView.identity`.
    let cacheIdentity: UInt64
    package internal(set) var route: Route
    /// The name of the store that the servers must have; `nil`: any.
    let store: String?
    /// The failed attempts since a node was ready, of this round.
    var faults: [AttemptFault] = []
    /// Why no address could be used in the last whole round, since a node was ready.
    var roundFault: NestError?
    /// Whether this server would refuse another attempt in the same way.
    var isRefusedForGood = false
    /// The newest state that the client knows of.
    var seen: ResumePoint?
    /// The nodes that were left because they had not reached a revision, since the last answer to a read.
    var lateNodes = 0
    /// The subscriptions that this node has not reached the revision for. They subscribe again after a pause.
    var late: [SubscriptionID] = []
    var isPausingLate = false
    var latePauses = Backoff(millisecondsMax: Limits.leaderPauseMillisecondsMax)
    var search: LeaderSearch?
    var leaderFault: LeaderFault?
    /// The address to connect to as soon as the connection is closed.
    var moving: ServerAddress?
    /// The model of the current or last connection, if it was read.
    var readModel: KnownModel?
    /// Whether the server's model has changed since WELCOME.
    var hasModelGrown = false
    /// The hash of the model that requests and subscriptions are made for; `nil` before the first connection.
    var knownModelHash: UInt64?
    var requests = RequestTable()
    var subscriptions: [SubscriptionID: Subscription] = [:]
    var changeFeeds: [SubscriptionID: ChangeFeed] = [:]
    /// The revisions of this connection's writes that some subscription has not reached; ascending.
    var ownRevisions: [Revision] = []
    /// The authors that the server named last, for the diffs that follow.
    var authors: [RevisionAuthor] = []
    var nextSubscriptionID: UInt64 = 1
    var subscriptionOfSubscriber: [SubscriberID: SubscriptionID] = [:]
    var subscriptionOfView: [UInt32: SubscriptionID] = [:]
    /// Subscriptions whose view the connection already had, through a subscription that is ending. They subscribe again
    /// one after the other.
    var retries: [SubscriptionID] = []
    /// The changes of subscribers that were not requested yet, the newest of each subscriber.
    var waitingChanges: [SubscriberID: SubscriptionChange] = [:]
    /// New subscriptions that become the subscribers' own when the server accepts them.
    var candidates: [SubscriberID: SubscriptionID] = [:]
    var group = GroupPhase.none
    /// Whether the session's undo state has followers.
    var followsUndoState = false
    /// The state that was last delivered to the followers.
    var undoState: UndoState?
    /// The history of that state, if it is from the cache and no server has confirmed it.
    var cachedUndoHistory: Identifier128?
    /// The undo state that the cache has.
    var recordedUndoState: CachedView?
    var presences: [ObjectID: PresenceScope] = [:]
    /// The number by which others see this client; 0: the server has not said it.
    var presenceNumber: UInt64 = 0
    var pings: [UInt64: RequestToken] = [:]
    var nextPing: UInt64 = 1
    var backoff: Backoff
    var keepAlive: KeepAlive?
    var random: SeededSource
    /// Whether a handshake was ever completed. From then on, the client reconnects after a lost connection.
    var hasBeenReady = false
    var readySince: NIODeadline?
    /// The time by which keys of writes become too old, which goes on while the computer sleeps.
    package var instant: @Sendable () -> ContinuousClock.Instant = { .now }
    /// Why the connection is about to close, from the server or from this client.
    var closeReason: NestError?
    /// The number of bytes in the subscribers' queues.
    var queuedByteCount = 0

    package init(
        hello: Hello,
        seed: UInt64,
        backoff: Backoff = Backoff(),
        homes: [ServerAddress] = [ServerAddress()],
        store: String? = nil,
        followsLeader: Bool = true,
        usesCache: Bool = false
    ) {
        self.hello = hello
        self.random = SeededSource(state: seed)
        self.route = Route(homes: homes, using: &self.random)
        self.store = store
        self.followsLeader = followsLeader
        self.usesCache = usesCache
        self.cacheIdentity = Self.cacheIdentity(token: hello.token, store: store)
        self.backoff = backoff
    }

    /// The generator of the jitter and of the order of addresses. The owner provides the seed, so that a run can be
    /// repeated.
    struct SeededSource: RandomNumberGenerator, Sendable {
        var state: UInt64

        mutating func next() -> UInt64 {
            self.state &+= 0x9e37_79b9_7f4a_7c15
            var z = self.state
            z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
            z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
            return z ^ (z >> 31)
        }
    }

    /// Whether to read from the socket. The client stops while the subscribers' queues are too large. If an answer is
    /// pending, it reads up to the hard limit, because a subscriber may be waiting for the answer.
    package var wantsToRead: Bool {
        if self.queuedByteCount < Limits.clientQueueBytesMax { return true }
        var isAnswerDue = self.requests.inFlightCount > 0 || !self.pings.isEmpty
        if case .comparing = self.phase { isAnswerDue = true }
        return isAnswerDue && self.queuedByteCount < Limits.clientQueueBytesHardMax
    }

    /// Updates the size of the subscribers' queues.
    package mutating func queuesChanged(by byteCount: Int) {
        self.queuedByteCount += byteCount
    }

    func frame(_ message: some Message, id: UInt32 = 0) -> ClientAction {
        .send(message.frame(id: id))
    }
}

import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Decides everything a client does: what it sends, whom it tells, when it connects again. Knows no socket, no task
/// and no clock.
///
///     idle ──connect──▶ connecting ──opened──▶ handshaking ──WELCOME──▶ ready ──GOAWAY──▶ leaving
///      ▲                    ▲  │ failed             │ closed              │ closed         │ closed
///      └── first failure ───┼──┴──▶ backingOff ◀────┴─────────────────────┴────────────────┘
///                           └────────────┘
///     any ──close, or an error that will not pass──▶ closed
package struct ClientStateMachine: Sendable {
    package enum Phase: Equatable, Sendable {
        case idle
        case connecting
        case handshaking
        case ready
        /// The server closes soon; nothing new is sent to it.
        case leaving(retryAfterMilliseconds: Int)
        case backingOff
        case closed(NestError)
    }

    package internal(set) var phase = Phase.idle
    /// What the server of this or the last connection said of itself.
    package internal(set) var welcome: Welcome?

    let hello: Hello
    /// The model of the current or last connection, when it was asked for.
    var readModel: KnownModel?
    /// The model that requests and subscriptions are made for; `nil` before the first connection.
    var knownModelHash: UInt64?
    var requests = RequestTable()
    var subscriptions: [SubscriptionID: Subscription] = [:]
    var changeFeeds: [SubscriptionID: ChangeFeed] = [:]
    /// Revisions that this connection's writes became and some subscription has not reached; ascending.
    var ownRevisions: [Revision] = []
    var nextSubscriptionID: UInt64 = 1
    var subscriptionOfSubscriber: [SubscriberID: SubscriptionID] = [:]
    var subscriptionOfView: [UInt32: SubscriptionID] = [:]
    /// Subscriptions whose view the connection had already, by a subscription that ends: asked for again one after the other.
    var retries: [SubscriptionID] = []
    /// What subscribers want and was not asked for yet: the newest of each.
    var waitingChanges: [SubscriberID: SubscriptionChange] = [:]
    /// Subscriptions that subscribers will go to when the server accepts them.
    var candidates: [SubscriberID: SubscriptionID] = [:]
    var group = GroupPhase.none
    /// Somebody wants to be told of the session's undo state.
    var followsUndoState = false
    /// What they were told last.
    var undoState: UndoState?
    var pings: [UInt64: RequestToken] = [:]
    var nextPing: UInt64 = 1
    var backoff: Backoff
    var keepAlive: KeepAlive?
    var random: SeededSource
    /// Set when a handshake has been completed once: from then on a lost connection is made again.
    var hasBeenReady = false
    var readySince: NIODeadline?
    /// Why the connection is about to close, as the server or this side said.
    var closeReason: NestError?
    /// Bytes of subscribers' queues.
    var queuedByteCount = 0

    package init(hello: Hello, seed: UInt64, backoff: Backoff = Backoff()) {
        self.hello = hello
        self.backoff = backoff
        self.random = SeededSource(state: seed)
    }

    /// The generator behind the jitter, seeded by the owner so that a run can be repeated.
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

    /// Whether the socket is to be read: not while subscribers have too much to take. An answer that is due is read
    /// for, up to the hard limit, since the subscriber may be waiting for it.
    package var wantsToRead: Bool {
        if self.queuedByteCount < Limits.clientQueueBytesMax { return true }
        let isAnswerDue = self.requests.inFlightCount > 0 || !self.pings.isEmpty
        return isAnswerDue && self.queuedByteCount < Limits.clientQueueBytesHardMax
    }

    /// Subscribers' queues have grown or shrunk.
    package mutating func queuesChanged(by byteCount: Int) {
        self.queuedByteCount += byteCount
    }

    func frame(_ message: some Message, id: UInt32 = 0) -> ClientAction {
        .send(message.frame(id: id))
    }
}

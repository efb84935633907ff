import DequeModule
import NestModel
import NestSchema

/// What the engine keeps of a connection while it lasts.
package final class EngineConnection {
    package let id: ConnectionID
    /// Notes every change that a standby must know of.
    private let changed: ChangedConnections
    let session: UInt64
    let scope: AuthorisationScope
    /// The client understands compressed frames.
    let takesCompressed: Bool
    /// The token that it authenticated with.
    let token: UInt64?
    let subscriptionsMax: Int
    var views: Set<UInt32> = []
    /// Its subscriptions to changes, ascending by id.
    var changeSubscriptions: [ChangeSubscription] = []
    /// Backpressure: its subscriptions lag, and replies to its writes wait for their net diffs.
    package var isBlocked = false { didSet { self.changed.note(self.id) } }
    /// Views that it lags behind in although it drains.
    package var laggingViews: Set<UInt32> = [] { didSet { self.changed.note(self.id) } }
    /// A reply sent now would overtake pushes that are still to come.
    var isWaiting: Bool { self.isBlocked || !self.laggingViews.isEmpty }
    var heldReplies: [(requestID: UInt32, reply: EngineReply)] = []
    /// Requests for results, and the requests after them, that wait for their turn.
    package var waiting: Deque<(requestID: UInt32, request: EngineRequest)> = []
    /// Bytes of replies since it last drained.
    var unreadBytes = 0
    /// It has got as many bytes as it may: the engine answers again after `drained`.
    var isAwaitingDrain = false
    /// It stands in the queue of `Admission`.
    var isInTurn = false
    /// Background reads that it waits for.
    var backgroundReadCount = 0
    /// Sub-trees that its first waiting request needs; retained for it.
    var awaitedSubtrees: [SubtreeKey] = []
    /// They are not read yet.
    var isAwaitingSubtrees = false
    /// Whether another result may be read for it: one at a time, so that replies keep their order.
    var takesResults: Bool {
        !self.isAwaitingDrain && self.backgroundReadCount == 0 && !self.isAwaitingSubtrees
    }
    /// The revision of its last progress mark.
    var progress = Revision(0)
    /// The undo state it was notified of last; `nil` unless it follows its session's undo state.
    package var undoState: UndoState?

    init(
        _ id: ConnectionID,
        _ changed: ChangedConnections,
        session: UInt64,
        scope: AuthorisationScope,
        takesCompressed: Bool,
        token: UInt64?,
        subscriptionsMax: Int
    ) {
        self.id = id
        self.changed = changed
        self.session = session
        self.scope = scope
        self.takesCompressed = takesCompressed
        self.token = token
        self.subscriptionsMax = subscriptionsMax
    }
}

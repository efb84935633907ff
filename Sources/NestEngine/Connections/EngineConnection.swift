import DequeModule
import NestModel
import NestSchema

/// The engine's state of one connection.
package final class EngineConnection {
    package let id: ConnectionID
    /// Notes every change that a standby must know.
    private let changed: ChangedConnections
    /// The secret id of its session.
    let sessionID: Identifier128
    /// The public number of its session. 0 on a follower: no node knows the session yet.
    var session: UInt64
    let scope: AuthorisationScope
    /// On a follower: the open undo group, which the leader has.
    var groupAtLeader: UInt64?
    /// Whether the client understands compressed frames.
    let takesCompressed: Bool
    /// The number of the token that the client authenticated with.
    let token: UInt64?
    let subscriptionsMax: Int
    /// The label that its writes get.
    let user: UserLabel?
    /// Whether the client gets AUTHORS.
    let followsAuthors: Bool
    /// Whether OWN names the client's requests.
    let namesOwnRequests: Bool
    /// The model that the client was welcomed with, if the server has another one now.
    private(set) var formerModel: ManagedObjectModel?
    /// What the last AUTHORS of the connection named; `nil` before the first.
    var namedAuthors: NamedAuthors?
    var views: Set<UInt32> = []
    /// Its subscriptions to changes, in the order in which they began.
    var changeSubscriptions: [ChangeSubscription] = []
    /// Whether backpressure blocks the connection: its subscriptions lag, and replies to its writes wait for their net
    /// differences.
    package var isBlocked = false {
        didSet {
            self.changed.note(self.id)
            if !self.isWaiting { self.changed.noteUnblocked(self.id) }
        }
    }
    /// The views that lag although the connection is not blocked.
    package var laggingViews: Set<UInt32> = [] {
        didSet {
            self.changed.note(self.id)
            if !self.isWaiting { self.changed.noteUnblocked(self.id) }
        }
    }
    /// Whether a reply that is sent now would overtake pushes that are still to be sent.
    var isWaiting: Bool { self.isBlocked || !self.laggingViews.isEmpty }
    var heldReplies: [(requestID: UInt32, reply: EngineReply)] = []
    /// Waiting requests for results, and the requests that must stay behind them.
    package var waiting: Deque<(requestID: UInt32, request: EngineRequest)> = []
    /// The bytes of replies sent since the connection last drained.
    var unreadBytes = 0
    /// Whether the connection has reached its limit of unread bytes. The engine answers again after `drained`.
    var isAwaitingDrain = false
    /// Whether the connection is in the queue of `Admission`.
    var isInTurn = false
    /// The number of background reads that the connection waits for.
    var backgroundReadCount = 0
    /// The sub-trees that the first waiting request needs; they are retained for it.
    var awaitedSubtrees: [SubtreeKey] = []
    /// Whether these sub-trees are not read yet.
    var isAwaitingSubtrees = false
    /// Whether a request waits for a state that this node of a cluster does not have yet.
    var isAwaitingRevision = false { didSet { self.changed.note(self.id) } }
    /// Whether another result may be read for the connection. It gets one at a time, so that replies keep their order.
    var takesResults: Bool {
        !self.isAwaitingDrain && self.backgroundReadCount == 0 && !self.isAwaitingSubtrees && !self.isAwaitingRevision
    }
    /// The revision of its last progress mark.
    var progress = Revision(0)
    /// The undo state that was sent last; `nil` unless the connection follows its session's undo state.
    package var undoState: UndoState?

    /// The server has another model than this one, which was its last.
    func modelChanged(from former: ManagedObjectModel) {
        if self.formerModel == nil { self.formerModel = former }
        self.changed.note(self.id)
    }

    init(
        _ id: ConnectionID,
        _ changed: ChangedConnections,
        sessionID: Identifier128,
        session: UInt64,
        scope: AuthorisationScope,
        takesCompressed: Bool,
        token: UInt64?,
        subscriptionsMax: Int,
        user: UserLabel?,
        followsAuthors: Bool,
        namesOwnRequests: Bool
    ) {
        self.id = id
        self.changed = changed
        self.sessionID = sessionID
        self.session = session
        self.scope = scope
        self.takesCompressed = takesCompressed
        self.token = token
        self.subscriptionsMax = subscriptionsMax
        self.user = user
        self.followsAuthors = followsAuthors
        self.namesOwnRequests = namesOwnRequests
    }
}

import DequeModule
import NestModel

extension Engine {
    /// What is kept of a connection as long as it is there.
    final class Connection {
        private let id: ConnectionID
        private let changed: ChangedClients
        let session: UInt64
        let scope: AuthorisationScope
        /// What is read for it beside the engine is compressed there.
        let takesCompressed: Bool
        /// With which it was let in.
        let token: UInt64?
        let subscriptionsMax: Int
        var views: Set<UInt32> = []
        /// Its subscriptions to changes, ascending by id.
        var changes: [ChangeSubscription] = []
        /// Does not drain: its subscriptions lag, and answers to its writes wait behind their net diffs.
        var isBlocked = false { didSet { self.changed.note(self.id) } }
        /// Views that it has not been told of yet, though it drains.
        var behind: Set<UInt32> = [] { didSet { self.changed.note(self.id) } }
        /// What it is told now would overtake what it has not been told.
        var isWaiting: Bool { self.isBlocked || !self.behind.isEmpty }
        var heldReplies: [(requestID: UInt32, reply: EngineReply)] = []
        /// Requests for results, and what follows them, that wait for their turn.
        var waiting: Deque<(requestID: UInt32, request: EngineRequest)> = []
        /// Bytes of answers that it was given since it had taken all before.
        var unreadBytes = 0
        /// It was given enough: the engine goes on when it has taken that.
        var isAwaitingDrain = false
        /// It has its turn among `Engine.admissions`.
        var isInTurn = false
        /// Reads beside the engine that are for it.
        var sideReadCount = 0
        /// Sub-trees that the first of its waiting requests is about, kept for it.
        var awaitedSubtrees: [SubtreeKey] = []
        /// They are being read.
        var isAwaitingSubtrees = false
        /// Whether another result may be read for it: one after the other, so that they are answered in order.
        var takesResults: Bool { !self.isAwaitingDrain && self.sideReadCount == 0 && !self.isAwaitingSubtrees }
        /// The revision it was told last that it is at.
        var progress = Revision(0)
        /// What it was told last of its session's undo state; `nil` when it does not want to be told.
        var undoState: UndoState?

        init(
            _ id: ConnectionID,
            _ changed: ChangedClients,
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
}

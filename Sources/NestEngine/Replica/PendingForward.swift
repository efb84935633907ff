import NestModel
import NestProtocol
import NestStore

/// A write, or a request about tokens or ids, of a client of this node that the leader executes.
struct PendingForward {
    /// The undo group in which it is executed.
    enum Group: Equatable {
        /// 0: none.
        case number(UInt64)
        /// That of an earlier BEGIN_GROUP of the connection, which is not answered yet.
        case begun(by: UInt64)
    }

    let number: UInt64
    let requestID: UInt32
    /// A write has a key, unless it begins or ends a group.
    let request: EngineRequest
    var group: Group
    /// Whether it is on its way on the present link.
    var isSent = false
    /// Whether it was ever sent.
    private(set) var wasSent = false
    /// Whether it was sent more than once: the leader may then know it from this node itself.
    private(set) var isAgain = false
    /// Whether a leader may have executed it without an answer.
    private var isUncertain = false
    /// Whether the log has a later write of the connection: a leader is done with this one.
    private var isPassed = false
    /// The ticks that it has waited for a leader in all, or with an answer for the state that the answer is about.
    private(set) var waitedTicks = 0
    /// The leader's answer, until this node has the state that the answer is about.
    private(set) var answer: EngineReply?

    init(_ number: UInt64, _ requestID: UInt32, _ request: EngineRequest, _ group: Group) {
        self.number = number
        self.requestID = requestID
        self.request = request
        self.group = group
    }

    /// Whether it begins a group: later writes wait until its number is known.
    var beginsGroup: Bool { if case .beginGroup = self.request { true } else { false } }

    /// Whether the leader executes it only when its rows have arrived: later requests would overtake it.
    var isImport: Bool {
        switch self.request {
        case .importSubtree, .putValue: true
        default: false
        }
    }

    /// Whether the answer is known to exist, or may still come, without being sent again.
    var isUnderWay: Bool { self.isSent || self.answer != nil }

    /// Whether this forward may be what a leader executed; otherwise an earlier request with its key was executed.
    var mayBeExecuted: Bool {
        if case .receipt(let receipt)? = self.answer, receipt.isReplayed, !self.isAgain { return false }
        return self.isSent || self.isUncertain
    }

    mutating func noteSent() {
        self.isAgain = self.wasSent
        (self.isSent, self.wasSent) = (true, true)
    }

    mutating func noteAnswer(_ answer: EngineReply) {
        self.answer = answer
        self.waitedTicks = 0
    }

    /// The link is gone, and with it the answer.
    mutating func noteLost() {
        guard self.isSent, self.answer == nil else { return }
        (self.isSent, self.isUncertain) = (false, true)
    }

    /// The leader has not executed it, and will not.
    mutating func noteNotExecuted() { self.isSent = false }

    /// Notes that the log has a later write of the connection. A leader executes token requests in another order.
    mutating func notePassed() { if self.wasSent, self.request.keyAndHash != nil { self.isPassed = true } }

    /// Fails a write that a leader is done with and whose answer is lost: executed again, it would come behind later
    /// writes. Returns whether it has failed.
    mutating func failIfPassed() -> Bool {
        guard self.isPassed, !self.isUnderWay else { return false }
        self.noteAnswer(.failure(Self.uncertain))
        return true
    }

    /// Counts a tick. Returns the error with which it fails if it has waited too long.
    mutating func tick() -> NestError? {
        self.waitedTicks += 1
        guard self.waitedTicks > Limits.forwardWaitSeconds else { return nil }
        return self.isSent || self.isUncertain ? Self.uncertain : Self.noLeader
    }

    private static let noLeader = NestError(
        .logUnavailable,
        "no leader of the cluster was reached for \(Limits.forwardWaitSeconds) seconds: nothing was executed; try "
            + "again later, or at another node"
    )

    private static let uncertain = NestError(
        .storageFailure,
        "the leader of the cluster has not answered: whether the write happened is not known; send it again with the "
            + "same idempotency key"
    )
}

extension EngineRequest {
    /// The idempotency key of a write, and the hash that the journal keeps with it.
    var keyAndHash: (key: Identifier128, hash: UInt64)? {
        switch self {
        case .transaction(let transaction, let hash): transaction.key.map { ($0, hash) }
        case .undo(let key, _, _, let hash), .redo(let key, _, _, let hash), .revert(let key, _, _, _, let hash):
            key.map { ($0, hash) }
        case .importSubtree(let staged, let hash): staged.request.key.map { ($0, hash) }
        default: nil
        }
    }

    /// Returns the request with a key: its own one, otherwise the one that `make` returns.
    func keyed(_ make: () -> Identifier128) -> EngineRequest {
        switch self {
        case .transaction(var transaction, _) where transaction.key == nil:
            transaction.key = make()
            return .transaction(transaction)
        case .undo(nil, let options, let expected, _): return .undo(key: make(), options, expected: expected)
        case .redo(nil, let options, let expected, _): return .redo(key: make(), options, expected: expected)
        case .revert(nil, let options, let revision, let ofAnyone, _):
            return .revert(key: make(), options, revision, ofAnyone: ofAnyone)
        case .importSubtree(let staged, _) where staged.request.key == nil:
            var request = staged.request
            request.key = make()
            return .importSubtree(
                StagedSubtree(
                    request: request,
                    chunks: staged.chunks,
                    rowCount: staged.rowCount,
                    topCount: staged.topCount,
                    checksum: staged.checksum
                )
            )
        default: return self
        }
    }

    /// Whether an unchanged receipt is in the log all the same: undo skips its entry from then on.
    var notesUnchanged: Bool {
        switch self {
        case .undo, .redo: true
        default: false
        }
    }
}

import DequeModule
import NestModel
import NestProtocol
import NestStore

/// The engine's state as a node of a cluster. A single node has none.
final class EngineReplica {
    /// An append whose fate is not known.
    struct OpenAppend {
        enum Waiter {
            case group(UncertainGroup)
            /// A token is created or revoked, or ids are reserved.
            case token(ConnectionID, requestID: UInt32, EngineRequest)
            /// A part of a large value is written.
            case value(ConnectionID, ValuePuts.Item)
            case mark(requestedBy: UInt64)
            case lead
            /// No request waits: the engine's own work, such as trimming.
            case maintenance
        }

        var waiter: Waiter
        /// Whether the requests have failed because they waited too long.
        var isUnanswered = false
        /// Whether the node must follow as soon as the fate is known.
        var mustFollow = false
    }

    enum State {
        case following
        /// The leader record is in the log. Writes begin when the machine has confirmed that it is in the log that it
        /// was made for.
        case elected
        case leading
        /// The store must be opened again, or joined anew.
        case ended
    }

    let forwarding: Forwarding
    private(set) var state = State.following
    /// The address of the leader.
    var leader: String?
    var open: OpenAppend?
    /// Inputs from the log that are not handled yet.
    var inputs: Deque<LogInput> = []
    /// Whether the store is at a mark: nothing may be written in the rest of the turn.
    var isAtMark = false
    let reads = WaitingReads()
    /// Marks to append at the end of the turn.
    var marks: [UInt64] = []
    /// Writes that were not executed because another node leads; they are forwarded in this turn.
    private(set) var overtaken: [WriteRequest] = []
    /// Ports of other nodes of which a request was refused because this node does not lead, or the log does not answer.
    /// Nothing of them is executed any more: their nodes send everything again, in order, by other ports.
    private var interrupted: Set<ConnectionID> = []
    /// The position that was reported last.
    private var reported: Int64?
    /// The number of events so far.
    private(set) var eventCount = 0

    init(_ forwarding: Forwarding) {
        self.forwarding = forwarding
    }

    /// Whether there is work left that no input will start.
    var hasBacklog: Bool { !self.inputs.isEmpty || !self.forwarding.released.isEmpty || self.reads.mustAsk }
    var isElected: Bool { if case .elected = self.state { true } else { false } }
    var isLeading: Bool { if case .leading = self.state { true } else { false } }
    var hasEnded: Bool { if case .ended = self.state { true } else { false } }
    /// Whether new writes are executed now.
    var takesWrites: Bool { self.isLeading && self.open == nil && !self.isAtMark }
    /// Whether new writes wait until the fate of an append is known.
    var delaysWrites: Bool { self.open.map { !$0.isUnanswered } ?? false }

    func set(_ state: State) { self.state = state }

    func report(_ event: ReplicaEvent, _ effects: inout [EngineEffect]) {
        self.eventCount += 1
        effects.append(.replica(event))
    }

    /// Reports the store's position if it has changed.
    func report(at state: LogState?, _ effects: inout [EngineEffect]) {
        guard let state, state.position.position != self.reported else { return }
        self.reported = state.position.position
        self.report(.applied(state), &effects)
    }

    /// Hands out what the link gets.
    func send(_ effects: inout [EngineEffect]) {
        let output = self.forwarding.takeOutput()
        guard !output.isEmpty else { return }
        self.eventCount += output.count
        effects += output.map { .forward($0) }
    }

    func noteOvertaken(_ write: WriteRequest) { self.overtaken.append(write) }

    func takeOvertaken() -> [WriteRequest] {
        defer { self.overtaken = [] }
        return self.overtaken
    }

    // MARK: Ports

    /// Notes that a request of a port was refused. Its later requests are refused too if they may come to the leader
    /// before this one comes again.
    func interrupt(_ port: ConnectionID, _ error: NestError) {
        if error.code == .notLeader || error.code == .logUnavailable { self.interrupted.insert(port) }
    }

    var hasInterrupted: Bool { !self.interrupted.isEmpty }

    func isInterrupted(_ port: ConnectionID) -> Bool { self.interrupted.contains(port) }

    /// Refuses a request of a port that this node may not execute.
    func requireLead(of port: ConnectionID) throws(StoreError) {
        if !self.isLeading { throw .refused(self.notLeader) }
        if self.isInterrupted(port) { throw .refused(Self.unavailable) }
    }

    /// Ends the group and the forwards of a connection that is gone.
    func leave(_ id: ConnectionID) {
        self.forwarding.leave(id)
        self.interrupted.remove(id)
        guard case .group(var group) = self.open?.waiter else { return }
        group.coalescing.leave(id)
        self.open?.waiter = .group(group)
    }

    /// Why a write is refused now; `nil`: it is not.
    var refusal: NestError? {
        if let open { return open.isUnanswered ? Self.unavailable : nil }
        return self.isLeading ? nil : self.notLeader
    }

    var notLeader: NestError {
        guard let leader else {
            return NestError(.notLeader, "the cluster has no leader now, or this node does not know it yet: try again")
        }
        return NestError(.notLeader, "this node is a follower: send writes to the leader at \(leader)", leader: leader)
    }

    static let unavailable = NestError(
        .logUnavailable,
        "the cluster's log does not answer: nothing was executed; try again later"
    )

    static let unanswered = NestError(
        .storageFailure,
        "the cluster's log has not answered: whether the write happened is not known; send it again with the same "
            + "idempotency key"
    )

    static let settling = NestError(
        .logUnavailable,
        "the cluster's log has not answered an earlier write yet: nothing was executed; try again later"
    )
}

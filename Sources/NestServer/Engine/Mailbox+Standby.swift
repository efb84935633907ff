import DequeModule
import NestEngine
import NestModel

/// An input in the mailbox that a standby may answer.
package struct StandbyClaim: Sendable {
    fileprivate enum Source: Sendable {
        /// In the batch that the engine performs.
        case running
        /// Taken out of a waiting batch; the index in `StandbyClaims.ready`.
        case waiting(Int)
    }

    package let input: EngineInput
    fileprivate let source: Source

    var isRunning: Bool { if case .running = self.source { true } else { false } }
}

/// Decides which inputs a standby may answer while the engine is in one turn.
///
/// The standby requests new inputs and gets claims to those that it may answer. It begins a claim before it delivers
/// the answer; from then on the engine does not answer that input. When the turn ends, the claims that were not begun
/// return to the engine.
struct StandbyClaims: Sendable {
    /// The state of the standby's thread.
    private enum Phase {
        /// It sleeps until a call wakes it.
        case asleep
        /// It looks for inputs again soon, without a call.
        case watching
        /// It serves a long turn, and must be called for every new input.
        case listening
    }

    private var phase = Phase.asleep

    // The turn.
    private var writers: [ConnectionID] = []
    var hasWriters: Bool { !self.writers.isEmpty }
    /// The inputs of the turn if they contain both writes and reads, until the engine starts with the reads.
    private var running: [EngineInput] = []
    private var answered = AnsweredByStandby()

    // Found in this turn.
    private(set) var isInUse = false
    private var isDelivered = false
    /// Connections with an earlier input that an answer would have to show, or must not overtake.
    private var barred: Set<ConnectionID> = []
    /// Connections that became blocked or drained, or disconnected, which the engine has not handled yet.
    private var stopped: Set<ConnectionID> = []
    /// Connections with an earlier request that begins, changes or ends a subscription: a fetch must not overtake it.
    private var subscribing: Set<ConnectionID> = []
    /// The next input to look at in the waiting batches.
    private var nextBatch = 0
    private var nextInput = 0
    /// Inputs taken out of the waiting batches; `nil` after the standby has begun the claim.
    private var ready: [EngineInput?] = []
    /// Handshakes that the standby has answered: the engine must still register these connections.
    private var welcomed: [EngineInput] = []
    private var fresh: [StandbyClaim] = []

    /// The number of inputs that return to the engine at the end of the turn.
    var count: Int { self.welcomed.count + self.ready.count { $0 != nil } }

    // MARK: The engine's side

    /// Begins a turn. `inputs` is empty unless it contains both writes and reads.
    mutating func begin(writers: [ConnectionID], inputs: [EngineInput]) {
        self.writers = writers
        self.running = inputs
    }

    /// Called when the engine has finished its writes and starts with the reads. Returns what the standby has answered
    /// of the batch.
    mutating func closeRunning() -> AnsweredByStandby {
        self.running = []
        defer { self.answered = AnsweredByStandby() }
        return self.answered
    }

    /// Ends the turn. Returns the inputs that the engine still has to handle.
    mutating func takeUnanswered() -> [EngineInput] {
        let inputs = self.welcomed + self.ready.compactMap { $0 }
        var next = StandbyClaims()
        next.phase = self.phase
        self = next
        return inputs
    }

    /// Called for an input that arrives during a turn. Returns whether to wake the standby's thread.
    mutating func call() -> Bool {
        guard self.phase != .watching else { return false }
        self.phase = .watching
        return true
    }

    // MARK: The standby's side

    mutating func watch() { self.phase = .watching }

    mutating func sleep() { self.phase = .asleep }

    /// Returns whether the standby has seen all inputs. If so, it is called for each new one.
    mutating func listen(_ batches: Deque<Mailbox.Batch>) -> Bool {
        guard self.fresh.isEmpty, self.isAtEnd(of: batches) else { return false }
        self.phase = .listening
        return true
    }

    private func isAtEnd(of batches: Deque<Mailbox.Batch>) -> Bool {
        self.nextBatch >= batches.count
            || self.nextBatch == batches.count - 1 && self.nextInput == batches[self.nextBatch].inputs.count
    }

    mutating func takeFresh() -> [StandbyClaim] {
        defer { self.fresh = [] }
        return self.fresh
    }

    /// Makes claims to the inputs that arrived since the last call. `isDelivered`: whether the effects of the engine's
    /// turn were delivered, so that reads may show its writes.
    mutating func look(_ batches: inout Deque<Mailbox.Batch>, isDelivered: Bool) {
        if !self.isInUse {
            self.isInUse = true
            self.isDelivered = isDelivered
            if !isDelivered { self.barred = Set(self.writers) }
            for input in self.running where self.mayAnswer(input, isRunning: true) {
                self.fresh.append(StandbyClaim(input: input, source: .running))
            }
        } else if isDelivered, !self.isDelivered {
            self.isDelivered = true
            (self.barred, self.stopped, self.subscribing) = ([], [], [])
            (self.nextBatch, self.nextInput) = (0, 0)
        }
        while self.nextBatch < batches.count {
            if self.nextInput < batches[self.nextBatch].inputs.count {
                batches[self.nextBatch].take(from: self.nextInput) { input in
                    guard self.mayAnswer(input, isRunning: false) else { return false }
                    self.fresh.append(StandbyClaim(input: input, source: .waiting(self.ready.count)))
                    self.ready.append(input)
                    return true
                }
            }
            self.nextInput = batches[self.nextBatch].inputs.count
            // The last batch may still grow.
            guard self.nextBatch < batches.count - 1 else { return }
            self.nextBatch += 1
            self.nextInput = 0
        }
    }

    /// Returns whether the standby may answer an input. Inputs are checked in the mailbox's order; in the batch that
    /// the engine performs, all writes precede all reads.
    private mutating func mayAnswer(_ input: EngineInput, isRunning: Bool) -> Bool {
        switch input {
        case .connected(_, _, _, _, _, _, _, _, _, let isWelcomed):
            return !isWelcomed
        case .request(let id, _, let request):
            if request.isWrite, !isRunning { self.barred.insert(id) }
            switch request {
            case .subscribe, .resubscribe, .unsubscribe, .setExpanded:
                self.subscribing.insert(id)
                return false
            case .fetch where self.subscribing.contains(id):
                return false
            default:
                return StandbyAnswer.isPossible(request) && !self.barred.contains(id)
            }
        case .disconnected(let id), .blocked(let id), .drained(let id):
            self.barred.insert(id)
            self.stopped.insert(id)
            return false
        case .read, .healthSample, .tick, .positionTimer, .peerPresence, .log:
            return false
        }
    }

    /// Takes a claim from the engine. Returns false when the engine answers it, or must handle another input first.
    mutating func begin(_ claim: StandbyClaim) -> Bool {
        switch claim.source {
        case .running where self.running.isEmpty: return false
        case .waiting(let index) where index >= self.ready.count || self.ready[index] == nil: return false
        case .running, .waiting: break
        }
        switch claim.input {
        case .connected(
            let id,
            let session,
            let scope,
            let takesCompressed,
            let token,
            let subscriptionsMax,
            let user,
            let followsAuthors,
            let namesOwnRequests,
            _
        ):
            guard case .waiting = claim.source else { return self.answered.welcomed.insert(id).inserted }
            self.welcomed.append(
                .connected(
                    id,
                    session: session,
                    scope: scope,
                    takesCompressed: takesCompressed,
                    token: token,
                    subscriptionsMax: subscriptionsMax,
                    user: user,
                    followsAuthors: followsAuthors,
                    namesOwnRequests: namesOwnRequests,
                    isWelcomed: true
                )
            )
        case .request(let id, let requestID, _):
            guard !self.stopped.contains(id) else { return false }
            if claim.isRunning { return self.answered.requests.insert(.init(id, requestID)).inserted }
        case .disconnected, .blocked, .drained, .read, .healthSample, .tick, .positionTimer, .peerPresence, .log:
            preconditionFailure("only handshakes and requests are claimed")
        }
        if case .waiting(let index) = claim.source { self.ready[index] = nil }
        return true
    }
}

/// The standby's use of the mailbox.
extension Mailbox {
    /// Returns whether to wake the standby's thread after `append`: only while the engine works, and only for a
    /// client's input, or during a write, which may become long.
    package mutating func standbyMustWake() -> Bool {
        self.isWorking && (self.hasClientInput || self.standbyClaims.hasWriters) && self.standbyClaims.call()
    }

    /// Returns the turn that the engine is in, or `nil` when it is in none: then the standby sleeps.
    package mutating func watch() -> UInt64? {
        guard self.isWorking, !self.isStopped else {
            self.standbyClaims.sleep()
            return nil
        }
        self.standbyClaims.watch()
        return self.turn
    }

    private func isIn(_ turn: UInt64) -> Bool { self.isWorking && !self.isStopped && self.turn == turn }

    /// Returns the new claims since the last call, or `nil` when the turn is over. `isDelivered`: whether the turn's
    /// effects were delivered.
    package mutating func claims(turn: UInt64, isDelivered: Bool) -> [StandbyClaim]? {
        guard self.isIn(turn) else { return nil }
        self.standbyClaims.look(&self.batches, isDelivered: isDelivered)
        return self.standbyClaims.takeFresh()
    }

    /// Takes a claim from the engine: the standby must answer it now, or return it with `append`. Returns false when
    /// the engine answers it.
    package mutating func begin(_ claim: StandbyClaim, turn: UInt64, isDelivered: Bool) -> Bool {
        guard self.isIn(turn) else { return false }
        self.standbyClaims.look(&self.batches, isDelivered: isDelivered)
        return self.standbyClaims.begin(claim)
    }

    /// Returns whether no input has arrived since the last call of `claims`, or the turn is over. If it returns true
    /// during the turn, the standby is called for each new input.
    package mutating func listen(turn: UInt64) -> Bool { !self.isIn(turn) || self.standbyClaims.listen(self.batches) }

    /// Called when the engine has finished the writes of its batch. Returns what the engine must not answer again,
    /// because the standby has.
    package mutating func closeRunning() -> AnsweredByStandby { self.standbyClaims.closeRunning() }
}

import DequeModule
import NestEngine
import NestModel

/// An input in the mailbox that a standby may answer.
package struct StandbyClaim: Sendable {
    fileprivate enum Source: Sendable {
        /// In the batch that the engine has.
        case running
        /// In a batch that waits; it was moved to the desk.
        case desk(Int)
    }

    package let input: EngineInput
    fileprivate let source: Source

    var isRunning: Bool { if case .running = self.source { true } else { false } }
}

/// Decides which inputs a standby may answer while the engine is in one turn.
///
/// The standby asks for new inputs and gets claims to those that it may answer. It begins a claim before it delivers
/// the answer: from then on the engine does not answer it. Claims that were not begun when the turn ends go back to the
/// engine.
struct StandbyDesk: Sendable {
    /// The state of the standby's thread.
    private enum Phase {
        /// It sleeps until it is called.
        case asleep
        /// It looks again soon by itself.
        case watching
        /// The turn is a long one: it wants a call for every new input.
        case listening
    }

    private var phase = Phase.asleep

    // The turn.
    private var writers: [ConnectionID] = []
    var hasWriters: Bool { !self.writers.isEmpty }
    /// The inputs of the turn if there are writes and reads among them, until the engine comes to the reads.
    private var running: [EngineInput] = []
    private var aside = AnsweredByStandby()

    // Found in this turn.
    private(set) var isInUse = false
    private var isDelivered = false
    /// Connections with an earlier input that an answer would have to show, or would overtake.
    private var barred: Set<ConnectionID> = []
    /// Connections that do not drain or are gone.
    private var stopped: Set<ConnectionID> = []
    /// Connections with subscriptions to begin, change or end: fetches keep their order among these.
    private var subscribing: Set<ConnectionID> = []
    /// The next input to look at in the waiting batches.
    private var nextBatch = 0
    private var nextInput = 0
    /// Inputs moved here from the waiting batches; `nil`: begun.
    private var ready: [EngineInput?] = []
    /// Handshakes that the standby has answered: the engine registers these connections next.
    private var welcomed: [EngineInput] = []
    private var fresh: [StandbyClaim] = []

    /// Inputs on the desk that the engine gets back.
    var count: Int { self.welcomed.count + self.ready.count { $0 != nil } }

    // MARK: The engine's side

    /// A turn begins. `inputs` is empty unless there are both writes and reads among them.
    mutating func begin(writers: [ConnectionID], inputs: [EngineInput]) {
        self.writers = writers
        self.running = inputs
    }

    /// The engine has finished its writes and comes to the reads. Returns what the standby has answered of them.
    mutating func closeRunning() -> AnsweredByStandby {
        self.running = []
        defer { self.aside = AnsweredByStandby() }
        return self.aside
    }

    /// The turn is over. Returns the inputs that the engine still has to handle.
    mutating func takeUnanswered() -> [EngineInput] {
        let inputs = self.welcomed + self.ready.compactMap { $0 }
        var desk = StandbyDesk()
        desk.phase = self.phase
        self = desk
        return inputs
    }

    /// An input has come while the engine is in a turn. Returns whether to wake the standby's thread.
    mutating func call() -> Bool {
        guard self.phase != .watching else { return false }
        self.phase = .watching
        return true
    }

    // MARK: The standby's side

    mutating func watch() { self.phase = .watching }

    mutating func sleep() { self.phase = .asleep }

    /// Whether the standby has seen all inputs; if so, it is called for new ones.
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

    /// Looks at the inputs that came since the last time. `isDelivered`: the effects of the engine's turn were
    /// delivered, so that reads show its writes.
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
                    self.fresh.append(StandbyClaim(input: input, source: .desk(self.ready.count)))
                    self.ready.append(input)
                    return true
                }
            }
            self.nextInput = batches[self.nextBatch].inputs.count
            // More may come into the last one.
            guard self.nextBatch < batches.count - 1 else { return }
            self.nextBatch += 1
            self.nextInput = 0
        }
    }

    /// Whether the standby may answer an input. Inputs are judged in the mailbox's order; in the batch that the engine
    /// has, all writes come before all reads.
    private mutating func mayAnswer(_ input: EngineInput, isRunning: Bool) -> Bool {
        switch input {
        case .connected(_, _, _, _, _, _, let isWelcomed):
            return !isWelcomed
        case .request(let id, _, let request):
            if request.isWrite, !isRunning { self.barred.insert(id) }
            switch request {
            case .subscribe, .resubscribe, .unsubscribe:
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
        case .read, .healthSample, .tick, .positionTimer:
            return false
        }
    }

    /// Takes a claim away from the engine. Returns false when the engine answers it, or must see another input first.
    mutating func begin(_ claim: StandbyClaim) -> Bool {
        switch claim.source {
        case .running where self.running.isEmpty: return false
        case .desk(let index) where index >= self.ready.count || self.ready[index] == nil: return false
        case .running, .desk: break
        }
        switch claim.input {
        case .connected(let id, let session, let scope, let takesCompressed, let token, let subscriptionsMax, _):
            guard case .desk = claim.source else { return self.aside.welcomed.insert(id).inserted }
            self.welcomed.append(
                .connected(
                    id,
                    session: session,
                    scope: scope,
                    takesCompressed: takesCompressed,
                    token: token,
                    subscriptionsMax: subscriptionsMax,
                    isWelcomed: true
                )
            )
        case .request(let id, let requestID, _):
            guard !self.stopped.contains(id) else { return false }
            if claim.isRunning { return self.aside.requests.insert(.init(id, requestID)).inserted }
        case .disconnected, .blocked, .drained, .read, .healthSample, .tick, .positionTimer:
            preconditionFailure("nothing else is claimed")
        }
        if case .desk(let index) = claim.source { self.ready[index] = nil }
        return true
    }
}

/// What a standby does with the mailbox. Everything but `standbyMustWake` happens while the engine is in a long turn.
extension Mailbox {
    /// After `append`: returns whether to wake the standby's thread. Never while the engine sleeps, or works for timers
    /// and only timer inputs come. During a write always, since it may become a long one.
    package mutating func standbyMustWake() -> Bool {
        self.isWorking && (self.hasClientInput || self.desk.hasWriters) && self.desk.call()
    }

    /// The turn that the engine is in. `nil` when it is in none: then the standby sleeps.
    package mutating func watch() -> UInt64? {
        guard self.isWorking, !self.isStopped else {
            self.desk.sleep()
            return nil
        }
        self.desk.watch()
        return self.turn
    }

    private func isIn(_ turn: UInt64) -> Bool { self.isWorking && !self.isStopped && self.turn == turn }

    /// New claims since the last call; `nil` when the turn is over. `isDelivered`: its effects were delivered.
    package mutating func claims(turn: UInt64, isDelivered: Bool) -> [StandbyClaim]? {
        guard self.isIn(turn) else { return nil }
        self.desk.look(&self.batches, isDelivered: isDelivered)
        return self.desk.takeFresh()
    }

    /// Takes a claim away from the engine: the standby must answer it now, or give it back by `append`. Returns false
    /// when the engine answers it.
    package mutating func begin(_ claim: StandbyClaim, turn: UInt64, isDelivered: Bool) -> Bool {
        guard self.isIn(turn) else { return false }
        self.desk.look(&self.batches, isDelivered: isDelivered)
        return self.desk.begin(claim)
    }

    /// Whether no input has come since the last look; from now on the standby is called when one does.
    package mutating func listen(turn: UInt64) -> Bool { !self.isIn(turn) || self.desk.listen(self.batches) }

    /// The engine has finished the writes of its batch. It answers the reads now, except those that this returns.
    package mutating func closeRunning() -> AnsweredByStandby { self.desk.closeRunning() }
}

import DequeModule
import NestEngine
import NestModel

/// Something in the mailbox that a standby may answer.
package struct StandbyClaim: Sendable {
    fileprivate enum Place: Sendable {
        /// In the batch that the engine has.
        case running
        /// It waits, and is on the desk.
        case desk(Int)
    }

    package let input: EngineInput
    fileprivate let place: Place

    var isRunning: Bool { if case .running = self.place { true } else { false } }
}

/// What a standby may answer while the engine is in one turn, and what it must not.
///
/// The standby looks at what has come, gets claims, and begins a claim before it hands out the answer: from then on the engine
/// has nothing to do with it. Claims that were not begun when the turn ends are the engine's.
struct StandbyDesk: Sendable {
    /// What the standby's thread does.
    private enum Phase {
        /// Nothing, until it is called.
        case asleep
        /// Looks again soon by itself.
        case watching
        /// The turn is a long one: it wants to be called for whatever comes.
        case listening
    }

    private var phase = Phase.asleep

    // The turn.
    private var writers: [ConnectionID] = []
    var hasWriters: Bool { !self.writers.isEmpty }
    /// Its inputs, when there are writes and reads among them, until the engine comes to the reads.
    private var running: [EngineInput] = []
    private var aside = AnsweredByStandby()

    // What was found in this turn.
    private(set) var isInUse = false
    private var isDelivered = false
    /// Connections with something of their own before them that an answer would have to show, or would overtake.
    private var barred: Set<ConnectionID> = []
    /// Connections that do not drain or are gone.
    private var stopped: Set<ConnectionID> = []
    /// Connections with subscriptions to begin, change or end: fetches keep their order among these.
    private var subscribing: Set<ConnectionID> = []
    /// How far the waiting batches were looked at.
    private var nextBatch = 0
    private var nextInput = 0
    /// Taken out of the waiting batches; `nil`: begun.
    private var ready: [EngineInput?] = []
    /// Connections that were welcomed: the engine registers them next.
    private var welcomed: [EngineInput] = []
    private var fresh: [StandbyClaim] = []

    /// Inputs on the desk that the engine gets back.
    var count: Int { self.welcomed.count + self.ready.count { $0 != nil } }

    // MARK: The engine's side

    /// A turn begins. `inputs`: those among which there are writes and reads.
    mutating func begin(writers: [ConnectionID], inputs: [EngineInput]) {
        self.writers = writers
        self.running = inputs
    }

    /// The engine has done its writes and comes to the rest.
    mutating func closeRunning() -> AnsweredByStandby {
        self.running = []
        defer { self.aside = AnsweredByStandby() }
        return self.aside
    }

    /// The turn is over: what the engine has to do with the rest.
    mutating func takeUnanswered() -> [EngineInput] {
        let inputs = self.welcomed + self.ready.compactMap { $0 }
        var desk = StandbyDesk()
        desk.phase = self.phase
        self = desk
        return inputs
    }

    /// Something has come while the engine is at work. Returns whether the standby's thread must be woken.
    mutating func call() -> Bool {
        guard self.phase != .watching else { return false }
        self.phase = .watching
        return true
    }

    // MARK: The standby's side

    mutating func watch() { self.phase = .watching }

    mutating func sleep() { self.phase = .asleep }

    /// Whether everything was looked at; then the standby is called for what comes.
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

    /// Looks at what has come since the last time. `isDelivered`: the effects of the engine's turn were handed out, so that
    /// what its writers did is seen.
    mutating func look(_ batches: inout Deque<Mailbox.Batch>, isDelivered: Bool) {
        if !self.isInUse {
            self.isInUse = true
            self.isDelivered = isDelivered
            if !isDelivered { self.barred = Set(self.writers) }
            for input in self.running where self.mayAnswer(input, isRunning: true) {
                self.fresh.append(StandbyClaim(input: input, place: .running))
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
                    self.fresh.append(StandbyClaim(input: input, place: .desk(self.ready.count)))
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

    /// Judges the next input in the mailbox's order. In the batch that the engine has, all writes come before all reads.
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

    /// Takes a claim away from the engine. Returns false when the engine answers it, or has to know of something before.
    mutating func begin(_ claim: StandbyClaim) -> Bool {
        switch claim.place {
        case .running where self.running.isEmpty: return false
        case .desk(let index) where index >= self.ready.count || self.ready[index] == nil: return false
        case .running, .desk: break
        }
        switch claim.input {
        case .connected(let id, let session, let scope, let takesCompressed, let token, let subscriptionsMax, _):
            guard case .desk = claim.place else { return self.aside.welcomed.insert(id).inserted }
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
        if case .desk(let index) = claim.place { self.ready[index] = nil }
        return true
    }
}

/// What a standby does with the mailbox. All of it, but for `standbyMustWake`, happens while the engine is in a long turn.
extension Mailbox {
    /// After `append`. Returns whether the standby's thread must be woken: never while the engine sleeps, or does what the clock
    /// asks for and nobody else wants anything. A write may become a long one, whatever comes.
    package mutating func standbyMustWake() -> Bool {
        self.isWorking && (self.hasNews || self.desk.hasWriters) && self.desk.call()
    }

    /// The turn that the engine is in; `nil` when it is in none, and then the standby sleeps.
    package mutating func watch() -> UInt64? {
        guard self.isWorking, !self.isStopped else {
            self.desk.sleep()
            return nil
        }
        self.desk.watch()
        return self.turn
    }

    private func isIn(_ turn: UInt64) -> Bool { self.isWorking && !self.isStopped && self.turn == turn }

    /// What can be answered since the last time; `nil` when the turn is over. `isDelivered`: its effects were handed out.
    package mutating func claims(turn: UInt64, isDelivered: Bool) -> [StandbyClaim]? {
        guard self.isIn(turn) else { return nil }
        self.desk.look(&self.batches, isDelivered: isDelivered)
        return self.desk.takeFresh()
    }

    /// Takes a claim away from the engine: it must be answered now, or given back by `append`. Returns false when the engine
    /// answers it.
    package mutating func begin(_ claim: StandbyClaim, turn: UInt64, isDelivered: Bool) -> Bool {
        guard self.isIn(turn) else { return false }
        self.desk.look(&self.batches, isDelivered: isDelivered)
        return self.desk.begin(claim)
    }

    /// Whether nothing has come since the last look; the standby is called from now on when something does.
    package mutating func listen(turn: UInt64) -> Bool { !self.isIn(turn) || self.desk.listen(self.batches) }

    /// The engine has done the writes of its batch: from now on it answers the rest, without what this returns.
    package mutating func closeRunning() -> AnsweredByStandby { self.desk.closeRunning() }
}

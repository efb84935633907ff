import DequeModule
import NestEngine
import NestModel
import NestProtocol

/// The inputs that wait for the engine, in order, divided into batches that each become at most one commit. `next`
/// returns a batch as it was filled, unless it divides it: usually no input is copied.
///
/// It needs no bound of its own: a connection has at most `Limits.requestsInFlightPerConnectionMax` requests in it.
package struct Mailbox: Sendable {
    /// The inputs that the engine performs together.
    package struct Batch: Sendable {
        package var inputs: [EngineInput] = []
        package var requestCount = 0
        package fileprivate(set) var writeCount = 0
        /// The engine's turn in which it performs the batch.
        package fileprivate(set) var turn: UInt64 = 0
        /// The connections with writes in the batch. Consecutive writes of a connection are listed once.
        fileprivate(set) var writers: [ConnectionID] = []
        /// Whether the batch has requests that a standby may answer while writes run: writes of this batch, or writes
        /// that the engine has kept for this turn.
        package fileprivate(set) var isMixed = false
        fileprivate var hasReads = false

        package init() {}

        fileprivate mutating func append(_ input: EngineInput) {
            switch input {
            case .request(let id, _, let request):
                self.requestCount += 1
                if request.isWrite {
                    self.writeCount += 1
                    if self.writers.last != id { self.writers.append(id) }
                } else {
                    self.hasReads = true
                }
            case .connected:
                self.hasReads = true
            case .disconnected, .blocked, .drained, .read, .healthSample, .tick, .positionTimer, .peerPresence, .log:
                break
            }
            self.inputs.append(input)
        }

        /// Keeps the inputs up to the write with this number, and returns those after it.
        fileprivate mutating func divide(after writes: Int) -> Batch {
            var first = Batch()
            var second = Batch()
            for input in self.inputs {
                if first.writeCount < writes { first.append(input) } else { second.append(input) }
            }
            self = first
            return second
        }

        /// Removes the inputs from index `start` on for which `isTaken` returns true.
        mutating func take(from start: Int, _ isTaken: (EngineInput) -> Bool) {
            var left: [EngineInput] = []
            for input in self.inputs[start...] {
                guard isTaken(input) else {
                    left.append(input)
                    continue
                }
                if case .request = input { self.requestCount -= 1 }
            }
            guard left.count < self.inputs.count - start else { return }
            self.inputs.replaceSubrange(start..., with: left)
        }
    }

    private let writesMax: Int
    var batches: Deque<Batch> = []
    /// Whether the engine's thread sleeps.
    private var isAsleep = false
    /// Whether a question waits for the engine's thread.
    private var hasQuestion = false
    package private(set) var isStopped = false
    /// The number of the turn that the engine is in, or was in last.
    private(set) var turn: UInt64 = 0
    /// Whether the engine is in a turn: from the call of `next` that returns a batch to the next call.
    private(set) var isWorking = false
    /// Whether the inputs added last were not from timers only.
    private(set) var hasClientInput = false
    /// For a standby: see Mailbox+Standby.swift.
    var standbyClaims = StandbyClaims()

    /// `writesMax`: the maximum number of writes in one batch.
    package init(writesMax: Int = Limits.requestsPerCommitMax) {
        self.writesMax = writesMax
    }

    package var count: Int { self.batches.reduce(self.standbyClaims.count) { $0 + $1.inputs.count } }

    /// Whether a request waits for the engine's next turn.
    package var hasRequests: Bool { self.batches.contains { $0.requestCount > 0 } }

    /// Adds inputs to the end. Returns whether to wake the engine's thread.
    package mutating func append(_ inputs: some Sequence<EngineInput>) -> Bool {
        guard !self.isStopped else { return false }
        self.hasClientInput = false
        for input in inputs {
            switch input {
            case .healthSample, .tick, .positionTimer, .peerPresence, .log: break
            case .connected, .disconnected, .request, .blocked, .drained, .read: self.hasClientInput = true
            }
            if self.batches.isEmpty
                || self.batches[self.batches.count - 1].writeCount == self.writesMax && input.isWrite
            {
                self.batches.append(Batch())
            }
            self.batches[self.batches.count - 1].append(input)
        }
        return self.wake()
    }

    /// Accepts no more inputs, but still returns those that it has. Returns whether to wake the engine's thread.
    package mutating func stop() -> Bool {
        self.isStopped = true
        return self.wake()
    }

    /// Accepts no more inputs, and drops those that it has. Returns whether to wake the engine's thread.
    package mutating func drop() -> Bool {
        self.batches.removeAll()
        return self.stop()
    }

    /// Notes that the engine's thread has a question to answer. Returns whether to wake it.
    package mutating func ask() -> Bool {
        self.hasQuestion = true
        return self.wake()
    }

    package enum Next {
        case batch(Batch)
        /// The thread looks for its questions before it begins a batch.
        case question
        case wait
        case end
    }

    /// Begins the engine's next turn with the next batch. `isBusy`: whether the engine's thread stays awake when there
    /// is none. `hasBacklog`: whether the engine has work without inputs; it then gets an empty batch. `division`: how
    /// to divide the last batch that waits.
    package mutating func next(
        isBusy: Bool = false,
        hasBacklog: Bool = false,
        division: BatchDivision? = nil
    ) -> Next {
        self.isWorking = false
        if self.standbyClaims.isInUse { self.putBack() }
        guard !self.hasQuestion else {
            self.hasQuestion = false
            return .question
        }
        if var batch = self.batches.popFirst() ?? (hasBacklog && !self.isStopped ? Batch() : nil) {
            if let division, self.batches.isEmpty {
                let writes = division.writesMax(of: batch.writeCount, writers: batch.writers.count)
                if writes < batch.writeCount { self.batches.append(batch.divide(after: writes)) }
            }
            return .batch(self.begin(batch, hasBacklog: hasBacklog))
        }
        self.isAsleep = !self.isStopped && !isBusy
        return self.isStopped ? .end : .wait
    }

    private mutating func begin(_ batch: Batch, hasBacklog: Bool) -> Batch {
        self.turn += 1
        self.isWorking = true
        var batch = batch
        batch.turn = self.turn
        batch.isMixed = batch.hasReads && (batch.writeCount > 0 || hasBacklog)
        self.standbyClaims.begin(writers: batch.writers, inputs: batch.isMixed ? batch.inputs : [])
        return batch
    }

    /// Returns the claims that the standby has not begun to the front of the mailbox.
    private mutating func putBack() {
        var batch = Batch()
        for input in self.standbyClaims.takeUnanswered() { batch.append(input) }
        if !batch.inputs.isEmpty { self.batches.prepend(batch) }
    }

    private mutating func wake() -> Bool {
        defer { self.isAsleep = false }
        return self.isAsleep
    }
}

extension EngineRequest {
    /// Whether it may become part of a commit.
    var isWrite: Bool { self.kind.isWrite }

    /// Whether the answer may be as large as a result.
    var asksForResult: Bool { self.kind.asksForResult }
}

extension EngineInput {
    /// Whether it may become part of a commit.
    var isWrite: Bool {
        guard case .request(_, _, let request) = self else { return false }
        return request.isWrite
    }
}

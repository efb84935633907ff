import DequeModule
import NestEngine
import NestModel

/// What waits for the engine, in order, cut into batches that each become at most one commit. A batch is handed out as it was
/// filled: nothing in it is copied.
///
/// It needs no bound of its own: a connection has at most `Limits.requestsInFlightPerConnectionMax` requests in it.
package struct Mailbox: Sendable {
    /// What the engine takes at a time.
    package struct Batch: Sendable {
        package var inputs: [EngineInput] = []
        package var requestCount = 0
        package fileprivate(set) var writeCount = 0
        /// The engine's turn in which it is done.
        package fileprivate(set) var turn: UInt64 = 0
        /// Connections with writes in it; one after itself is named once.
        fileprivate(set) var writers: [ConnectionID] = []
        /// There is something in it that a standby may answer while writes run: its own, or those that the engine has kept for this
        /// turn.
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
            case .disconnected, .blocked, .drained, .read, .healthSample, .tick, .positionTimer:
                break
            }
            self.inputs.append(input)
        }

        /// Takes out what `isTaken` says, from an index on.
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
    /// The engine's thread waits to be woken.
    private var isAsleep = false
    package private(set) var isStopped = false
    /// The batch that the engine has, or had last; its turn's number counts up.
    private(set) var turn: UInt64 = 0
    /// The engine is at work on a turn, from the time that it takes a batch to the time that it asks for the next.
    private(set) var isWorking = false
    /// There was more than the beats of the clock in what was added last.
    private(set) var hasNews = false
    /// For a standby: see Mailbox+Standby.swift.
    var desk = StandbyDesk()

    /// `writesMax`: in one batch.
    package init(writesMax: Int = Limits.requestsPerCommitMax) {
        self.writesMax = writesMax
    }

    package var count: Int { self.batches.reduce(self.desk.count) { $0 + $1.inputs.count } }

    /// Adds to the end. Returns whether the engine's thread must be woken.
    package mutating func append(_ inputs: some Sequence<EngineInput>) -> Bool {
        guard !self.isStopped else { return false }
        self.hasNews = false
        for input in inputs {
            switch input {
            case .healthSample, .tick, .positionTimer: break
            case .connected, .disconnected, .request, .blocked, .drained, .read: self.hasNews = true
            }
            if self.batches.isEmpty
                || input.isWrite && self.batches[self.batches.count - 1].writeCount == self.writesMax
            {
                self.batches.append(Batch())
            }
            self.batches[self.batches.count - 1].append(input)
        }
        return self.wake()
    }

    /// Takes nothing more; what is in it is still handed out. Returns whether the engine's thread must be woken.
    package mutating func stop() -> Bool {
        self.isStopped = true
        return self.wake()
    }

    /// Takes nothing more, and forgets what is in it. Returns whether the engine's thread must be woken.
    package mutating func drop() -> Bool {
        self.batches.removeAll()
        return self.stop()
    }

    package enum Next {
        case batch(Batch)
        case wait
        case end
    }

    /// The next batch, with which the engine's next turn begins. `isBusy`: the engine's thread does not wait when there is none;
    /// `hasBacklog`: it works without one, too, and gets an empty batch.
    package mutating func next(isBusy: Bool = false, hasBacklog: Bool = false) -> Next {
        self.isWorking = false
        if self.desk.isInUse { self.putBack() }
        if let batch = self.batches.popFirst() ?? (hasBacklog && !self.isStopped ? Batch() : nil) {
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
        self.desk.begin(writers: batch.writers, inputs: batch.isMixed ? batch.inputs : [])
        return batch
    }

    /// What a standby had not begun comes first in the engine's next turn.
    private mutating func putBack() {
        var batch = Batch()
        for input in self.desk.takeUnanswered() { batch.append(input) }
        if !batch.inputs.isEmpty { self.batches.prepend(batch) }
    }

    private mutating func wake() -> Bool {
        defer { self.isAsleep = false }
        return self.isAsleep
    }
}

extension EngineRequest {
    /// Whether it may become part of a commit.
    var isWrite: Bool {
        switch self {
        case .transaction, .undo, .redo, .revert, .beginGroup, .endGroup, .importSubtree: true
        case .subscribe, .resubscribe, .subscribeChanges, .unsubscribe, .fetch, .object, .history, .previewUndo,
            .undoState, .statistics, .explain, .createToken, .tokens, .revokeToken:
            false
        }
    }

    /// Whether the answer may be as large as a result.
    var asksForResult: Bool {
        switch self {
        case .subscribe, .resubscribe, .fetch: true
        case .transaction, .undo, .redo, .revert, .beginGroup, .endGroup, .importSubtree, .subscribeChanges,
            .unsubscribe, .object, .history, .previewUndo, .undoState, .statistics, .explain, .createToken, .tokens,
            .revokeToken:
            false
        }
    }
}

extension EngineInput {
    /// Whether it may become part of a commit.
    var isWrite: Bool {
        guard case .request(_, _, let request) = self else { return false }
        return request.isWrite
    }
}

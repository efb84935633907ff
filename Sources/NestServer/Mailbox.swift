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
        fileprivate var writeCount = 0

        package init() {}
    }

    private let writesMax: Int
    private var batches: Deque<Batch> = []
    /// The engine's thread waits to be woken.
    private var isAsleep = false
    package private(set) var isStopped = false

    /// `writesMax`: in one batch.
    package init(writesMax: Int = Limits.requestsPerCommitMax) {
        self.writesMax = writesMax
    }

    package var count: Int { self.batches.reduce(0) { $0 + $1.inputs.count } }

    /// Adds to the end. Returns whether the engine's thread must be woken.
    package mutating func append(_ inputs: some Sequence<EngineInput>) -> Bool {
        guard !self.isStopped else { return false }
        for input in inputs {
            let isWrite = input.isWrite
            if self.batches.isEmpty || isWrite && self.batches[self.batches.count - 1].writeCount == self.writesMax {
                self.batches.append(Batch())
            }
            let last = self.batches.count - 1
            self.batches[last].inputs.append(input)
            if isWrite { self.batches[last].writeCount += 1 }
            if input.isRequest { self.batches[last].requestCount += 1 }
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

    /// The next batch. `isBusy`: the engine's thread does not wait when there is none.
    package mutating func next(isBusy: Bool = false) -> Next {
        if let batch = self.batches.popFirst() { return .batch(batch) }
        self.isAsleep = !self.isStopped && !isBusy
        return self.isStopped ? .end : .wait
    }

    private mutating func wake() -> Bool {
        defer { self.isAsleep = false }
        return self.isAsleep
    }
}

extension EngineRequest {
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
    var isRequest: Bool { if case .request = self { true } else { false } }

    /// Whether it may become part of a commit.
    var isWrite: Bool {
        guard case .request(_, _, let request) = self else { return false }
        switch request {
        case .transaction, .undo, .redo, .revert, .beginGroup, .endGroup, .importSubtree: return true
        case .subscribe, .resubscribe, .subscribeChanges, .unsubscribe, .fetch, .object, .history, .previewUndo,
            .undoState, .statistics, .explain, .createToken, .tokens, .revokeToken:
            return false
        }
    }
}

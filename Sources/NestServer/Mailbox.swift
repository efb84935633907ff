import DequeModule
import NestEngine
import NestModel

/// What waits for the engine, in order, cut into batches that each become at most one commit.
///
/// It needs no bound of its own: a connection has at most `Limits.requestsInFlightPerConnectionMax` requests in it.
package struct Mailbox: Sendable {
    private var inputs: Deque<EngineInput> = []
    private var writeCount = 0
    /// The engine's thread waits to be woken.
    private var isAsleep = false
    package private(set) var isStopped = false

    package init() {}

    package var count: Int { self.inputs.count }

    /// Adds to the end. Returns whether the engine's thread must be woken.
    package mutating func append(_ inputs: some Sequence<EngineInput>) -> Bool {
        guard !self.isStopped else { return false }
        for input in inputs {
            self.inputs.append(input)
            if input.isWrite { self.writeCount += 1 }
        }
        return self.wake()
    }

    /// Takes nothing more; what is in it is still handed out. Returns whether the engine's thread must be woken.
    package mutating func stop() -> Bool {
        self.isStopped = true
        return self.wake()
    }

    package enum Next {
        case batch([EngineInput])
        case wait
        case end
    }

    /// The next batch, with at most `writesMax` writes. `isBusy`: the engine's thread does not wait when there is none.
    package mutating func next(writesMax: Int = Limits.requestsPerCommitMax, isBusy: Bool = false) -> Next {
        guard !self.inputs.isEmpty else {
            self.isAsleep = !self.isStopped && !isBusy
            return self.isStopped ? .end : .wait
        }
        guard self.writeCount > writesMax else {
            let batch = Array(self.inputs)
            self.inputs.removeAll(keepingCapacity: batch.count <= Limits.requestsPerCommitMax)
            self.writeCount = 0
            return .batch(batch)
        }
        var batch: [EngineInput] = []
        var writes = 0
        while let input = self.inputs.first {
            if input.isWrite {
                guard writes < writesMax else { break }
                writes += 1
            }
            batch.append(input)
            self.inputs.removeFirst()
        }
        self.writeCount -= writes
        return .batch(batch)
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

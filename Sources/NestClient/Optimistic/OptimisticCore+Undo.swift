import NestModel
import NestOverlay
import NestProtocol

/// An undo or a redo that waits for its turn or for its answer.
struct QueuedUndo {
    let key = NestClient.newKey()
    let options: UndoOptions
    /// The receipt; `nil` if there was nothing left to undo.
    let receipt = Awaited<Receipt?>()
}

/// Undo and redo. They keep their order among the writes of the program.
extension OptimisticCore {
    /// Undoes the newest write. Returns `nil` if it was not sent, and is withdrawn.
    func undo(_ options: UndoOptions) throws(NestError) -> Awaited<Receipt?>? {
        if let closure { throw closure }
        try self.checkCanQueueUndo()
        let isConnected = if case .ready = self.core.assumeIsolated({ $0.machine.phase }) { true } else { false }
        switch self.views.pending.undo(isConnected: isConnected) {
        case .open: throw NestError(.busy, "the newest write is a group that has not ended")
        case .withdrew(let write):
            let handle = self.handles.removeValue(forKey: write.id)
            if let handle { self.undone.withdrew(handle.transaction) }
            self.publish()
            handle?.finish(.withdrawn, .failure(NestError(.cancelled, "it was undone before it was sent")))
            self.send()
            return nil
        case .added(let id):
            self.undone.serverUndoes(id)
            return self.queue(id, options)
        }
    }

    /// Does again what was undone last. Returns `nil` if that was withdrawn: it is a new write now.
    func redo(_ options: UndoOptions) throws(NestError) -> Awaited<Receipt?>? {
        if let closure { throw closure }
        if var transaction = self.undone.takeWithdrawn() {
            transaction.key = NestClient.newKey()
            self.add(PendingWrite(transaction), isRedone: true)
            return nil
        }
        try self.checkCanQueueUndo()
        self.undone.serverRedoes()
        return self.queue(self.views.pending.redo(), options)
    }

    private func checkCanQueueUndo() throws(NestError) {
        guard self.undos.count < Limits.clientRequestsWaitingMax else {
            throw NestError(.limitExceeded, "\(Limits.clientRequestsWaitingMax) undos are pending")
        }
    }

    private func queue(_ id: PendingUndo.ID, _ options: UndoOptions) -> Awaited<Receipt?> {
        let undo = QueuedUndo(options: options)
        self.undos[id] = undo
        self.publish()
        self.send()
        return undo.receipt
    }

    /// Sends the next undo, if it is its turn. Returns whether it was.
    func sendUndo() -> Bool {
        guard self.hasRoom, let undo = self.views.pending.sendableUndo, let queued = self.undos[undo.id] else {
            return false
        }
        self.views.pending.undoSent(undo.id)
        let token = self.core.assumeIsolated { $0.newToken() }
        self.undoTokens[token] = undo.id
        if undo.isRedo {
            self.submit(Redo(key: queued.key, options: queued.options, expected: undo.expected), as: token)
        } else {
            self.submit(Undo(key: queued.key, options: queued.options, expected: undo.expected), as: token)
        }
        return true
    }

    /// The server has answered an undo.
    func ended(_ id: PendingUndo.ID, _ result: Result<Reply, NestError>) {
        switch result {
        case .success(.receipt(let receipt)): self.end(id, .success(receipt))
        case .success: self.end(id, .failure(Self.noReceipt))
        case .failure(let error):
            let isFailure = error.code.retry == .unknownOutcome
            let failures = self.views.pending.undos.first { $0.id == id }?.failures ?? 0
            let isTooOften = isFailure && failures + 1 >= Self.failuresMax
            guard error.code.retry != .never, !error.code.isFinal, !isTooOften else {
                return self.end(id, .failure(error))
            }
            // With its key it is carried out once.
            self.views.pending.undoRequeued(id, isFailure: isFailure)
            self.pause()
        }
    }

    /// Ends the undos whose writes are gone: there is nothing to undo, or that is not known.
    func endVainUndos(_ result: Result<Receipt?, NestError>) {
        for id in self.views.pending.takeVainUndos() { self.end(id, result) }
    }

    /// Ends all undos, which are not sent any more.
    func giveUpUndos(_ error: NestError) {
        self.undoTokens = [:]
        for id in Array(self.undos.keys) { self.end(id, .failure(error)) }
    }

    private func end(_ id: PendingUndo.ID, _ result: Result<Receipt?, NestError>) {
        let receipt = if case .success(let receipt) = result { receipt } else { nil as Receipt? }
        self.views.pending.undoEnded(id, receipt)
        if receipt == nil { self.undone.failed(id) }
        self.publish()
        self.undos.removeValue(forKey: id)?.receipt.finish(result)
        self.endVainUndos(.success(nil))
    }
}

extension ErrorCode {
    /// Whether a write or an undo with this error is given back: it may have been carried out, or no server of this
    /// client will.
    var isFinal: Bool { [.closed, .outcomeUnknown, .schemaChanged, .unauthenticated, .tokenExpired].contains(self) }
}

import NestModel
import NestProtocol

/// Undo, redo, and what they would do.
extension NestClient {
    /// Takes back the newest entry of this session's undo stack, whoever has changed what since: `options` says what is done
    /// about that.
    ///
    /// `Receipt.conflicts` lists what was left as it is. A receipt that `isChanged` is false of changed nothing, because all
    /// of it was changed since: the entry is passed over, and the next undo takes the one before it. Throws `nothingToUndo`;
    /// `undoConflict` and `ownerGone`, when options refuse it; `conflict` when the newest entry is not `expecting`.
    ///
    /// - Parameters:
    ///   - options: the default keeps what was changed since.
    ///   - expecting: the entry that is meant, as `UndoState.undo` has it; `nil`: whichever is the newest.
    ///   - key: the idempotency key; made when `nil`.
    public func undo(
        options: UndoOptions = UndoOptions(),
        expecting: Revision? = nil,
        key: Identifier128? = nil
    ) async throws(NestError) -> Receipt {
        try await self.write(Undo(key: key ?? Self.newKey(), options: options, expected: expecting))
    }

    /// Does again what was undone last. Everything else is as with `undo`.
    public func redo(
        options: UndoOptions = UndoOptions(),
        expecting: Revision? = nil,
        key: Identifier128? = nil
    ) async throws(NestError) -> Receipt {
        try await self.write(Redo(key: key ?? Self.newKey(), options: options, expected: expecting))
    }

    /// Takes back one past transaction by its revision, however long ago, as a new undo entry of this session.
    ///
    /// Throws `forbidden` when another session wrote it and `ofAnyone` is false, `revisionDropped` when the journal no longer
    /// has it.
    public func revert(
        _ revision: Revision,
        ofAnyone: Bool = false,
        options: UndoOptions = UndoOptions(),
        key: Identifier128? = nil
    ) async throws(NestError) -> Receipt {
        try await self.write(
            Revert(key: key ?? Self.newKey(), options: options, revision: revision, ofAnyone: ofAnyone)
        )
    }

    /// What an undo, a redo or a revert would do now. Nothing is changed, and nothing promised: the real thing may find
    /// something else. Throws what that would throw.
    public func previewUndo(
        _ target: UndoTarget = .undo,
        options: UndoOptions = UndoOptions()
    ) async throws(NestError) -> UndoPreview {
        try await self.ask(PreviewUndo(target, options: options)).preview
    }

    /// What this session can take back and do again now.
    public func undoState() async throws(NestError) -> UndoState {
        let timeout = self.configuration.requestTimeout
        let reply = try await self.core.request(timeout: timeout) { machine, token in machine.askUndoState(token) }
        guard case .undoState(let state) = reply else { throw Self.unexpected(reply) }
        return state
    }

    /// The undo state as it is now, and then each newer one, over lost connections: what menu items are labelled with.
    ///
    /// Who is slow gets the newest only. The sequence ends, with `NestError`, when the client is closed or the server
    /// refuses; drop it to stop following.
    public func undoStates() -> AsyncThrowingStream<UndoState, any Error> {
        let core = self.core
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let follower = UndoFollower(continuation: continuation)
            continuation.onTermination = { _ in core.enqueue { $0.unfollow(follower) } }
            core.enqueue { $0.follow(follower) }
        }
    }
}

/// One who follows the undo state.
final class UndoFollower: Sendable {
    let continuation: AsyncThrowingStream<UndoState, any Error>.Continuation

    init(continuation: AsyncThrowingStream<UndoState, any Error>.Continuation) {
        self.continuation = continuation
    }
}

import NestModel
import NestProtocol

/// Undo, redo and their previews.
extension NestClient {
    /// Undoes the newest entry of this session's undo stack. `options` specify what happens to objects that have
    /// changed since.
    ///
    /// `Receipt.conflicts` lists what was kept. If `isChanged` of the receipt is false, nothing was undone because all
    /// has changed since: the server skips the entry, and the next undo takes the entry before it. Throws
    /// `nothingToUndo`; `undoConflict` or `ownerGone` if the options refuse the undo; `conflict` if the newest entry is
    /// not `expecting`.
    ///
    /// - Parameters:
    ///   - options: The default keeps what has changed since.
    ///   - expecting: The entry to undo, as in `UndoState.undo`. `nil`: the newest entry.
    ///   - key: The idempotency key. `nil`: the client generates a key.
    public func undo(
        options: UndoOptions = UndoOptions(),
        expecting: Revision? = nil,
        key: Identifier128? = nil
    ) async throws(NestError) -> Receipt {
        try await self.write(Undo(key: key ?? Self.newKey(), options: options, expected: expecting))
    }

    /// Redoes what was undone last. Otherwise it is like `undo`.
    public func redo(
        options: UndoOptions = UndoOptions(),
        expecting: Revision? = nil,
        key: Identifier128? = nil
    ) async throws(NestError) -> Receipt {
        try await self.write(Redo(key: key ?? Self.newKey(), options: options, expected: expecting))
    }

    /// Undoes one past transaction by its revision, however old it is, as a new undo entry of this session.
    ///
    /// Throws `forbidden` if another session wrote it and `ofAnyone` is false, and `revisionDropped` if the journal no
    /// longer has it.
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

    /// Returns what an undo, a redo or a revert would do now. Changes nothing. The operation itself may find another
    /// state later. Throws the errors that the operation would throw.
    public func previewUndo(
        _ target: UndoTarget = .undo,
        options: UndoOptions = UndoOptions()
    ) async throws(NestError) -> UndoPreview {
        try await self.ask(PreviewUndo(target, options: options)).preview
    }

    /// Returns what this session can undo and redo now.
    public func undoState() async throws(NestError) -> UndoState {
        let timeout = self.configuration.requestTimeout
        let reply = try await self.core.request(timeout: timeout) { machine, token in machine.askUndoState(token) }
        guard case .undoState(let state) = reply else { throw Self.unexpected(reply) }
        return state
    }

    /// Returns the current undo state and then each newer state, across lost connections. Use it for the titles of menu
    /// items.
    ///
    /// With a cache, the last state of an earlier run of this session comes first, also without a server.
    ///
    /// A slow consumer receives only the newest state. The sequence ends with a `NestError` if the client is closed or
    /// the server refuses. To stop, release the sequence.
    public func undoStates() -> AsyncThrowingStream<UndoState, any Error> {
        let core = self.core
        return AsyncThrowingStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
            let follower = UndoFollower(continuation: continuation)
            continuation.onTermination = { _ in core.enqueue { $0.unfollow(follower) } }
            core.enqueue { $0.follow(follower) }
        }
    }
}

/// A follower of the undo state.
final class UndoFollower: Sendable {
    let continuation: AsyncThrowingStream<UndoState, any Error>.Continuation

    init(continuation: AsyncThrowingStream<UndoState, any Error>.Continuation) {
        self.continuation = continuation
    }
}

import NIOCore
import NestModel
import NestProtocol

/// The followers of the session's undo state.
extension ClientCore {
    func follow(_ follower: UndoFollower) {
        if let state = self.machine.undoState { follower.continuation.yield(state) }
        let isFirst = self.undoFollowers.isEmpty
        self.undoFollowers[ObjectIdentifier(follower)] = follower
        guard isFirst else { return }
        // A session that is kept is not known before the first connection.
        guard self.isSessionChosen else { return self.perform(self.machine.followUndoState()) }
        self.readUndoState { core, cached in
            if !core.undoFollowers.isEmpty { core.perform(core.machine.followUndoState(cached)) }
        }
    }

    func unfollow(_ follower: UndoFollower) {
        guard self.undoFollowers.removeValue(forKey: ObjectIdentifier(follower)) != nil, self.undoFollowers.isEmpty
        else { return }
        self.perform(self.machine.unfollowUndoState())
    }

    /// Reads the undo state that the followers see until the server has sent it, and then calls `body`.
    func readUndoState(then body: @escaping @Sendable (isolated ClientCore, CachedView?) -> Void) {
        let key = ClientStateMachine.undoStateKey
        guard let cache = self.configuration.cache else { return body(self, nil) }
        self.eventLoop.makeFutureWithTask { await cache.view(key) }
            .whenComplete { read in self.assumeIsolated { body($0, try? read.get()) } }
    }
}

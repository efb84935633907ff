import NestModel
import NestProtocol

/// The session's undo state, for all followers. The connection has one subscription to it, and the next connection
/// subscribes again.
extension ClientStateMachine {
    /// Handles the first follower. It sees the `cached` state until the server has sent the state.
    package mutating func followUndoState(_ cached: CachedView? = nil) -> [ClientAction] {
        if case .closed(let error) = self.phase { return [.endUndoState(error)] }
        guard !self.followsUndoState else { return [] }
        self.followsUndoState = true
        let begun = self.beginUndoState(cached)
        if case .ready = self.phase { self.requestUndoState() }
        return begun + self.connectIfIdle() + self.flush()
    }

    /// Handles the departure of the last follower.
    package mutating func unfollowUndoState() -> [ClientAction] {
        guard self.followsUndoState else { return [] }
        self.followsUndoState = false
        self.undoState = nil
        self.cachedUndoHistory = nil
        guard case .ready = self.phase else { return [] }
        _ = self.requests.submit(OutgoingRequest(owner: .noCaller, kind: .connection, GetUndoState(follows: false)))
        return self.flush()
    }

    /// Requests the state once for a caller. Does not change whether the client follows it.
    package mutating func askUndoState(_ token: RequestToken) -> [ClientAction] {
        let message = GetUndoState(follows: self.followsUndoState)
        return self.submit(OutgoingRequest(owner: .caller(token), kind: .read, message))
    }

    /// Queues GET_UNDO_STATE if there are followers.
    mutating func requestUndoState() {
        guard self.followsUndoState else { return }
        _ = self.requests.submit(OutgoingRequest(owner: .undoState, kind: .connection, GetUndoState(follows: true)))
    }

    mutating func received(_ state: UndoState) -> [ClientAction] {
        guard self.followsUndoState else { return [] }
        self.cachedUndoHistory = nil
        let recorded = self.recordUndoState(state)
        guard state != self.undoState else { return recorded }
        self.undoState = state
        return [.deliverUndoState(state)] + recorded
    }

    mutating func endUndoState(_ error: NestError) -> [ClientAction] {
        guard self.followsUndoState else { return [] }
        self.followsUndoState = false
        self.undoState = nil
        self.cachedUndoHistory = nil
        return [.endUndoState(error)]
    }
}

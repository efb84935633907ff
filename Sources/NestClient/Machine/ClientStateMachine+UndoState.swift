import NestModel
import NestProtocol

/// The session's undo state, for all followers. The connection has one subscription to it, and the next connection
/// subscribes again.
extension ClientStateMachine {
    /// Handles the first follower.
    package mutating func followUndoState() -> [ClientAction] {
        if case .closed(let error) = self.phase { return [.endUndoState(error)] }
        self.followsUndoState = true
        if case .ready = self.phase { self.requestUndoState() }
        return self.connectIfIdle() + self.flush()
    }

    /// Handles the departure of the last follower.
    package mutating func unfollowUndoState() -> [ClientAction] {
        guard self.followsUndoState else { return [] }
        self.followsUndoState = false
        self.undoState = nil
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
        guard self.followsUndoState, state != self.undoState else { return [] }
        self.undoState = state
        return [.deliverUndoState(state)]
    }

    mutating func endUndoState(_ error: NestError) -> [ClientAction] {
        guard self.followsUndoState else { return [] }
        self.followsUndoState = false
        self.undoState = nil
        return [.endUndoState(error)]
    }
}

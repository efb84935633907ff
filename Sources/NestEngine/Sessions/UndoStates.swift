import NestModel

/// Notifies connections of their session's undo state.
package final class UndoStates {
    private let sessions: Sessions
    private let connections: EngineConnections
    /// Connections that follow their session's undo state.
    private var followers: Set<ConnectionID> = []

    package init(_ sessions: Sessions, _ connections: EngineConnections) {
        self.sessions = sessions
        self.connections = connections
    }

    /// Returns the undo state of a connection's session. `follows`: the connection wants to be notified of changes.
    package func state(_ connection: EngineConnection, follows: Bool) -> UndoState {
        let state = self.state(connection)
        connection.undoState = follows ? state : nil
        if follows { self.followers.insert(connection.id) } else { self.followers.remove(connection.id) }
        return state
    }

    private func state(_ connection: EngineConnection) -> UndoState {
        var state = self.sessions[connection.session].state(for: connection.scope)
        state.group = self.sessions.coalescing.group(of: connection.id)?.number ?? connection.groupAtLeader
        return state
    }

    /// Notifies the followers of sessions that have changed.
    package func push(_ effects: inout [EngineEffect]) {
        guard !self.sessions.changed.isEmpty else { return }
        guard !self.followers.isEmpty else { return self.sessions.changed.removeAll(keepingCapacity: true) }
        let changed = self.sessions.changed
        self.sessions.changed = []
        for id in self.followers.sorted() {
            guard let connection = self.connections[id], changed.contains(connection.session) else { continue }
            self.push(to: connection, &effects)
        }
    }

    /// Notifies a connection if the state differs from the one that it knows. A blocked connection is notified when it
    /// drains.
    package func push(to connection: EngineConnection, _ effects: inout [EngineEffect]) {
        guard let known = connection.undoState, !connection.isBlocked else { return }
        let state = self.state(connection)
        guard state != known else { return }
        connection.undoState = state
        effects.append(.undoState(state, to: [connection.id]))
    }

    /// Removes a connection that is gone.
    package func leave(_ id: ConnectionID) { self.followers.remove(id) }
}

import NestModel
import NestProtocol
import NestStore

/// Connects the table of presences with the connections, their tokens and the state that they have been sent.
extension Engine {
    /// Shows a client in a scope, or removes it. Returns its number.
    func setPresence(
        _ bytes: [UInt8]?,
        in scope: ObjectID,
        _ connection: EngineConnection,
        now: Int64
    ) throws(StoreError) -> UInt64 {
        guard let bytes else { return self.presence.leave(scope, connection.id) }
        try self.requirePresence(scope, connection)
        let client = PresenceTable.Client(
            connection.id,
            session: connection.sessionID,
            sessionNumber: self.sessions.numbers.shown(connection.session),
            user: connection.user
        )
        do throws(NestError) {
            return try self.presence.set(bytes, in: scope, by: client, head: self.store.head, now: now)
        } catch {
            throw .refused(error)
        }
    }

    func followPresence(
        _ scope: ObjectID,
        _ follows: Bool,
        _ connection: EngineConnection,
        now: Int64
    ) throws(StoreError) {
        guard follows else { return self.presence.unfollow(scope, connection.id) }
        try self.requirePresence(scope, connection)
        do throws(NestError) {
            try self.presence.follow(scope, connection.id, now: now)
        } catch {
            throw .refused(error)
        }
    }

    /// Refuses a scope that the connection's token does not reach, like an object that does not exist. For a token that
    /// is not confined, a scope in use is not read again: it may have been deleted since.
    private func requirePresence(_ scope: ObjectID, _ connection: EngineConnection) throws(StoreError) {
        if let confinement = try connection.scope.confinement(self.store, self.scopes) {
            return try confinement.require(scope)
        }
        guard !self.presence.knows(scope, connection.id) else { return }
        _ = try self.store.body(of: scope, within: nil)
    }

    /// Sends what followers and other nodes must hear now. Called at the end of a turn, behind the diffs of its writes:
    /// a follower that still has to be sent some of these hears of no presence until then.
    func pushPresence(now: Int64, _ effects: inout [EngineEffect]) {
        for id in self.connections.changed.takeUnblocked() {
            if self.connections[id]?.isWaiting == false { self.presence.unblocked(id) }
        }
        guard !self.presence.isQuiet else { return }
        let pushes = self.presence.flush(now: now, head: self.store.head) { self.presenceReach($0, $1) }
        for push in pushes { effects.append(.presence(push.body, to: push.recipients)) }
        for relay in self.presence.relay(now: now, head: self.store.head) {
            switch relay.peer {
            case .leader: self.replica?.forwarding.relay(presence: relay.body)
            case .node(let id): effects.append(.peerPresence(relay.body, to: id))
            }
        }
    }

    private func presenceReach(_ id: ConnectionID, _ scope: ObjectID) -> PresenceTable.Reach {
        guard let connection = self.connections[id], !connection.isWaiting else { return .waiting }
        guard connection.scope != .everything else { return .ready }
        // A scope that cannot be checked now is not shown.
        let isInside = try? connection.scope.confinement(self.store, self.scopes)?.contains(scope)
        return isInside == true ? .ready : .outside
    }
}

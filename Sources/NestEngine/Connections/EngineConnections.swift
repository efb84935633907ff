import NestModel
import NestProtocol

/// The connections whose changes the standby must learn with the next effects.
package final class ChangedConnections {
    private(set) var ids: [ConnectionID] = []

    package init() {}

    package func note(_ id: ConnectionID) { if self.ids.last != id { self.ids.append(id) } }

    /// Connections that have become able to take pushes, since the last call of `takeUnblocked`.
    private var unblocked: [ConnectionID] = []

    package func noteUnblocked(_ id: ConnectionID) { if self.unblocked.last != id { self.unblocked.append(id) } }

    func takeUnblocked() -> [ConnectionID] {
        guard !self.unblocked.isEmpty else { return [] }
        defer { self.unblocked = [] }
        return self.unblocked
    }

    package func take() -> [ConnectionID] {
        guard !self.ids.isEmpty else { return [] }
        defer { self.ids = [] }
        return self.ids
    }
}

/// The connections that the engine serves.
package final class EngineConnections {
    private(set) var all: [ConnectionID: EngineConnection] = [:]
    /// The connection that `recent` returned last.
    private var last: EngineConnection?
    package let changed = ChangedConnections()
    /// The number of connections of each session, by session number.
    private var countOfSession: [UInt64: Int] = [:]
    /// The connections whose session has no number, by its secret id.
    private var unnumbered: [Identifier128: Set<ConnectionID>] = [:]
    /// The number of connections that get AUTHORS.
    private(set) var authorFollowerCount = 0

    package init() {}

    package subscript(id: ConnectionID) -> EngineConnection? { self.all[id] }

    /// Returns a connection as the subscript does, and remembers it. For requests and replies: consecutive ones are
    /// often of one connection. The subscribers of a push all differ, and to remember each would only cost.
    func recent(_ id: ConnectionID) -> EngineConnection? {
        if let last = self.last, last.id == id { return last }
        guard let connection = self.all[id] else { return nil }
        self.last = connection
        return connection
    }

    /// The ids of all connections, ascending.
    var ids: [ConnectionID] { self.all.keys.sorted() }

    package func add(
        _ id: ConnectionID,
        sessionID: Identifier128 = Identifier128(high: 0, low: 0),
        session: UInt64,
        scope: AuthorisationScope,
        takesCompressed: Bool = false,
        token: UInt64? = nil,
        subscriptionsMax: Int = Limits.subscriptionsPerConnectionMax,
        user: UserLabel? = nil,
        followsAuthors: Bool = false,
        namesOwnRequests: Bool = false
    ) {
        self.last = nil
        self.all[id] = EngineConnection(
            id,
            self.changed,
            sessionID: sessionID,
            session: session,
            scope: scope,
            takesCompressed: takesCompressed,
            token: token,
            subscriptionsMax: subscriptionsMax,
            user: user,
            followsAuthors: followsAuthors,
            namesOwnRequests: namesOwnRequests
        )
        if followsAuthors { self.authorFollowerCount += 1 }
        self.changed.note(id)
        self.countOfSession[session, default: 0] += 1
        if session == 0 { self.unnumbered[sessionID, default: []].insert(id) }
    }

    /// Removes a connection and returns it; `nil` when there is none.
    package func remove(_ id: ConnectionID) -> EngineConnection? {
        guard let connection = self.all.removeValue(forKey: id) else { return nil }
        self.last = nil
        self.changed.note(id)
        if connection.followsAuthors { self.authorFollowerCount -= 1 }
        self.uncount(connection)
        return connection
    }

    private func uncount(_ connection: EngineConnection) {
        let left = (self.countOfSession[connection.session] ?? 1) - 1
        self.countOfSession[connection.session] = left > 0 ? left : nil
        guard connection.session == 0 else { return }
        self.unnumbered[connection.sessionID]?.remove(connection.id)
        if self.unnumbered[connection.sessionID]?.isEmpty ?? false { self.unnumbered[connection.sessionID] = nil }
    }

    // MARK: Cluster

    /// The sessions without a number, on a follower.
    var unnumberedSessions: [Identifier128] {
        self.unnumbered.keys.sorted()
    }

    /// Gives its number to the connections of a session that had none.
    func number(_ session: Identifier128, _ number: UInt64) {
        guard number > 0, let ids = self.unnumbered[session] else { return }
        for id in ids { if let connection = self.all[id] { self.renumber(connection, number) } }
    }

    /// Takes the numbers that are no longer valid from their connections.
    func removeNumbers(where isInvalid: (UInt64) -> Bool) {
        for connection in self.all.values where connection.session > 0 && isInvalid(connection.session) {
            self.renumber(connection, 0)
        }
    }

    private func renumber(_ connection: EngineConnection, _ number: UInt64) {
        self.uncount(connection)
        connection.session = number
        self.countOfSession[number, default: 0] += 1
        if number == 0 { self.unnumbered[connection.sessionID, default: []].insert(connection.id) }
    }

    package func isConnected(session: UInt64) -> Bool { self.countOfSession[session] != nil }

    /// The number of connections that use each token, by token number.
    var countsOfTokens: [UInt64: Int] {
        var counts: [UInt64: Int] = [:]
        for connection in self.all.values { if let token = connection.token { counts[token, default: 0] += 1 } }
        return counts
    }
}

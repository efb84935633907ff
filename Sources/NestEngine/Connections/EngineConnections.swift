import NestModel
import NestProtocol

/// The connections whose changes the standby must learn with the next effects.
package final class ChangedConnections {
    private(set) var ids: [ConnectionID] = []

    package init() {}

    package func note(_ id: ConnectionID) { if self.ids.last != id { self.ids.append(id) } }

    package func take() -> [ConnectionID] {
        guard !self.ids.isEmpty else { return [] }
        defer { self.ids = [] }
        return self.ids
    }
}

/// The connections that the engine serves.
package final class EngineConnections {
    private(set) var all: [ConnectionID: EngineConnection] = [:]
    package let changed = ChangedConnections()
    /// The number of connections of each session, by session number.
    private var countOfSession: [UInt64: Int] = [:]

    package init() {}

    package subscript(id: ConnectionID) -> EngineConnection? { self.all[id] }

    /// The ids of all connections, ascending.
    var ids: [ConnectionID] { self.all.keys.sorted() }

    package func add(
        _ id: ConnectionID,
        session: UInt64,
        scope: AuthorisationScope,
        takesCompressed: Bool = false,
        token: UInt64? = nil,
        subscriptionsMax: Int = Limits.subscriptionsPerConnectionMax
    ) {
        self.all[id] = EngineConnection(
            id,
            self.changed,
            session: session,
            scope: scope,
            takesCompressed: takesCompressed,
            token: token,
            subscriptionsMax: subscriptionsMax
        )
        self.changed.note(id)
        self.countOfSession[session, default: 0] += 1
    }

    /// Removes a connection and returns it; `nil` when there is none.
    package func remove(_ id: ConnectionID) -> EngineConnection? {
        guard let connection = self.all.removeValue(forKey: id) else { return nil }
        self.changed.note(id)
        let left = (self.countOfSession[connection.session] ?? 1) - 1
        self.countOfSession[connection.session] = left > 0 ? left : nil
        return connection
    }

    package func isConnected(session: UInt64) -> Bool { self.countOfSession[session] != nil }

    /// The number of connections that use each token, by token number.
    var countsOfTokens: [UInt64: Int] {
        var counts: [UInt64: Int] = [:]
        for connection in self.all.values { if let token = connection.token { counts[token, default: 0] += 1 } }
        return counts
    }
}

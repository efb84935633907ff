import NestEngine
import NestModel

/// The clients that are present, in the obvious way: one list of everything, searched from its beginning each time.
struct NaivePresence {
    struct Presence {
        var connection: ConnectionID?
        var session: Identifier128
        var scope: ObjectID
        var bytes: [UInt8]
        /// When the connection was lost.
        var lostAt: Int64?
    }

    private(set) var all: [Presence] = []

    mutating func set(_ bytes: [UInt8]?, in scope: ObjectID, by client: PresenceTable.Client) {
        self.all.removeAll { $0.scope == scope && $0.connection == client.id }
        guard let bytes else { return }
        // A lost presence of the session is replaced. Of several, those behind the first may stay until their end.
        if let index = self.all.firstIndex(where: {
            $0.scope == scope && $0.session == client.session && $0.lostAt != nil
        }) {
            self.all.remove(at: index)
        }
        self.all.append(Presence(connection: client.id, session: client.session, scope: scope, bytes: bytes))
    }

    mutating func disconnect(_ id: ConnectionID, isExpelled: Bool, now: Int64) {
        if isExpelled { self.all.removeAll { $0.connection == id } }
        for index in self.all.indices where self.all[index].connection == id {
            self.all[index].connection = nil
            self.all[index].lostAt = now
        }
    }

    /// What is shown in a scope when no client is lost any more, in any order.
    func texts(in scope: ObjectID) -> [String] {
        self.all.filter { $0.scope == scope && $0.lostAt == nil }.map { String(decoding: $0.bytes, as: UTF8.self) }
            .sorted()
    }
}

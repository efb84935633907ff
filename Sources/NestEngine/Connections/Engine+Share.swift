import NestModel
import NestStore

/// The connections that a standby has to be told of with the next effects.
final class ChangedClients {
    private(set) var ids: [ConnectionID] = []

    func note(_ id: ConnectionID) { if self.ids.last != id { self.ids.append(id) } }

    func take() -> [ConnectionID] {
        guard !self.ids.isEmpty else { return [] }
        defer { self.ids = [] }
        return self.ids
    }
}

/// What of a batch a standby answered while its writes ran.
package struct AnsweredAside: Sendable {
    package struct Request: Hashable, Sendable {
        package var connection: ConnectionID
        package var requestID: UInt32

        package init(_ connection: ConnectionID, _ requestID: UInt32) {
            self.connection = connection
            self.requestID = requestID
        }
    }

    package var requests: Set<Request> = []
    package var welcomed: Set<ConnectionID> = []

    package init() {}

    /// Takes away what the engine need not answer any more.
    func remove(from later: inout [EngineInput], _ effects: inout [EngineEffect]) {
        if !self.requests.isEmpty {
            later.removeAll { input in
                guard case .request(let id, let requestID, _) = input else { return false }
                return self.requests.contains(Request(id, requestID))
            }
        }
        if !self.welcomed.isEmpty {
            effects.removeAll { effect in
                guard case .welcome(let id, _) = effect else { return false }
                return self.welcomed.contains(id)
            }
        }
    }
}

extension Engine {
    /// A standby answered the HELLO of a connection that is refused now.
    func forgetWelcomed(_ id: ConnectionID, _ session: Identifier128) {
        let number = self.sessions.number(of: session)
        self.sessions.numbers.release(number)
        self.changedClients.note(id)
        if self.connectionsOfSession[number] == nil { self.sessions.forget(number) }
    }

    /// Has `deliver` hand out the effects of a batch, in one step with what a standby knows of the engine. Costs nothing but a
    /// comparison when nothing has changed that a standby has to know; otherwise a lock, which is free while the engine
    /// is quick. `hasWrites`: there were writes in the batch.
    package func handOut(turn: UInt64, hasWrites: Bool, _ deliver: () -> Void) {
        let changed = self.changedClients.take()
        let hasNewTokens = self.tokenChanges != self.tokenChangesShared
        let oldest = self.store.oldestBase
        // Also what had waited for its turn since an earlier batch may have been written.
        let hasWrites = hasWrites || self.store.head != self.headShared
        self.headShared = self.store.head
        guard hasWrites || hasNewTokens || !changed.isEmpty || oldest != self.oldestShared else { return deliver() }
        self.tokenChangesShared = self.tokenChanges
        self.oldestShared = oldest
        self.share.handOut(
            EngineShare.Progress(head: self.store.head, oldestRevision: oldest, turn: turn),
            clients: changed.map { id in
                let client = self.connections[id].map { connection in
                    var client = EngineShare.Client(
                        scope: connection.scope,
                        takesCompressed: connection.takesCompressed
                    )
                    client.isWaiting = connection.isWaiting || self.turns.holds(id) || !connection.waiting.isEmpty
                    return client
                }
                return (id, client)
            },
            tokens: hasNewTokens ? Set(self.tokens.all.keys) : nil,
            deliver
        )
    }
}

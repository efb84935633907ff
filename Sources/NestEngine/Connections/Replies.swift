import NestModel
import NestStore

/// Sends replies. Holds them back from connections that lag: a reply must not overtake the diffs that contain its
/// write.
struct Replies {
    let connections: EngineConnections
    let admission: Admission
    let changeFeeds: ChangeFeeds
    let authors: RevisionAuthors

    func send(
        _ reply: consuming EngineReply,
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ effects: inout [EngineEffect]
    ) {
        guard let connection = self.connections.recent(id) else { return }
        if reply.hasConflicts { reply = self.withUsers(reply, connection.scope) }
        if connection.isWaiting {
            connection.heldReplies.append((requestID, reply))
        } else {
            let byteCount = reply.byteCount
            effects.append(.reply(id, requestID: requestID, consume reply))
            self.admission.charge(byteCount, to: connection, &effects)
        }
    }

    /// Returns the reply with the users of an undo's conflicts. Nothing stores them with the answer that is kept for a
    /// retry: another client may not know the same users. Without them if the journal cannot be read: the write is
    /// durable and has its answer.
    private func withUsers(_ reply: EngineReply, _ scope: AuthorisationScope) -> EngineReply {
        guard case .receipt(var receipt) = reply else { return reply }
        try? self.authors.fill(&receipt.conflicts, for: scope)
        return .receipt(receipt)
    }

    /// Sends the change sets and replies that waited for the connection's lagging subscriptions.
    func release(_ connection: EngineConnection, _ effects: inout [EngineEffect]) {
        let held = connection.heldReplies
        connection.heldReplies = []
        self.changeFeeds.sendNextPages(connection, &effects)
        for (requestID, reply) in held {
            effects.append(.reply(connection.id, requestID: requestID, reply))
            self.admission.charge(reply.byteCount, to: connection, &effects)
        }
    }
}

extension EngineReply {
    fileprivate var hasConflicts: Bool {
        if case .receipt(let receipt) = self { !receipt.conflicts.isEmpty } else { false }
    }
}

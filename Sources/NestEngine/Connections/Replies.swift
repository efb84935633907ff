/// Sends replies. Holds them back from connections that lag: a reply must not overtake the diffs that contain its
/// write.
struct Replies {
    let connections: EngineConnections
    let admission: Admission
    let changeFeeds: ChangeFeeds

    func send(
        _ reply: EngineReply,
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ effects: inout [EngineEffect]
    ) {
        guard let connection = self.connections[id] else { return }
        if connection.isWaiting {
            connection.heldReplies.append((requestID, reply))
        } else {
            effects.append(.reply(id, requestID: requestID, reply))
            self.admission.charge(reply.byteCount, to: connection, &effects)
        }
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

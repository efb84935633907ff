import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel

/// The live connections of other nodes to this one. A node has one: when it connects again, the earlier connection
/// ends before the engine hears of the new one, so that no request of the earlier one is executed after a request of
/// the new one.
final class PeerRegistry: Sendable {
    private let connections = NIOLockedValueBox<[Identifier128: [ConnectionID: ConnectionLoop]]>([:])

    /// Adds a connection, and ends all others of the node. The future completes when the engine's mailbox has the end
    /// of each: what the new connection submits then comes after everything of theirs. This holds for connections on
    /// any event loops, also if a third one is added meanwhile, because each waits for all that are live.
    func add(_ connection: ConnectionID, of node: Identifier128, on loop: ConnectionLoop) -> EventLoopFuture<Void> {
        let others = self.connections.withLockedValue { connections in
            let others = connections[node, default: [:]]
            connections[node, default: [:]][connection] = loop
            return others
        }
        let ends = others.map { id, loop in loop.eventLoop.submit { loop.connection(id)?.finishReplaced() } }
        return EventLoopFuture.andAllSucceed(ends, on: loop.eventLoop)
    }

    /// Called when the engine's mailbox has the end of the connection.
    func remove(_ connection: ConnectionID, of node: Identifier128) {
        self.connections.withLockedValue { connections in
            connections[node]?[connection] = nil
            if connections[node]?.isEmpty == true { connections[node] = nil }
        }
    }
}

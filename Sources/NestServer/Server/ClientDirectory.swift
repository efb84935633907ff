import NIOCore
import NestEngine
import NestModel
import NestProtocol

/// Lists the connected clients with data from the event loops and the engine, and ends connections.
final class ClientDirectory: Sendable {
    private let loops: [ConnectionLoop]
    private let engine: EngineThread

    init(loops: [ConnectionLoop], engine: EngineThread) {
        self.loops = loops
        self.engine = engine
    }

    /// Returns at most `limit` clients with numbers above `after`, in order. The future never completes when the
    /// engine's thread has ended.
    func clients(above after: UInt64, limit: Int, on eventLoop: any EventLoop) -> EventLoopFuture<[ConnectedClient]> {
        let counts = eventLoop.makePromise(of: [ConnectionID: Int].self)
        self.engine.ask { counts.succeed($0.subscriptionCounts) }
        return counts.futureResult.flatMap { counts in
            let parts = self.loops.map { loop in
                loop.eventLoop.submit {
                    let connections = loop.connections.filter { $0.id.rawValue > after && $0.isReady }.prefix(limit)
                    return connections.map { $0.client(subscriptions: counts[$0.id] ?? 0) }
                }
            }
            return EventLoopFuture.whenAllSucceed(parts, on: eventLoop)
        }.map { parts in
            Array(parts.joined().sorted { $0.number < $1.number }.prefix(limit))
        }
    }

    /// Ends a client's connection. The result is whether there was such a client.
    func kick(_ id: ConnectionID, on eventLoop: any EventLoop) -> EventLoopFuture<Bool> {
        guard let loop = self.loops.first(where: { $0.owns(id) }) else { return eventLoop.makeSucceededFuture(false) }
        return loop.eventLoop.submit {
            guard let connection = loop.connection(id), connection.isReady else { return false }
            connection.kick()
            return true
        }.hop(to: eventLoop)
    }
}

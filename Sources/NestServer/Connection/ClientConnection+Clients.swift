import Logging
import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// The state of a connection that operators can list, and the requests of operators that the I/O layer answers.
extension ClientConnection {
    var isReady: Bool { self.machine.phase == .ready }

    func client(subscriptions: Int) -> ConnectedClient {
        let age = (NIODeadline.now() - self.liveness.openedAt).nanoseconds / 1_000
        let buffered = self.bufferedByteCount
        return ConnectedClient(
            number: self.id.rawValue,
            address: LogText.address(self.context?.channel.remoteAddress),
            name: LogText.cut(self.session.clientName, bytesMax: Limits.nameBytesMax),
            sessionNumber: self.session.number,
            connectedAt: WallClock.now() - age,
            subscriptions: subscriptions,
            requests: self.quota.total,
            requestsInFlight: self.quota.inFlight,
            bytesIn: self.inbound.totalByteCount,
            bytesOut: self.output.writtenByteCount - buffered,
            bytesQueued: self.output.queue.byteCount + buffered,
            user: self.access.user
        )
    }

    func listClients(id: UInt32, _ message: GetClients) {
        let limit = min(message.limit, Limits.clientsPageMax)
        self.answer(id, self.server.clients.clients(above: message.after, limit: limit, on: self.loop.eventLoop)) {
            connection,
            clients in
            connection.send(Clients(clients).frame(id: id))
        }
    }

    func kickClient(id: UInt32, _ message: Kick) throws(NestError) {
        guard message.number != self.id.rawValue else {
            throw NestError(.invalid, "\(self.id) is this connection: close it instead")
        }
        let kicked = ConnectionID(message.number)
        self.answer(id, self.server.clients.kick(kicked, on: self.loop.eventLoop)) { connection, isKicked in
            guard isKicked else {
                return connection.refuse(id: id, NestError(.notFound, "there is no client \(kicked)"))
            }
            connection.server.logger.notice(
                "client.kicked",
                metadata: ["connection": "\(kicked)", "by": "\(connection.id)"]
            )
            connection.send(Done().frame(id: id))
        }
    }

    /// Counts a request as in flight, and answers it when the future completes, if the connection is still open.
    func answer<Value: Sendable>(
        _ id: UInt32,
        _ future: EventLoopFuture<Value>,
        _ reply: @escaping @Sendable (ClientConnection, Value) -> Void
    ) {
        self.quota.begin()
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        future.whenSuccess { value in
            let connection = bound.value
            guard connection.closing == nil else { return }
            connection.quota.answered([id])
            reply(connection, value)
            connection.settle()
        }
    }
}

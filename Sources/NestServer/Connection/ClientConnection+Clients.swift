import Logging
import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// What a connection says of itself to operators, and their requests, which the rim answers.
extension ClientConnection {
    var isReady: Bool { self.machine.phase == .ready }

    func client(subscriptions: Int) -> ConnectedClient {
        let age = (NIODeadline.now() - self.openedAt).nanoseconds / 1_000
        // What the kernel has not taken yet is still here.
        let held = (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        return ConnectedClient(
            number: self.id.rawValue,
            address: LogText.address(self.context?.channel.remoteAddress),
            name: LogText.cut(self.clientName, bytesMax: Limits.nameBytesMax),
            sessionNumber: self.sessionNumber,
            connectedAt: WallClock.now() - age,
            subscriptions: subscriptions,
            requests: self.requestCount,
            requestsInFlight: self.requestsInFlight,
            bytesIn: self.bytesRead,
            bytesOut: self.bytesWritten - held,
            bytesQueued: self.output.byteCount + held
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
            throw NestError(.invalid, "\(self.id) is this connection; it ends by itself")
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

    /// An operator ends the connection: what is in flight is not waited for.
    func kick() {
        let goAway = GoAway(
            code: .shuttingDown,
            lastRequestID: self.machine.lastRequestID,
            retryAfterMilliseconds: 1_000,
            message: "an operator has ended the connection"
        )
        self.finish(.kicked, last: goAway.frame(id: 0))
    }

    /// Counts a request, and answers it when the future is there and the connection still is.
    private func answer<Value: Sendable>(
        _ id: UInt32,
        _ future: EventLoopFuture<Value>,
        _ reply: @escaping @Sendable (ClientConnection, Value) -> Void
    ) {
        self.begin()
        let bound = NIOLoopBound(self, eventLoop: self.loop.eventLoop)
        future.whenSuccess { value in
            let connection = bound.value
            guard connection.closing == nil else { return }
            connection.answered([id])
            reply(connection, value)
            connection.settle()
        }
    }
}

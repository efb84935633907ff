import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// The ways in which the server ends a connection.
extension ClientConnection {
    /// Ends the connection with an error, which the client gets.
    func fail(_ error: NestError, _ reason: CloseReason? = nil) {
        self.finish(reason ?? .error(error.code), last: ErrorMessage(error).frame(id: 0))
    }

    /// Ends the connection after `last` has gone out: shuts the output, and reads on until the peer closes or the time
    /// to linger is over, because closing with bytes unread would make the kernel throw `last` away.
    func finish(_ reason: CloseReason, last: ByteBuffer? = nil) {
        guard self.closing == nil, self.context != nil else { return }
        let waiting = self.output.queue.takeAll()
        // Whatever the server sends, its preface comes first.
        let needsPreface = self.machine.phase == .preface
        self.end(reason)
        self.writeLast(waiting, last, needsPreface: needsPreface)
        self.releaseRead()
    }

    /// Ends the connection now.
    func cut(_ reason: CloseReason) {
        self.end(reason)
        self.context?.close(promise: nil)
    }

    /// The token was revoked: drops what waits to be sent.
    func expel(_ error: NestError) {
        self.output.queue.removeAll()
        self.fail(error)
    }

    /// The server requires tokens from now on: ends the connection of a client that logged in without one.
    func expelAnonymous() {
        guard self.outbox.isRegistered, self.access.token == nil else { return }
        self.fail(Self.unauthenticated)
    }

    func finishSlowConsumer() {
        self.finishNow(
            .slowConsumer,
            .slowConsumer,
            "the connection does not take what is sent to it: connect again and resume"
        )
    }

    /// The client sends too many control frames.
    func finishFlood() {
        self.loop.count { $0.floods += 1 }
        let rate = self.server.configuration.controlFrames.perSecond
        self.finishNow(.limitExceeded, .flood, "more than \(rate) frames a second that ask for nothing")
    }

    /// All connections together hold too much, and this one most.
    func finishShed() {
        self.finishNow(
            .busy,
            .shed,
            "the server's connections hold too much, and this one most: connect again and resume"
        )
    }

    /// Ends the connection at once by GOAWAY, or by ERROR before WELCOME; drops what waits to be sent.
    private func finishNow(_ code: ErrorCode, _ reason: CloseReason, _ message: String) {
        self.output.queue.removeAll()
        guard self.machine.phase == .ready || self.machine.phase == .draining else {
            let error = ErrorMessage(NestError(code, message), retryAfterMilliseconds: 1_000)
            return self.finish(reason, last: error.frame(id: 0))
        }
        self.finish(reason, last: self.goAway(code, message).frame(id: 0))
    }

    /// The connection is one too many: it gets no slot.
    func finishBusy(_ message: String) {
        let error = ErrorMessage(NestError(.busy, message), retryAfterMilliseconds: 1_000)
        self.finish(.busy, last: error.frame(id: 0))
    }

    /// An operator ends the connection, whatever is in flight.
    func kick() {
        self.finish(.kicked, last: self.goAway(.shuttingDown, "an operator has ended the connection").frame(id: 0))
    }

    private func goAway(_ code: ErrorCode, _ message: String, retryAfterMilliseconds: Int = 1_000) -> GoAway {
        GoAway(
            code: code,
            lastRequestID: self.machine.lastRequestID,
            retryAfterMilliseconds: retryAfterMilliseconds,
            message: message
        )
    }

    // MARK: Draining

    /// The server stops: the connection takes no new request, and closes when those taken are answered.
    func drain() {
        guard self.closing == nil else { return }
        guard self.machine.drain() else { return self.finish(.shutdown) }
        // Spread, so that not all clients meet a restarted server at once.
        let retry = 500 + Int.random(in: 0..<1_500)
        self.send(self.goAway(.shuttingDown, "the server is stopping", retryAfterMilliseconds: retry).frame(id: 0))
        self.settle()
    }

    func finishIfDrained() {
        if self.machine.phase == .draining, self.isIdle { self.finish(.shutdown) }
    }

    /// Whether the client waits for nothing any more.
    private var isIdle: Bool {
        self.quota.inFlight == 0 && self.transfers.isEmpty && self.output.queue.isEmpty
    }
}

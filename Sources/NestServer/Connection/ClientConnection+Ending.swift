import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// The ways to end a connection.
extension ClientConnection {
    /// Sends the client an error and ends the connection.
    func fail(_ error: NestError, _ reason: CloseReason? = nil) {
        self.finish(reason ?? .error(error.code), last: ErrorMessage(error).frame(id: 0))
    }

    /// Sends `last` and ends the connection. Shuts the output, and keeps reading until the peer closes or the time to
    /// linger is over: closing a socket with unread bytes would make the kernel discard `last`.
    func finish(_ reason: CloseReason, last: ByteBuffer? = nil) {
        guard self.closing == nil, self.context != nil else { return }
        let waiting = self.output.queue.takeAll()
        // The preface must be the first thing that the server sends.
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

    /// Ends the connection because its token was revoked or has expired. Drops the queued output.
    func expel(_ error: NestError) {
        self.output.queue.removeAll()
        self.fail(error)
    }

    /// Ends the connection if its client logged in without a token. Called when the server starts to require tokens.
    func expelAnonymous() {
        guard self.peer == nil else { return self.endAnonymousPorts() }
        guard self.outbox.isRegistered, self.access.token == nil else { return }
        self.fail(Self.unauthenticated)
    }

    func finishSlowConsumer() {
        self.finishNow(
            .slowConsumer,
            .slowConsumer,
            "the client reads too slowly: connect again and resume"
        )
    }

    /// Ends the connection because the client sends too many control frames.
    func finishFlood() {
        self.loop.count { $0.floods += 1 }
        let rate = self.server.configuration.controlFrames.perSecond
        self.finishNow(.limitExceeded, .flood, "the client sends more than \(rate) control frames a second")
    }

    /// Ends the connection because all connections together hold too much memory, and this one holds the most.
    func finishShed() {
        self.finishNow(
            .busy,
            .shed,
            "the server's connections hold too much memory, and this one holds the most: connect again and resume"
        )
    }

    /// Ends the connection of a node that has connected again.
    func finishReplaced() { self.finishNow(.shuttingDown, .replaced, "this node has connected again") }

    /// Ends the connection with GOAWAY, or with ERROR before WELCOME. Drops the queued output.
    private func finishNow(_ code: ErrorCode, _ reason: CloseReason, _ message: String) {
        self.output.queue.removeAll()
        guard self.machine.phase == .ready || self.machine.phase == .draining else {
            let error = ErrorMessage(NestError(code, message), retryAfterMilliseconds: 1_000)
            return self.finish(reason, last: error.frame(id: 0))
        }
        self.finish(reason, last: self.goAway(code, message).frame(id: 0))
    }

    /// Ends the connection because no slot is free.
    func finishBusy(_ message: String) {
        let error = ErrorMessage(NestError(.busy, message), retryAfterMilliseconds: 1_000)
        self.finish(.busy, last: error.frame(id: 0))
    }

    /// Ends the connection for an operator, even with requests in flight.
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

    /// Starts to end the connection because the server stops or opens its store again. The connection accepts no new
    /// request, and closes when all accepted requests are answered.
    func drain(_ reason: DrainReason) {
        guard self.closing == nil else { return }
        guard self.machine.drain() else { return self.finish(.shutdown) }
        let retry = Int.random(in: reason.retryMilliseconds)
        self.send(self.goAway(reason.code, reason.message, retryAfterMilliseconds: retry).frame(id: 0))
        self.settle()
    }

    func finishIfDrained() {
        if self.machine.phase == .draining, !self.awaitGate(), self.isIdle { self.finish(.shutdown) }
    }

    /// Whether no request, transfer or output is left.
    private var isIdle: Bool {
        self.quota.inFlight == 0 && self.transfers.isEmpty && self.output.queue.isEmpty
    }
}

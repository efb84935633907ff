import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// What time does to a connection. Called about once a second.
extension ClientConnection {
    func sweep(now: NIODeadline) {
        self.reportBytes()
        self.recount()
        let timing = self.server.configuration.timing
        if self.closing != nil {
            if now >= self.closingAt + timing.linger { self.context?.close(promise: nil) }
            return
        }
        switch self.machine.phase {
        case .preface, .hello:
            if now >= self.openedAt + timing.handshake {
                let error = NestError(.timedOut, "no HELLO within \(timing.handshake.nanoseconds / 1_000_000) ms")
                self.fail(error, .handshakeTimeout)
            }
        case .greeting, .closed:
            break
        case .ready, .draining:
            self.checkOutput(now: now)
            self.checkSilence(now: now)
            self.checkFrame(now: now)
        }
    }

    private func checkOutput(now: NIODeadline) {
        guard let channel = self.context?.channel else { return }
        let isWaiting = !self.output.isEmpty || !channel.isWritable
        // What the channel holds back does not count as written.
        let held = isWaiting ? (try? channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 : 0
        let isStalled = self.liveness.isStalled(
            now: now,
            isWaiting: isWaiting,
            bytesWritten: self.bytesWritten - held,
            limit: self.server.configuration.timing.outputStall
        )
        if isStalled { self.finishSlowConsumer() }
    }

    /// A frame that has begun must come to its end: bytes that trickle in are no sign of life for ever.
    private func checkFrame(now: NIODeadline) {
        guard self.closing == nil else { return }
        guard self.inbound.readableBytes > 0, !self.isReadHeld else { return self.frameWait = nil }
        guard let wait = self.frameWait, wait.framesTaken == self.framesTaken else {
            return self.frameWait = (self.framesTaken, now)
        }
        let seconds = Int64(self.decoder.awaitedBytes(self.inbound) / Limits.frameBytesPerSecondMin)
        guard now >= wait.since + self.server.configuration.timing.frame + .seconds(seconds) else { return }
        self.fail(NestError(.timedOut, "a frame came too slowly"), .slowFrame)
    }

    private func checkSilence(now: NIODeadline) {
        guard self.closing == nil else { return }
        // A connection that is not being read cannot be heard.
        if self.hasHeard || self.isReadHeld {
            self.hasHeard = false
            self.liveness.heard(now: now)
            return
        }
        let timing = self.server.configuration.timing
        switch self.liveness.check(now: now, interval: timing.pingInterval, timeout: timing.pingTimeout) {
        case .none:
            break
        case .ping:
            self.send(Ping(payload: UInt64(now.uptimeNanoseconds)).frame(id: 0))
            self.settle()
        case .silent:
            self.cut(.silent)
        }
    }
}

import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Time-outs.
extension ClientConnection {
    /// Checks the connection's time-outs. The loop calls this about once a second.
    func sweep(now: NIODeadline) {
        self.reportBytes()
        self.recount()
        let timing = self.server.configuration.timing
        if self.closing != nil {
            if self.liveness.isLingerOver(now: now, limit: timing.linger) { self.context?.close(promise: nil) }
            return
        }
        switch self.machine.phase {
        case .preface, .hello:
            if self.liveness.isHandshakeLate(now: now, limit: timing.handshake) {
                let error = NestError(.timedOut, "no HELLO within \(timing.handshake.nanoseconds / 1_000_000) ms")
                self.fail(error, .handshakeTimeout)
            }
        case .greeting, .closed:
            break
        case .ready, .draining:
            // By the clock of the day, which may be set: the rest of the token's time is not a timer.
            if self.access.isExpired(at: self.server.configuration.now()) { return self.expel(Self.tokenExpired) }
            self.checkOutput(now: now, timing)
            self.checkSilence(now: now, timing)
            self.checkFrame(now: now, timing)
            if self.peer?.stream != nil {
                self.sendLogHead()
                self.settle()
            }
        }
    }

    private func checkOutput(now: NIODeadline, _ timing: ServerConfiguration.Timing) {
        guard let channel = self.context?.channel else { return }
        let isWaiting = !self.output.queue.isEmpty || !channel.isWritable
        // Bytes that the channel still buffers do not count as written.
        let held = isWaiting ? self.bufferedByteCount : 0
        let isStalled = self.liveness.isStalled(
            now: now,
            isWaiting: isWaiting,
            bytesWritten: self.output.writtenByteCount - held,
            limit: timing.outputStall
        )
        if isStalled { self.finishSlowConsumer() }
    }

    private func checkFrame(now: NIODeadline, _ timing: ServerConfiguration.Timing) {
        guard self.closing == nil else { return }
        let isArriving = self.inbound.byteCount > 0 && !self.inbound.isReadHeld
        let isLate = self.liveness.isFrameLate(
            now: now,
            frame: isArriving ? self.inbound.frameCount : nil,
            limit: timing.frame + .seconds(Int64(self.inbound.awaitedByteCount / Limits.frameBytesPerSecondMin))
        )
        if isLate { self.fail(NestError(.timedOut, "a frame arrived too slowly"), .slowFrame) }
    }

    private func checkSilence(now: NIODeadline, _ timing: ServerConfiguration.Timing) {
        guard self.closing == nil else { return }
        // While the server does not read, silence means nothing.
        if self.liveness.takeHeard() || self.inbound.isReadHeld { return self.liveness.heard(now: now) }
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

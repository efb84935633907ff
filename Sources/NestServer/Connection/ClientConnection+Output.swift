import DequeModule
import Logging
import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// What the connection sends: everything goes through here, in order, and never faster than the socket takes it.
extension ClientConnection {
    /// Writes, or queues while the socket is full. Nothing leaves before the next `settle`.
    func send(_ buffer: ByteBuffer) {
        guard self.closing == nil, self.context != nil else { return }
        if self.output.isEmpty, self.isChannelWritable {
            self.write(buffer)
        } else {
            self.output.append(.bytes(buffer))
        }
    }

    /// The same, compressed when the client knows that. Made in `pump`, so that no delivery takes the event loop for long.
    func send(_ frame: CompressibleFrame) {
        guard self.closing == nil, self.context != nil else { return }
        self.output.append(.frame(frame))
    }

    /// Answers a request with an error.
    func refuse(id: UInt32, _ error: NestError) {
        self.loop.count { $0.errors += 1 }
        self.server.logger.debug(
            "request.refused",
            metadata: ["connection": "\(self.id)", "request": "\(id)", "code": "\(error.code)"]
        )
        self.send(ErrorMessage(error, retryAfterMilliseconds: error.code.retry == .later ? 1_000 : 0).frame(id: id))
    }

    /// Whether a stream may send its next chunk: only when everything else is out.
    var isWritable: Bool {
        self.closing == nil && self.output.isEmpty && self.context?.channel.isWritable == true
    }

    /// Moves what waits to the socket as long as it takes it, and tells the engine when that changes.
    func pump() {
        guard let context = self.context, !self.isPumpPaused else { return }
        self.output.beginTurn()
        while self.closing == nil, !self.output.isEmpty {
            // A flush writes at once what the kernel takes, so the channel may be writable again after it.
            if !context.channel.isWritable { self.flushIfDue() }
            guard context.channel.isWritable, let content = self.output.popFirst() else { break }
            self.write(content)
        }
        self.flushIfDue()
        guard !self.output.isTurnOver else { return self.pausePump() }
        switch self.output.settle(isWritable: context.channel.isWritable) {
        case .none:
            break
        case .blocked:
            self.loop.count { $0.blocked += 1 }
            self.tell(.blocked(self.id))
        case .drained:
            self.tell(.drained(self.id))
        }
    }

    /// Leaves the event loop to other connections before more large frames are made.
    private func pausePump() {
        guard let context = self.context, self.closing == nil else { return }
        self.isPumpPaused = true
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.turnPause) {
            self.isPumpPaused = false
            self.settle()
        }
    }

    private func write(_ content: OutputQueue.Content) {
        switch content {
        case .bytes(let buffer):
            self.write(buffer)
        case .frame(let frame):
            self.write(frame.buffer(self.features.contains(.compressedFrames) ? self.loop.compressor : nil))
        }
    }

    private func write(_ buffer: ByteBuffer) {
        self.bytesWritten += buffer.readableBytes
        self.unflushedByteCount += buffer.readableBytes
        self.isFlushDue = true
        self.context?.write(self.wrapOutboundOut(buffer), promise: nil)
        // TLS keeps what is not flushed from the socket's queue, which then would never say that it is full.
        if self.unflushedByteCount >= Limits.socketBytesHigh { self.flushIfDue() }
    }

    func flushIfDue() {
        guard self.isFlushDue else { return }
        self.isFlushDue = false
        self.unflushedByteCount = 0
        self.context?.flush()
    }

    // MARK: Ending

    /// Ends the connection with an error, which the client is told.
    func fail(_ error: NestError, _ reason: CloseReason? = nil) {
        self.finish(reason ?? .error(error.code), last: ErrorMessage(error).frame(id: 0))
    }

    /// Ends the connection after `last` has gone out: shuts the output, and reads on until the peer closes or the
    /// time to linger is over, because closing with bytes unread would make the kernel throw `last` away.
    func finish(_ reason: CloseReason, last: ByteBuffer? = nil) {
        guard self.closing == nil, let context = self.context else { return }
        for content in self.output.takeAll() {
            switch content {
            case .bytes(let buffer): self.write(buffer)
            // Not compressed: there is no later turn.
            case .frame(let frame): self.write(frame.buffer(nil))
            }
        }
        // Whatever the server says, its preface comes first.
        let owesPreface = self.machine.phase == .preface
        self.end(reason)
        if let last {
            if owesPreface { self.write(ByteBuffer(bytes: Preface.server(chosen: ProtocolVersion.highest).bytes)) }
            self.write(last)
        }
        self.isFlushDue = false
        context.flush()
        context.close(mode: .output, promise: nil)
        guard self.isReadHeld else { return }
        self.isReadHeld = false
        context.read()
    }

    /// Ends the connection now.
    func cut(_ reason: CloseReason) {
        self.end(reason)
        self.context?.close(promise: nil)
    }

    func finishSlowConsumer() {
        self.leave(
            .slowConsumer,
            .slowConsumer,
            "the connection does not take what is sent to it: connect again and resume"
        )
    }

    /// The connection asks for nothing too often.
    func finishFlood() {
        self.loop.count { $0.floods += 1 }
        let rate = self.server.configuration.lightFrames.perSecond
        self.leave(.limitExceeded, .flood, "more than \(rate) frames a second that ask for nothing")
    }

    /// All connections together hold too much, and this one most.
    func finishShed() {
        self.leave(.busy, .shed, "the server's connections hold too much, and this one most: connect again and resume")
    }

    /// Ends the connection at once by GOAWAY, or by ERROR before WELCOME; what waits to be sent is dropped.
    private func leave(_ code: ErrorCode, _ reason: CloseReason, _ message: String) {
        self.output.removeAll()
        guard self.machine.phase == .ready || self.machine.phase == .draining else {
            let error = ErrorMessage(NestError(code, message), retryAfterMilliseconds: 1_000)
            return self.finish(reason, last: error.frame(id: 0))
        }
        let goAway = GoAway(
            code: code,
            lastRequestID: self.machine.lastRequestID,
            retryAfterMilliseconds: 1_000,
            message: message
        )
        self.finish(reason, last: goAway.frame(id: 0))
    }

    /// Tells a connection over the limit that it is not served.
    func refuse(_ message: String) {
        let error = ErrorMessage(NestError(.busy, message), retryAfterMilliseconds: 1_000)
        self.finish(.busy, last: error.frame(id: 0))
    }

    /// The server stops: takes no new request, and closes when those taken are answered.
    func drain() {
        guard self.closing == nil else { return }
        guard self.machine.drain() else { return self.finish(.shutdown) }
        let goAway = GoAway(
            code: .shuttingDown,
            lastRequestID: self.machine.lastRequestID,
            // Spread, so that a server that starts again is not met by all its clients at once.
            retryAfterMilliseconds: 500 + Int.random(in: 0..<1_500),
            message: "the server is stopping"
        )
        self.send(goAway.frame(id: 0))
        self.settle()
    }

    func finishIfDrained() {
        if self.machine.phase == .draining, self.isIdle { self.finish(.shutdown) }
    }
}

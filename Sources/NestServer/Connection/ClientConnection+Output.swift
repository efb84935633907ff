import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// The connection's output. All of it passes through here, in order, and never faster than the socket accepts it.
extension ClientConnection {
    /// Writes `buffer`, or queues it while the socket is full. The next `settle` flushes.
    func send(_ buffer: ByteBuffer) {
        guard self.closing == nil, self.context != nil else { return }
        if self.output.mayWriteAtOnce {
            self.write(buffer)
        } else {
            self.output.queue.append(.bytes(buffer))
        }
    }

    /// Queues a frame that is compressed if the client supports it. `pump` compresses it, so that one delivery does not
    /// occupy the event loop for long.
    func send(_ frame: CompressibleFrame) {
        guard self.closing == nil, self.context != nil else { return }
        self.output.queue.append(.frame(frame))
    }

    /// Answers a request with an error.
    func refuse(id: UInt32, _ error: NestError) {
        self.loop.count { $0.errors += 1 }
        self.logRefused(request: id, error)
        self.send(ErrorMessage(error, retryAfterMilliseconds: error.code.retry == .later ? 1_000 : 0).frame(id: id))
    }

    /// Whether a stream may send its next chunk: only when no other output is queued and the socket is not full.
    var isWritable: Bool {
        self.closing == nil && self.output.queue.isEmpty && self.context?.channel.isWritable == true
    }

    /// Writes queued output until the socket is full, and notifies the engine when the connection becomes blocked or
    /// drained.
    func pump() {
        guard let context = self.context, !self.output.isPumpPaused else { return }
        self.output.queue.beginTurn()
        while self.closing == nil, !self.output.queue.isEmpty {
            // A flush passes bytes to the kernel, so the channel may be writable again after it.
            if !context.channel.isWritable { self.flushIfDue() }
            guard context.channel.isWritable, let content = self.output.queue.popFirst() else { break }
            self.write(content)
        }
        self.flushIfDue()
        guard !self.output.queue.isTurnOver else { return self.pausePump() }
        switch self.output.queue.settle(isWritable: context.channel.isWritable) {
        case .none:
            break
        case .blocked:
            self.loop.count { $0.blocked += 1 }
            self.outbox.appendIfRegistered(.blocked(self.id))
        case .drained:
            self.outbox.appendIfRegistered(.drained(self.id))
        }
    }

    /// Lets other connections use the event loop before this one makes more large frames.
    private func pausePump() {
        guard let context = self.context, self.closing == nil else { return }
        self.output.isPumpPaused = true
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.turnPause) {
            self.output.isPumpPaused = false
            self.settle()
        }
    }

    private func write(_ content: OutputQueue.Content) {
        switch content {
        case .bytes(let buffer):
            self.write(buffer)
        case .frame(let frame):
            let isCompressed = self.session.features.contains(.compressedFrames)
            self.write(frame.buffer(isCompressed ? self.loop.compressor : nil))
        }
    }

    /// Output over plain TCP goes past the channel while that holds nothing: see `DirectOutput`.
    private func write(_ buffer: ByteBuffer) {
        if self.direct.gate != nil { self.passGate() }
        if !self.direct.hasRoom(for: buffer.readableBytes) { self.flushIfDue() }
        let isDirect = self.direct.holdsBytes || self.direct.isOpen && self.isChannelEmpty
        let mustFlush = self.output.wrote(buffer.readableBytes)
        if isDirect {
            self.direct.hold(buffer)
        } else {
            self.context?.write(self.wrapOutboundOut(buffer), promise: nil)
        }
        if mustFlush { self.flushIfDue() }
    }

    /// Whether the channel has passed all bytes on to the kernel.
    private var isChannelEmpty: Bool {
        if self.output.uncountedByteCount == 0 { return true }
        guard self.bufferedByteCount == 0 else { return false }
        self.output.notePassedOn()
        return true
    }

    func flushIfDue() {
        guard self.output.takeFlush(), let context = self.context else { return }
        if self.direct.holdsBytes {
            assert(context.channel.isActive, "the descriptor is still the channel's")
            if let gate = self.loop.gate, self.direct.flush(into: gate, of: self.id, opened: self.opened(gate)) {
                return
            }
            guard let rest = self.direct.flush() else { return self.output.notePassedOn() }
            context.write(self.wrapOutboundOut(rest), promise: nil)
        }
        context.flush()
    }

    /// Writes the waiting output and then `last`, and shuts the output. `needsPreface`: whether the server's preface
    /// has not been sent yet.
    func writeLast(_ waiting: some Sequence<OutputQueue.Content>, _ last: ByteBuffer?, needsPreface: Bool) {
        self.passGate()
        for content in waiting {
            switch content {
            case .bytes(let buffer): self.write(buffer)
            // Not compressed: this is the last turn, and compressing everything in it could take long.
            case .frame(let frame): self.write(frame.buffer(nil))
            }
        }
        if let last {
            if needsPreface { self.write(ByteBuffer(bytes: Preface.server(chosen: ProtocolVersion.highest).bytes)) }
            self.write(last)
        }
        self.flushIfDue()
        self.context?.close(mode: .output, promise: nil)
    }
}

// MARK: The gate

/// Output of a batch that is not durable yet.
extension ClientConnection {
    /// Prepares the connection for a delivery through a gate. Returns false if other output may be before it.
    func prepareForGate() -> Bool {
        if self.direct.gate?.isDone == true { self.leaveGate() }
        return self.closing == nil && self.direct.isOpen && self.direct.gate == nil && self.output.mayWriteAtOnce
            && self.isChannelEmpty
    }

    /// Returns true if the connection must wait for a gate before it can end. It is settled when the gate is open.
    func awaitGate() -> Bool {
        guard let gate = self.direct.gate else { return false }
        if !gate.isDone, gate.setAside(self.id) { return true }
        self.leaveGate()
        return false
    }

    /// Called before every write. Sets aside what waits for a closed gate, unless the write is of the same delivery.
    private func passGate() {
        guard let gate = self.direct.gate, gate !== self.loop.gate else { return }
        if gate.isDone || !gate.setAside(self.id) { self.leaveGate() }
    }

    private func opened(_ gate: OutputGate) -> @Sendable () -> Void {
        let (loop, id) = (self.loop, self.id)
        return { loop.eventLoop.execute { loop.connection(id)?.gateOpened(gate) } }
    }

    private func gateOpened(_ gate: OutputGate) {
        if self.direct.gate === gate { self.leaveGate() }
        self.settle()
    }

    private func leaveGate() {
        switch self.direct.leaveGate(self.id) {
        case .none: break
        case .aside(let bytes):
            self.output.takeBack(bytes.readableBytes)
            self.send(bytes)
        case .unsent(let rest):
            self.output.noteUnsent(rest.readableBytes)
            self.context?.write(self.wrapOutboundOut(rest), promise: nil)
            self.context?.flush()
        }
    }
}

import NIOCore
import NIOHTTP1
import NestEngine
import NestModel
import NestProtocol
import NestSecrets

/// A connection of the web port while it speaks HTTP: answers one request after the other, until one of them makes it a
/// WebSocket. Then it leaves the pipeline, and a `ClientConnection` takes its place. It has the bytes, and the codec
/// behind it knows HTTP.
///
///     reading ──head──▶ answering ──all is sent──▶ reading, or lingering
///                           │                          │
///                           └──▶ upgraded              └──the peer closes──▶ (closed)
///
/// It belongs to its event loop: call it only there.
package final class WebConnection: ChannelDuplexHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer
    package typealias OutboundIn = ByteBuffer
    package typealias OutboundOut = ByteBuffer

    enum Phase: Equatable {
        /// Waits for a head, or for the rest of it.
        case reading
        /// Reads and sends an answer, or waits for a moment before the next request that has arrived already.
        case answering
        /// The output has ended: the peer must close.
        case lingering
        /// The channel is being closed: what still arrives is discarded.
        case closing
        /// The handlers of the WebSocket are in the pipeline, and every event is theirs. This one leaves.
        case upgraded
    }

    let id: ConnectionID
    let port: WebPort
    let loop: ConnectionLoop
    var context: ChannelHandlerContext?
    private(set) var phase = Phase.reading
    private(set) var slot = ConnectionSlot()
    private let codec = WebCodec()
    /// Bytes that the codec did not get yet.
    private var buffer = ByteBuffer()
    private var isReadHeld = false
    /// When the phase began, or the answer last made progress. While a head is arriving: when its first byte did.
    private var since = NIODeadline.now()
    /// Requests that got an answer, even if it was that there is no such file.
    private var answeredCount = 0
    /// The file that is being sent.
    private var progress: WebFileProgress?
    private var hasReceived = false
    /// Why the server has ended the connection; `nil`: it has not.
    private var ending: CloseReason?

    package init(_ port: WebPort, loop: ConnectionLoop) {
        self.id = loop.makeConnectionID()
        self.port = port
        self.loop = loop
    }

    // MARK: The channel

    package func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        do {
            try self.codec.add(after: self, to: context.pipeline)
        } catch {
            // The pipeline refuses handlers only when the channel has closed.
            self.cut(.peer)
        }
    }

    package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    package func channelActive(context: ChannelHandlerContext) {
        self.slot.opened(by: context.remoteAddress)
        self.loop.add(self)
        self.takeSlot()
    }

    private func takeSlot() {
        var entry = self.slot.take(from: self.port.limiter)
        if entry != .served, self.loop.evictOldest(of: entry == .full ? nil : self.slot.address) {
            entry = self.slot.take(from: self.port.limiter)
        }
        guard entry != .served else { return }
        self.refuse(WebRefusal(.unavailable, "the server has its maximum number of connections: try again later"))
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.hasReceived = true
        switch self.phase {
        case .lingering, .closing: return self.countReceived(bytes.readableBytes)
        case .reading, .answering, .upgraded: break
        }
        if self.buffer.readableBytes == 0 {
            if self.isIdle { self.since = .now() }
            self.buffer = bytes
        } else {
            self.buffer.discardReadBytes()
            self.buffer.writeBuffer(&bytes)
        }
        self.proceed()
    }

    /// Whether it waits for another request, of which no byte has arrived.
    private var isIdle: Bool {
        self.phase == .reading && self.answeredCount > 0 && self.buffer.readableBytes + self.codec.byteCount == 0
    }

    /// The connection behind a WebSocket counts what belongs to it.
    private func countReceived(_ byteCount: Int) { self.loop.count { $0.bytesIn += byteCount } }

    /// The memory of the bytes that are not handled yet.
    package var bufferCapacity: Int { self.buffer.capacity }

    /// Holds reads back while an answer is sent: TCP then applies backpressure to the peer.
    package func read(context: ChannelHandlerContext) {
        if self.phase == .answering || self.phase == .upgraded { self.isReadHeld = true } else { context.read() }
    }

    package func channelInactive(context: ChannelHandlerContext) {
        self.context = nil
        // The connection behind a WebSocket has the slot.
        if self.phase != .upgraded {
            self.countReceived(self.buffer.readableBytes)
            let rejection = self.rejection
            if rejection != nil { self.port.limiter.rejected() }
            self.slot.leave(self.port.limiter)
            self.loop.remove(self, rejected: rejection)
        }
        context.fireChannelInactive()
    }

    /// Why the connection has ended without an answer; `nil`: there was one. A connection that has sent nothing within
    /// its time does not count: browsers open connections that they may need.
    private var rejection: CloseReason? {
        guard self.answeredCount == 0 else { return nil }
        return self.ending == .handshakeTimeout && !self.hasReceived ? nil : self.ending ?? .peer
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        guard self.phase != .upgraded else { return context.fireErrorCaught(error) }
        self.cut(.peerFailed(LogText.reason(error)))
    }

    // MARK: Requests

    /// Handles the next head, if it is complete.
    private func proceed() {
        guard self.phase == .reading, let context = self.context else { return }
        do throws(WebRefusal) {
            guard let head = try self.nextHead(context) else { return }
            let began = self.since
            self.phase = .answering
            self.since = .now()
            self.handle(head, since: began)
        } catch {
            self.refuse(error)
        }
    }

    private func nextHead(_ context: ChannelHandlerContext) throws(WebRefusal) -> HTTPRequestHead? {
        let byteCount = self.buffer.readableBytes
        defer {
            self.countReceived(byteCount - self.buffer.readableBytes)
            if self.buffer.readableBytes == 0 { self.buffer = ByteBuffer() }
        }
        return try self.codec.nextHead(from: &self.buffer, before: context)
    }

    /// `since`: when the head began to arrive.
    private func handle(_ head: HTTPRequestHead, since: NIODeadline) {
        var keepsConnection = false
        do throws(WebRefusal) {
            keepsConnection = try head.keepsConnection()
            try self.port.gate.check(head, at: self.context?.localAddress)
            guard head.method == .GET || head.method == .HEAD else {
                throw WebRefusal(.methodNotAllowed, "this port answers GET and HEAD")
            }
            let path = try WebPath(target: head.uri)
            guard !path.isProtocol else { return self.upgrade(try WebSocketOffer(head), since: since) }
            self.answer(WebRequest(head, path, keepsConnection: keepsConnection))
        } catch {
            self.refuse(error, isHead: head.method == .HEAD, keepsConnection: keepsConnection)
        }
    }

    // MARK: Answers

    func refuse(_ refusal: WebRefusal, isHead: Bool = false, keepsConnection: Bool = false) {
        if refusal.status != .notFound {
            self.loop.count { $0.webRefused += 1 }
            self.ending = refusal.status == .timedOut ? .handshakeTimeout : .http(refusal.status)
        }
        self.send(.refusal(refusal), isHead: isHead, keepsConnection: keepsConnection)
    }

    /// Sends a whole answer.
    func send(_ answer: WebAnswer, isHead: Bool, keepsConnection: Bool) {
        guard let context = self.context else { return }
        var answer = answer
        answer.keepsConnection = answer.keepsConnection && keepsConnection
        self.phase = .answering
        if answer.isOfFile { self.noteAnswered() }
        let keepsConnection = answer.keepsConnection
        self.write(answer.parts(isHead: isHead), context).whenComplete { result in
            guard case .success = result else { return self.cut(.peer) }
            self.finish(keepsConnection: keepsConnection)
        }
    }

    /// Writes parts of an answer. The future completes when the kernel has them.
    func write(_ parts: [HTTPServerResponsePart], _ context: ChannelHandlerContext) -> EventLoopFuture<Void>.Isolated {
        let written = context.eventLoop.makePromise(of: Void.self)
        self.codec.write(parts, promise: written)
        context.flush()
        return written.futureResult.assumeIsolated()
    }

    /// Counts the bytes of answers. What a WebSocket sends, the connection behind it counts.
    package func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if self.phase != .upgraded {
            let byteCount = self.unwrapOutboundIn(data).readableBytes
            self.loop.count { $0.bytesOut += byteCount }
        }
        context.write(data, promise: promise)
    }

    func beginFile() { self.progress = WebFileProgress(since: .now()) }

    /// Records that the kernel has accepted bytes of a file.
    func noteSent(_ byteCount: Int) {
        self.since = .now()
        self.progress?.byteCount += byteCount
    }

    func noteAnswered() { self.answeredCount += 1 }

    /// Ends an answer, all of which is sent.
    func finish(keepsConnection: Bool) {
        guard let context = self.context, self.phase == .answering else { return }
        self.loop.count { $0.webRequests += 1 }
        self.progress = nil
        self.since = .now()
        guard keepsConnection else {
            // Closing a socket with unread bytes would make the kernel discard the answer.
            self.phase = .lingering
            self.countReceived(self.buffer.readableBytes)
            self.buffer = ByteBuffer()
            context.close(mode: .output, promise: nil)
            return self.releaseRead(context)
        }
        guard self.buffer.readableBytes > 0 else { return self.resume() }
        // Other connections have their turn before the next request of this one.
        context.eventLoop.assumeIsolated().scheduleTask(in: ClientConnection.turnPause) { self.resume() }
    }

    private func resume() {
        guard let context = self.context, self.phase == .answering else { return }
        self.phase = .reading
        self.proceed()
        if self.phase == .reading { self.releaseRead(context) }
    }

    private func releaseRead(_ context: ChannelHandlerContext) {
        guard self.isReadHeld else { return }
        self.isReadHeld = false
        context.read()
    }

    // MARK: WebSocket

    /// Makes the connection a WebSocket, whose client must log in within the time of a handshake since `since`.
    private func upgrade(_ offer: WebSocketOffer, since: NIODeadline) {
        guard let context = self.context else { return }
        self.codec.write([WebAnswer.switching(proof: WebSocketProof.of(key: offer.key)).head], promise: nil)
        let client = self.port.makeClient(self.loop, self.slot, since)
        let handler = WebSocketHandler(loop: self.loop, client: client, controlFrames: self.port.controlFrames)
        do {
            let handlers: [any ChannelHandler] = [WebSocketDecoder.before(handler), handler, client]
            try context.pipeline.syncOperations.addHandlers(handlers, position: .after(self))
        } catch {
            // The pipeline refuses handlers only when the channel has closed.
            return self.cut(.peer)
        }
        self.codec.remove(from: context.pipeline)
        self.phase = .upgraded
        self.slot = ConnectionSlot()
        // The new handlers have not seen the channel become active.
        context.fireChannelActive()
        self.loop.remove(self, rejected: nil)
        self.loop.count { $0.webSockets += 1 }
        // A flush that fails closes the channel before it returns. The new handlers then learn it through this one.
        context.flush()
        guard self.context != nil else { return }
        context.eventLoop.assumeIsolated().execute { self.leave() }
    }

    /// Leaves the pipeline. Bytes that the client has already sent after its head are its first frames.
    private func leave() {
        guard let context = self.context else { return }
        let pipeline = context.pipeline.syncOperations
        let rest = self.buffer
        self.buffer = ByteBuffer()
        if rest.readableBytes > 0 {
            context.fireChannelRead(self.wrapInboundOut(rest))
            context.fireChannelReadComplete()
        }
        guard self.context != nil else { return }
        pipeline.removeHandler(self, promise: nil)
        // From the tail: the client may hold reads back too.
        if self.isReadHeld { pipeline.read() }
    }

    // MARK: Time and the end

    /// Checks the connection's time-outs. The loop calls this about once a second.
    package func sweep(now: NIODeadline) {
        let timing = self.port.timing
        switch self.phase {
        case .reading where self.isIdle:
            if now >= self.since + timing.webIdle { self.cut(.silent) }
        case .reading:
            guard now >= self.since + timing.handshake else { return }
            let milliseconds = timing.handshake.nanoseconds / 1_000_000
            self.refuse(WebRefusal(.timedOut, "no complete request within \(milliseconds) ms"))
        case .answering:
            let isSlow = self.progress?.isLate(now: now, grace: timing.frame) ?? false
            if isSlow || now >= self.since + timing.outputStall { self.cut(.slowConsumer) }
        case .lingering:
            if now >= self.since + timing.linger { self.cut(.peer) }
        case .closing, .upgraded:
            break
        }
    }

    /// Whether a new connection may evict this one: it has no session that would be lost.
    func isEvictable(of address: AddressKey?) -> Bool {
        self.slot.isHeld && (address == nil || address == self.slot.address)
    }

    func evict() {
        self.slot.leave(self.port.limiter)
        self.cut(.evicted)
    }

    /// Ends the connection now.
    func cut(_ reason: CloseReason) {
        if self.ending == nil { self.ending = reason }
        self.phase = .closing
        self.context?.close(promise: nil)
    }
}

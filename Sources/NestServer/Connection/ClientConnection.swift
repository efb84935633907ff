import NIOCore
import NestEngine
import NestModel
import NestProtocol

/// One client's connection: turns bytes into frames, passes requests to the engine, and turns its answers into bytes.
///
/// The connection consists of values that own their state. Each value decides one thing and has no access to the
/// channel; the connection carries out the decisions. `SessionStateMachine` decides how to handle a frame.
///
/// A connection belongs to its event loop: call it only there. Every method is synchronous: a frame is handled
/// completely, in order, before the next one is read.
final class ClientConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: ConnectionID
    let server: ServerContext
    let loop: ConnectionLoop

    // A push to a thousand connections reads these fields and no others, and loading them from memory takes most of the
    // time. So they are next to each other.
    var context: ChannelHandlerContext?
    var output = ConnectionOutput()
    var direct = DirectOutput()
    /// Why the connection ends; `nil` while it is open.
    private(set) var closing: CloseReason?
    var outbox = EngineOutbox()
    /// Bytes that the loop counts for this connection.
    private(set) var heldBytes = 0

    var inbound = InboundReader()
    var quota: RequestQuota
    var machine = SessionStateMachine()
    var session = ClientSession()
    var transfers = Transfers()
    var slot: ConnectionSlot
    var liveness: Liveness
    /// Set for the connection of another node of the cluster.
    var peer: PeerState?

    /// Whether the connection is alone in its pipeline, so that the socket gets the bytes that it writes.
    private let isPlain: Bool

    /// `isPlain`: whether no other handler is in the channel's pipeline. `slot`: the slot of the connection if it has
    /// one already. `since`: the time from which it must log in.
    init(
        server: ServerContext,
        loop: ConnectionLoop,
        isPlain: Bool = false,
        slot: ConnectionSlot = ConnectionSlot(),
        since: NIODeadline? = nil
    ) {
        let now = NIODeadline.now()
        self.id = loop.makeConnectionID()
        self.server = server
        self.loop = loop
        self.isPlain = isPlain
        self.slot = slot
        self.quota = RequestQuota(controlFrames: server.configuration.controlFrames, now: now)
        self.liveness = Liveness(now: now, openedAt: since)
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func channelActive(context: ChannelHandlerContext) {
        self.loop.add(self)
        self.loop.count { $0.connections += 1 }
        if self.isPlain, let descriptor = self.descriptor(context) { self.direct.open(descriptor) }
        context.fireChannelActive()
        if !self.slot.isHeld { self.takeSlot(context.remoteAddress) }
    }

    private func descriptor(_ context: ChannelHandlerContext) -> CInt? {
        try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { $0 }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.liveness.noteBytes()
        self.inbound.count(bytes.readableBytes)
        self.loop.count { $0.bytesIn += bytes.readableBytes }
        guard self.closing == nil else { return }
        self.inbound.append(&bytes)
        self.handleInbound()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.settle()
        self.quota.endRead()
        context.fireChannelReadComplete()
    }

    /// Holds reads back while `mayHandle` is false: TCP then applies backpressure to the peer.
    func read(context: ChannelHandlerContext) {
        if self.closing != nil || self.mayHandle {
            context.read()
        } else {
            self.inbound.holdRead()
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.output.isChannelWritable = context.channel.isWritable
        self.settle()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end(.peer)
        self.direct.close(self.id)
        self.slot.leave(self.server.limiter)
        if !self.session.wasWelcomed { self.server.limiter.rejected() }
        self.server.access.left(self.session.access)
        self.loop.remove(self)
        self.context = nil
        self.logClosed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.cut(.peerFailed(LogText.reason(error)))
    }

    // MARK: After every event

    /// Whether another frame may be handled.
    var mayHandle: Bool {
        self.machine.phase != .greeting
            && self.quota.mayTakeFrame(inFlightMax: self.session.access.requestsInFlightMax)
            && self.output.queue.byteCount <= Limits.outputBytesUnreadMax
    }

    /// Called after every event. Handles received frames that had to wait, writes what the socket accepts, passes
    /// inputs to the engine, and ends a draining connection that is idle. After a delivery through a gate it only
    /// writes that; the loop calls it again without the gate.
    func settle() {
        self.output.endDelivery()
        guard self.loop.gate == nil else { return self.pump() }
        if self.closing == nil {
            self.handleInbound()
            self.pump()
            self.proceedWithDownloads()
            if self.peer != nil { self.proceedWithRecords() }
            self.finishIfDrained()
        }
        self.flushIfDue()
        self.outbox.submit(to: self.server.engine)
        self.hold(self.closing == nil ? self.measureHeld() : 0)
        if self.closing != nil || self.mayHandle { self.releaseRead() }
    }

    /// Does the same after a delivery of pushes only. Pushes do not affect received frames, so most of the work is
    /// skipped.
    func settlePushes() {
        self.output.endDelivery()
        self.pump()
        guard self.closing == nil, self.output.queue.isEmpty, self.outbox.isEmpty, self.heldBytes == 0,
            self.output.uncountedByteCount <= ConnectionOutput.uncountedBytesMax
        else { return self.settle() }
    }

    func releaseRead() {
        if self.inbound.releaseRead() { self.context?.read() }
    }

    // MARK: Memory

    /// The bytes that the channel has accepted and not yet passed to the kernel.
    var bufferedByteCount: Int { (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }

    /// Returns the bytes that the server holds for the connection: input, requests in flight, transfers, and output
    /// that the kernel has not accepted.
    private func measureHeld(isExact: Bool = false) -> Int {
        var buffered = 0
        let uncounted = self.output.uncountedByteCount
        if uncounted > 0, isExact || self.heldBytes > 0 || uncounted > ConnectionOutput.uncountedBytesMax {
            buffered = self.bufferedByteCount
            if buffered == 0 { self.output.notePassedOn() }
        }
        return self.inbound.byteCount + self.quota.byteCount + self.output.queue.byteCount + buffered
            + self.transfers.heldBytes
    }

    private func hold(_ bytes: Int) {
        guard bytes != self.heldBytes else { return }
        let difference = bytes - self.heldBytes
        self.heldBytes = bytes
        self.loop.holds(difference)
    }

    /// Measures exactly how many bytes the connection holds.
    func recount() {
        if self.closing == nil { self.hold(self.measureHeld(isExact: true)) }
    }

    // MARK: The end

    /// Drops all remaining work for the client, and notifies the engine of the end. Later calls do nothing.
    func end(_ reason: CloseReason) {
        guard self.closing == nil else { return }
        self.closing = reason
        self.liveness.ended(now: .now())
        self.machine.close()
        self.session.cancelRefusal()
        self.inbound.removeAll()
        self.output.queue.removeAll()
        self.transfers.cancelAll()
        self.quota.releaseBytes()
        self.hold(0)
        self.endPeer()
        self.outbox.deregister(self.id)
        self.outbox.submit(to: self.server.engine)
    }
}

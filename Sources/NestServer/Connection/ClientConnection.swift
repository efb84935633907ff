import Logging
import NIOConcurrencyHelpers
import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// One client's connection: bytes to frames, frames to the engine, what comes back to bytes.
///
/// Lives on its event loop and is called on it only. Every method is synchronous: a frame is handled completely, in
/// order, before the next one is read. What a frame may do is decided by `SessionStateMachine`.
final class ClientConnection: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let id: ConnectionID
    let server: ServerContext
    let loop: ConnectionLoop

    // What is sent; see ClientConnection+Output.swift. All that a push to many looks at stands together: of a thousand connections it
    // is the memory that takes the time.
    var context: ChannelHandlerContext?
    var output = OutputQueue()
    /// Large frames wait for the next turn.
    var isPumpPaused = false
    var closing: CloseReason?
    var isFlushDue = false
    var isTouched = false
    /// As the channel said last. To ask it takes it into the processor's cache, too.
    var isChannelWritable = true
    var unflushedByteCount = 0
    var bytesWritten = 0
    /// Of `bytesWritten`, those of which the channel is known to have none any more.
    private var countedBytes = 0
    /// What the loop was told that the connection holds.
    private(set) var heldBytes = 0
    var inputs: [EngineInput] = []

    var clientName = ""

    // What was received and not yet understood.
    var inbound = ByteBuffer()
    var decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesBeforeWelcomeMax)
    var isReadHeld = false
    var isHandling = false
    /// Frames that were taken whole, and since when the one that has begun is awaited.
    var framesTaken = 0
    var frameWait: (framesTaken: Int, since: NIODeadline)?
    var lightFrames: TokenBucket
    var lightTurn = FrameTurn(max: Limits.lightFramesPerTurnMax)

    // The conversation.
    var machine = SessionStateMachine()
    /// What both sides know; nothing before WELCOME.
    var features: Features = []
    private(set) var requestsInFlight = 0
    /// Of the session, once there was WELCOME.
    var sessionNumber: UInt64 = 0
    /// Those among them whose answers may be large.
    private var resultsInFlight: Set<UInt32> = []
    /// The bytes of those that are not small.
    private var bytesInFlight: [UInt32: Int] = [:]
    private var byteCountInFlight = 0
    /// What the client may do, once it has been let in.
    var access = Access()
    /// The engine knows of the connection.
    var isConnected = false
    /// The answer to a wrong token, while it waits.
    var refusal: Scheduled<Void>?
    var uploads: [UInt32: Upload] = [:]
    var downloads: [UInt32: Download] = [:]

    /// Counted by the gate as one that is served.
    private var isServed = false
    private var address: AddressKey?
    private var addressText = ""
    private(set) var wasWelcomed = false
    var closingAt = NIODeadline.now()

    // Time and counts. See ClientConnection+Time.swift.
    let openedAt = NIODeadline.now()
    var liveness = Liveness(now: .now())
    var hasHeard = false
    /// Those of them that the server's counters know of.
    private var bytesReported = 0
    private(set) var bytesRead = 0
    var requestCount = 0

    init(server: ServerContext, loop: ConnectionLoop) {
        self.id = loop.makeConnectionID()
        self.server = server
        self.loop = loop
        self.lightFrames = TokenBucket(server.configuration.lightFrames, now: .now())
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
    }

    func channelActive(context: ChannelHandlerContext) {
        self.loop.add(self)
        self.loop.count { $0.connections += 1 }
        context.fireChannelActive()
        self.takePlace(context)
    }

    /// Takes a place, or that of the oldest connection that is no client, or tells the client that there is none. An address
    /// without a place left takes it from itself.
    private func takePlace(_ context: ChannelHandlerContext) {
        self.address = AddressKey(context.remoteAddress)
        self.addressText = LogText.address(context.remoteAddress)
        var entry = self.server.gate.enter(self.address)
        if entry != .served, let oldest = self.loop.takeOldestEvictable(of: entry == .full ? nil : self.address) {
            oldest.leavePlace()
            oldest.cut(.crowdedOut)
            entry = self.server.gate.enter(self.address)
        }
        self.isServed = entry == .served
        switch entry {
        case .served: break
        case .full: self.refuse("the server has as many connections as it may: try again later")
        case .addressFull:
            self.refuse("the server has as many connections from your address as it may: try again later")
        }
    }

    private func leavePlace() {
        guard self.isServed else { return }
        self.isServed = false
        self.server.gate.leave(self.address)
    }

    /// Whether another may have its place: HELLO has not come, or came with a wrong token, or the connection ends without having
    /// been a client. `address`: only if it is from there.
    func isEvictable(of address: AddressKey? = nil) -> Bool {
        guard self.isServed, !self.wasWelcomed, address == nil || address == self.address else { return false }
        return self.machine.phase != .greeting || self.refusal != nil
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.hasHeard = true
        self.bytesRead += bytes.readableBytes
        self.loop.count { $0.bytesIn += bytes.readableBytes }
        guard self.closing == nil else { return }
        if self.inbound.readableBytes == 0 {
            self.inbound = bytes
        } else {
            self.inbound.writeBuffer(&bytes)
        }
        self.handleInbound()
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.settle()
        self.lightTurn.endRead()
        context.fireChannelReadComplete()
    }

    /// Reading is held back while the connection has enough to do: the peer then feels TCP's own back-pressure.
    func read(context: ChannelHandlerContext) {
        if self.closing != nil || self.mayHandle {
            context.read()
        } else {
            self.isReadHeld = true
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.isChannelWritable = context.channel.isWritable
        self.settle()
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end(.peer)
        self.leavePlace()
        if !self.wasWelcomed { self.server.gate.rejected() }
        self.hold(0)
        self.server.access.left(self.access)
        self.loop.remove(self)
        self.context = nil
        self.logClosed()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.cut(.peerFailed(LogText.reason(error)))
    }

    // MARK: What follows

    /// Whether another frame may be taken.
    var mayHandle: Bool {
        self.machine.phase != .greeting
            && !self.lightTurn.isOver
            && self.requestsInFlight < self.access.requestsInFlightMax
            && self.resultsInFlight.count < Limits.resultsInFlightPerConnectionMax
            && self.byteCountInFlight <= Limits.requestBytesInFlightPerConnectionMax
            && self.output.byteCount <= Limits.outputBytesUnreadMax
    }

    /// Gives the engine a request, which it answers by exactly one reply.
    func submit(_ request: EngineRequest, id: UInt32, byteCount: Int = 0) {
        self.requestsInFlight += 1
        if byteCount >= Self.smallRequestBytes {
            self.bytesInFlight[id] = byteCount
            self.byteCountInFlight += byteCount
        }
        if request.asksForResult { self.resultsInFlight.insert(id) }
        self.inputs.append(.request(self.id, requestID: id, request))
    }

    /// Counts a request that the rim answers later, by `answered`.
    func begin() { self.requestsInFlight += 1 }

    /// The engine has answered these.
    func answered(_ requests: [UInt32]) {
        guard !requests.isEmpty else { return }
        self.requestsInFlight -= requests.count
        guard !(self.resultsInFlight.isEmpty && self.uploads.isEmpty && self.bytesInFlight.isEmpty) else { return }
        for id in requests {
            if let byteCount = self.bytesInFlight.removeValue(forKey: id) { self.byteCountInFlight -= byteCount }
            self.resultsInFlight.remove(id)
            self.uploads[id] = nil
        }
    }

    /// After anything happened: goes on with what waited, writes what there is, tells the engine, ends what is done.
    func settle() {
        self.isTouched = false
        if self.closing == nil {
            self.handleInbound()
            self.pump()
            self.proceedWithDownloads()
            self.finishIfDrained()
        }
        self.flushIfDue()
        self.submitInputs()
        self.hold(self.closing == nil ? self.heldNow() : 0)
        if self.isReadHeld, self.closing != nil || self.mayHandle {
            self.isReadHeld = false
            self.context?.read()
        }
    }

    /// The same after nothing but a push: it changes nothing of what the client has sent.
    func settleSent() {
        self.isTouched = false
        self.pump()
        let written = self.bytesWritten - self.countedBytes
        guard self.closing == nil, self.output.isEmpty, self.inputs.isEmpty, self.heldBytes == 0,
            written <= Self.uncountedBytesMax
        else { return self.settle() }
    }

    /// Requests below this are few bytes, however many there may be.
    private static let smallRequestBytes = 1 << 10

    /// The channel is asked what it holds of the output when more than this may be there. To ask after every small write would
    /// take longer than the rest of `settle`; `sweep` asks for what is less.
    private static let uncountedBytesMax = 16 << 10

    /// What is kept for the connection: input, requests in flight, and output up to what the socket has not taken.
    private func heldNow(isExact: Bool = false) -> Int {
        var buffered = 0
        let written = self.bytesWritten - self.countedBytes
        if written > 0, isExact || self.heldBytes > 0 || written > Self.uncountedBytesMax {
            buffered = (try? self.context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
            // All that was written is with the kernel: only what comes now may not be.
            if buffered == 0 { self.countedBytes = self.bytesWritten }
        }
        let uploads = self.uploads.isEmpty ? 0 : self.uploads.values.reduce(0) { $0 + $1.heldBytes }
        return self.inbound.readableBytes + self.byteCountInFlight + self.output.byteCount + buffered + uploads
    }

    private func hold(_ bytes: Int) {
        guard bytes != self.heldBytes else { return }
        let difference = bytes - self.heldBytes
        self.heldBytes = bytes
        self.loop.holds(difference)
    }

    /// Counts what is held to the last byte.
    func recount() {
        if self.closing == nil { self.hold(self.heldNow(isExact: true)) }
    }

    func tell(_ input: EngineInput) {
        guard self.isConnected else { return }
        self.inputs.append(input)
    }

    // MARK: The end

    /// Whether nothing is owed to the client any more.
    var isIdle: Bool {
        self.requestsInFlight == 0 && self.uploads.isEmpty && self.downloads.isEmpty && self.output.isEmpty
    }

    /// Forgets the conversation: what it still had to do is dropped, and the engine is told. Once.
    func end(_ reason: CloseReason) {
        guard self.closing == nil else { return }
        self.closing = reason
        self.closingAt = .now()
        self.machine.close()
        self.refusal?.cancel()
        self.refusal = nil
        self.inbound = ByteBuffer()
        self.output.removeAll()
        for download in self.downloads.values { download.isCancelled.withLockedValue { $0 = true } }
        self.downloads = [:]
        self.uploads = [:]
        self.bytesInFlight = [:]
        self.byteCountInFlight = 0
        self.hold(0)
        if self.isConnected { self.inputs.append(.disconnected(self.id)) }
        self.isConnected = false
        self.submitInputs()
    }

    private func submitInputs() {
        guard !self.inputs.isEmpty else { return }
        self.server.engine.submit(self.inputs)
        self.inputs.removeAll(keepingCapacity: true)
    }

    /// Adds what was written since the last time to the server's counters: once a second, not at every write.
    func reportBytes() {
        let bytes = self.bytesWritten - self.bytesReported
        self.bytesReported = self.bytesWritten
        if bytes > 0 { self.loop.count { $0.bytesOut += bytes } }
    }

    private func logClosed() {
        self.reportBytes()
        // Of those that never were clients there may be very many: the loop has one line for all.
        self.server.logger.log(
            level: self.wasWelcomed ? .info : .debug,
            "connection.closed",
            metadata: [
                "connection": "\(self.id)",
                "reason": "\(self.closing ?? .peer)",
                "requests": "\(self.requestCount)",
                "bytesIn": "\(self.bytesRead)",
                "bytesOut": "\(self.bytesWritten)",
                "milliseconds": "\((NIODeadline.now() - self.openedAt).nanoseconds / 1_000_000)",
            ]
        )
    }

    /// This and `count - 1` others ended before they were clients.
    func logRejected(count: Int, _ logger: Logger) {
        logger.info(
            "connections.rejected",
            metadata: ["count": "\(count)", "last": "\(self.closing ?? .peer)", "address": "\(self.addressText)"]
        )
    }

    func logOpened(sessionNumber: UInt64) {
        self.wasWelcomed = true
        self.server.logger.info(
            "connection.opened",
            metadata: [
                "connection": "\(self.id)",
                "client": "\(self.clientName)",
                "address": "\(self.addressText)",
                "session": "\(sessionNumber)",
                "token": "\(self.access.token.map { "\($0)" } ?? "none")",
                "role": "\(self.access.role)",
            ]
        )
    }
}

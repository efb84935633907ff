import NIOCore
import NIOEmbedded
import NIOPosix
import NestModel
import NestServer

/// The whole pipeline of the web port: the heads of requests, the step to WebSocket, and the frames after it.
enum WebTargets {
    private struct Outcome: Equatable {
        /// What the server sent.
        var sent: [UInt8] = []
        /// What the connection behind the WebSocket received.
        var received: [UInt8] = []
    }

    /// The first byte selects how the stream is split. Checks that the outcome does not depend on the split.
    static func conversation(_ bytes: [UInt8]) throws {
        guard let cut = bytes.first else { return }
        let stream = Array(bytes.dropFirst())
        let whole = try self.outcome([stream])
        let pieces = try self.outcome(WireTargets.pieces(stream, seed: cut))
        try FuzzFailure.unless(whole.sent == pieces.sent, "the answers depend on how the stream is split")
        try FuzzFailure.unless(whole.received == pieces.received, "the payloads depend on how the stream is split")
        try FuzzFailure.unless(whole.received.count <= stream.count, "more bytes are received than were sent")
        // The peer is gone before one of the server's flushes, which then closes the channel.
        _ = try self.outcome([stream], closingAtFlush: Int(cut % 4) + 1)
    }

    /// Also checks that the connection's slot is free at the end.
    private static func outcome(_ pieces: [[UInt8]], closingAtFlush flush: Int? = nil) throws -> Outcome {
        let eventLoop = EmbeddedEventLoop()
        let memory = ConnectionMemory(bytesMax: 1 << 20, loopCount: 1)
        let loop = ConnectionLoop(eventLoop: eventLoop, index: 0, of: 1, memory: memory, outputBytesMax: 1 << 20)
        let limiter = ConnectionLimiter(max: 1)
        let received = NIOLoopBoundBox([UInt8](), eventLoop: eventLoop)
        let port = WebPort(
            gate: WebGate(WebConfiguration(host: "127.0.0.1", port: 0), isEncrypted: false),
            files: nil,
            page: nil,
            threads: .singleton,
            limiter: limiter,
            timing: ServerConfiguration.Timing(),
            // Few enough that an input can send too many; none are added while it runs.
            controlFrames: TokenBucket.Rate(perSecond: 1, burst: 64)
        ) { _, slot, _ in
            ReceivedBytes(limiter, slot) { received.value += $0 }
        }
        var handlers: [any ChannelHandler] = flush.map { [ClosesAtFlush($0)] } ?? []
        handlers.append(WebConnection(port, loop: loop))
        let channel = EmbeddedChannel(handlers: handlers, loop: eventLoop)
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        for piece in pieces where channel.isActive {
            // What the pipeline refuses, it refuses by closing.
            _ = try? channel.writeInbound(ByteBuffer(bytes: piece))
            // A request that has arrived together with another waits a moment.
            eventLoop.advanceTime(by: .seconds(60))
        }
        var outcome = Outcome(received: received.value)
        while let buffer = try channel.readOutbound(as: ByteBuffer.self) { outcome.sent += buffer.readableBytesView }
        _ = try? channel.finish(acceptAlreadyClosed: true)
        try FuzzFailure.unless(limiter.count == 0, "a closed connection keeps its slot")
        return outcome
    }
}

/// Stands for the connection behind a WebSocket. It never logs in, and answers nothing.
private final class ReceivedBytes: WebSocketClient {
    typealias InboundIn = ByteBuffer

    private let limiter: ConnectionLimiter
    private var slot: ConnectionSlot
    private let take: ([UInt8]) -> Void
    private var context: ChannelHandlerContext?
    private var code = WebSocketCode.normal
    private var hasEnded = false

    let isWelcomed = false
    let handledFrameCount = 0
    var handlesAtOnce: Bool { !self.hasEnded }
    var webSocketCode: WebSocketCode { self.code }

    init(_ limiter: ConnectionLimiter, _ slot: ConnectionSlot, _ take: @escaping ([UInt8]) -> Void) {
        self.limiter = limiter
        self.slot = slot
        self.take = take
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelInactive(context: ChannelHandlerContext) { self.slot.leave(self.limiter) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !self.hasEnded { self.take(Array(self.unwrapInboundIn(data).readableBytesView)) }
    }

    func noteWaiting(_ byteCount: Int) {}

    func end(by code: WebSocketCode) {
        self.code = code
        self.hasEnded = true
        self.context?.close(mode: .output, promise: nil)
    }

    func finishFlood() { self.end(by: .refused) }
}

/// Closes the channel instead of the flush with this number, as a socket does when its peer is gone.
private final class ClosesAtFlush: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer

    private var left: Int

    init(_ number: Int) { self.left = number }

    func flush(context: ChannelHandlerContext) {
        self.left -= 1
        if self.left == 0 { context.close(promise: nil) } else { context.flush() }
    }
}

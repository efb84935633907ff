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
    }

    private static func outcome(_ pieces: [[UInt8]]) throws -> Outcome {
        let eventLoop = EmbeddedEventLoop()
        let memory = ConnectionMemory(bytesMax: 1 << 20, loopCount: 1)
        let loop = ConnectionLoop(eventLoop: eventLoop, index: 0, of: 1, memory: memory, outputBytesMax: 1 << 20)
        let received = NIOLoopBoundBox([UInt8](), eventLoop: eventLoop)
        let port = WebPort(
            gate: WebGate(WebConfiguration(host: "127.0.0.1", port: 0), isEncrypted: false),
            isEncrypted: false,
            files: nil,
            threads: .singleton,
            limiter: ConnectionLimiter(max: 1),
            timing: ServerConfiguration.Timing(),
            // Few enough that an input can send too many; none are added while it runs.
            controlFrames: TokenBucket.Rate(perSecond: 1, burst: 64)
        ) { _, _, _ in
            ReceivedBytes { received.value += $0 }
        }
        let channel = EmbeddedChannel(handler: WebConnection(port, loop: loop), loop: eventLoop)
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
        return outcome
    }
}

/// Stands for the connection behind a WebSocket. It never logs in, and answers nothing.
private final class ReceivedBytes: WebSocketClient {
    typealias InboundIn = ByteBuffer

    private let take: ([UInt8]) -> Void
    private var context: ChannelHandlerContext?
    private var code = WebSocketCode.normal
    private var hasEnded = false

    let isWelcomed = false
    let handledFrameCount = 0
    var handlesAtOnce: Bool { !self.hasEnded }
    var webSocketCode: WebSocketCode { self.code }

    init(_ take: @escaping ([UInt8]) -> Void) { self.take = take }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if !self.hasEnded { self.take(Array(self.unwrapInboundIn(data).readableBytesView)) }
    }

    func end(by code: WebSocketCode) {
        self.code = code
        self.hasEnded = true
        self.context?.close(mode: .output, promise: nil)
    }

    func finishFlood() { self.end(by: .refused) }
}

import NIOCore
import NIOEmbedded
import NIOPosix
import NestModel
import NestServer

/// A connection of the web port without a socket.
struct EmbeddedWeb {
    /// Stands for the connection behind a WebSocket, and records what reaches it.
    final class Client: WebSocketClient {
        typealias InboundIn = ByteBuffer

        let since: NIODeadline
        var isWelcomed = false
        var handledFrameCount = 0
        var handlesAtOnce = true
        let webSocketCode = WebSocketCode.normal
        private(set) var received: [UInt8] = []
        private(set) var ends: [WebSocketCode] = []
        private(set) var floodCount = 0
        private(set) var errorCount = 0
        /// The bytes that waited for the rest of their frame, after each read.
        private(set) var waiting: [Int] = []
        private(set) var activeCount = 0
        private(set) var inactiveCount = 0
        private let limiter: ConnectionLimiter
        private let endsOutput: Bool
        private var slot: ConnectionSlot
        private var context: ChannelHandlerContext?

        init(_ limiter: ConnectionLimiter, _ slot: ConnectionSlot, since: NIODeadline, endsOutput: Bool) {
            self.limiter = limiter
            self.slot = slot
            self.since = since
            self.endsOutput = endsOutput
        }

        func handlerAdded(context: ChannelHandlerContext) { self.context = context }

        func channelActive(context: ChannelHandlerContext) { self.activeCount += 1 }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.received += self.unwrapInboundIn(data).readableBytesView
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.inactiveCount += 1
            self.slot.leave(self.limiter)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { self.errorCount += 1 }

        func noteWaiting(_ byteCount: Int) { self.waiting.append(byteCount) }

        func end(by code: WebSocketCode) {
            self.ends.append(code)
            // Unlike a socket, an embedded channel closes both ways.
            if self.endsOutput { self.context?.close(mode: .output, promise: nil) }
        }

        func finishFlood() { self.floodCount += 1 }
    }

    /// Closes the channel instead of the flush with this number, as a socket does when its peer is gone.
    final class ClosesAtFlush: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer
        private var left: Int

        init(_ number: Int) { self.left = number }

        func flush(context: ChannelHandlerContext) {
            self.left -= 1
            if self.left == 0 { context.close(promise: nil) } else { context.flush() }
        }
    }

    /// Leaves the channel open when it should close, as TLS does while it waits for the peer.
    final class NeverCloses: ChannelOutboundHandler {
        typealias OutboundIn = ByteBuffer

        func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {}
    }

    /// What `/` answers.
    private static let page = WebPage(
        files: ["index.html": WebPage.File(path: "index.html", version: "1", text: "<p>nest")],
        index: "index.html",
        places: []
    )

    let eventLoop = EmbeddedEventLoop()
    let loop: ConnectionLoop
    let connection: WebConnection
    let channel: EmbeddedChannel
    private let made: NIOLoopBoundBox<Client?>

    /// The client behind the WebSocket; `nil`: there is none yet.
    var client: Client? { self.made.value }

    /// `handler`: is between the connection and the channel. `endsOutput`: whether a client that ends closes its
    /// output.
    init(
        _ limiter: ConnectionLimiter = ConnectionLimiter(max: 4),
        burst: Int = 100,
        endsOutput: Bool = false,
        behind handler: (any ChannelHandler)? = nil
    ) throws {
        let memory = ConnectionMemory(bytesMax: 1 << 20, loopCount: 1)
        self.loop = ConnectionLoop(
            eventLoop: self.eventLoop,
            index: 0,
            of: 1,
            memory: memory,
            outputBytesMax: 1 << 20
        )
        let made = NIOLoopBoundBox<Client?>.makeEmptyBox(valueType: Client.self, eventLoop: self.eventLoop)
        self.made = made
        let port = WebPort(
            gate: WebGate(WebConfiguration(host: "127.0.0.1", port: 0), isEncrypted: false),
            files: nil,
            page: Self.page,
            threads: .singleton,
            limiter: limiter,
            timing: ServerConfiguration.Timing(),
            controlFrames: TokenBucket.Rate(perSecond: 1, burst: burst)
        ) { _, slot, since in
            let client = Client(limiter, slot, since: since, endsOutput: endsOutput)
            made.value = client
            return client
        }
        self.connection = WebConnection(port, loop: self.loop)
        let handlers = [handler, self.connection].compactMap { $0 }
        self.channel = EmbeddedChannel(handlers: handlers, loop: self.eventLoop)
        try self.channel.connect(to: try SocketAddress(ipAddress: "192.0.2.1", port: 1)).wait()
    }

    /// Passes bytes on as one read, and runs what is due within a millisecond. Returns what the server sent.
    @discardableResult func send(_ bytes: [UInt8]) -> String {
        // What the pipeline refuses, it refuses by closing.
        _ = try? self.channel.writeInbound(ByteBuffer(bytes: bytes))
        self.eventLoop.advanceTime(by: .milliseconds(1))
        return self.sent()
    }

    @discardableResult func send(_ text: String) -> String { self.send(Array(text.utf8)) }

    /// Removes and returns what the server has sent.
    func sent() -> String {
        var sent = ""
        while let buffer = try? self.channel.readOutbound(as: ByteBuffer.self) {
            sent += String(decoding: buffer.readableBytesView, as: UTF8.self)
        }
        return sent
    }

    func close() { _ = try? self.channel.finish(acceptAlreadyClosed: true) }
}

import NIOCore
import NIOWebSocket
import NestModel
import NestProtocol

/// The connection behind a WebSocket.
package protocol WebSocketClient: ChannelInboundHandler {
    /// Whether the client has logged in.
    var isWelcomed: Bool { get }
    /// The number of the protocol's frames that were handled.
    var handledFrameCount: Int { get }
    /// Records that a part of a WebSocket frame has arrived, and how many bytes wait for its rest.
    func noteWaiting(_ byteCount: Int)
    /// Whether a received frame of the protocol is handled at once.
    var handlesAtOnce: Bool { get }
    /// The code that states why the connection ends.
    var webSocketCode: WebSocketCode { get }
    /// Ends the connection because the client broke the rules of WebSocket, or ended it itself (`normal`).
    func end(by code: WebSocketCode)
    /// Ends the connection because the client sends too many control frames.
    func finishFlood()
}

/// Takes the protocol's bytes out of WebSocket frames, and puts them in. What follows in the pipeline works as over
/// TCP.
///
/// What it sends is shared between connections, as over TCP: see `WebSocketOutput`.
final class WebSocketHandler: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let loop: ConnectionLoop
    let client: any WebSocketClient
    private var rules = WebSocketRules()
    private var quota: WebSocketQuota
    /// Whether a frame has arrived since the last `channelReadComplete`.
    private var isInRead = false
    /// After the end nothing is handled.
    private(set) var hasEnded = false
    /// The answer to the last ping, while the socket is full. Earlier pings need none.
    private var waitingPong: ByteBuffer?
    /// The code of the client's close frame, which the answer repeats.
    private var receivedCode: UInt16?
    private var hasSentClose = false
    private var mustFlush = false

    init(loop: ConnectionLoop, client: any WebSocketClient, controlFrames: TokenBucket.Rate) {
        self.loop = loop
        self.client = client
        self.quota = WebSocketQuota(controlFrames, now: .now())
    }

    // MARK: In

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.hasEnded else { return }
        if !self.isInRead {
            self.isInRead = true
            guard self.quota.beginRead(handled: self.client.handledFrameCount) else { return self.client.finishFlood() }
        }
        let handledBefore = self.client.handledFrameCount
        var byteCount = 0
        switch self.rules.action(for: self.unwrapInboundIn(data), isWelcomed: self.client.isWelcomed) {
        case .deliver(let bytes):
            byteCount = bytes.readableBytes
            context.fireChannelRead(self.wrapInboundOut(bytes))
        case .pong(let payload): self.pong(payload, context)
        case .ignore: break
        case .closed(let code):
            self.receivedCode = code
            return self.end(.normal)
        case .fail(let code): return self.end(code)
        }
        guard !self.hasEnded else { return }
        let isAllowed = self.quota.take(
            byteCount,
            handledBefore: handledBefore,
            handled: self.client.handledFrameCount,
            waits: !self.client.handlesAtOnce
        )
        if !isAllowed { self.client.finishFlood() }
    }

    /// Ends the connection because the client broke the rules of WebSocket, or ended it itself (`normal`).
    func end(_ code: WebSocketCode) {
        self.hasEnded = true
        self.client.end(by: code)
    }

    private func pong(_ payload: ByteBuffer, _ context: ChannelHandlerContext) {
        guard context.channel.isWritable else {
            self.waitingPong = payload
            return
        }
        self.mustFlush = true
        context.write(self.wrapOutboundOut(WebSocketOutput.pong(payload)), promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.isInRead = false
        self.flushIfDue(context)
        context.fireChannelReadComplete()
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable, !self.hasSentClose, let payload = self.waitingPong {
            self.waitingPong = nil
            self.pong(payload, context)
            self.flushIfDue(context)
        }
        context.fireChannelWritabilityChanged()
    }

    private func flushIfDue(_ context: ChannelHandlerContext) {
        guard self.mustFlush else { return }
        self.mustFlush = false
        context.flush()
    }

    // MARK: Out

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let message = self.loop.webSocketMessage(self.unwrapOutboundIn(data))
        guard let second = message.second else {
            return context.write(self.wrapOutboundOut(message.first), promise: promise)
        }
        context.write(self.wrapOutboundOut(message.first), promise: nil)
        context.write(self.wrapOutboundOut(second), promise: promise)
    }

    /// Sends a close frame before the output ends.
    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode != .input, !self.hasSentClose {
            self.hasSentClose = true
            self.hasEnded = true
            let code = self.receivedCode ?? self.client.webSocketCode.rawValue
            context.writeAndFlush(self.wrapOutboundOut(WebSocketOutput.close(code)), promise: nil)
        }
        context.close(mode: mode, promise: promise)
    }
}

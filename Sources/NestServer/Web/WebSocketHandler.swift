import NIOCore
import NestModel
import NestProtocol

/// The connection behind a WebSocket.
package protocol WebSocketClient: ChannelInboundHandler {
    /// Whether the client has logged in.
    var isWelcomed: Bool { get }
    /// The number of the protocol's frames that were handled.
    var handledFrameCount: Int { get }
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
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let loop: ConnectionLoop
    private let client: any WebSocketClient
    private var input = WebSocketInput()
    private var quota: WebSocketQuota
    /// The bytes of a header or control frame that has not arrived whole.
    private var rest = ByteBuffer()
    /// Whether bytes have arrived since the last `channelReadComplete`.
    private var isInRead = false
    /// The number of the protocol's frames that were handled before the frame that is arriving.
    private var handledBefore = 0
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
        var bytes = self.unwrapInboundIn(data)
        // What follows the end is read only to discard it.
        guard !self.hasEnded else { return }
        if !self.isInRead {
            self.isInRead = true
            guard self.quota.beginRead(handled: self.client.handledFrameCount) else { return self.client.finishFlood() }
        }
        if self.rest.readableBytes == 0 { self.rest = bytes } else { self.rest.writeBuffer(&bytes) }
        while !self.hasEnded {
            if self.input.isBetweenFrames { self.handledBefore = self.client.handledFrameCount }
            let isWelcomed = self.client.isWelcomed
            guard let step = self.input.next(from: &self.rest, isWelcomed: isWelcomed) else { break }
            self.take(step, context)
        }
        // Only a few bytes are left: they must not keep the memory of the whole read.
        self.rest = self.hasEnded ? ByteBuffer() : ByteBuffer(bytes: self.rest.readableBytesView)
    }

    private var hasEnded: Bool { self.hasSentClose || self.input.hasEnded }

    private func take(_ step: WebSocketInput.Step, _ context: ChannelHandlerContext) {
        switch step.action {
        case .deliver(let bytes): context.fireChannelRead(self.wrapInboundOut(bytes))
        case .pong(let payload): self.pong(payload, context)
        case .ignore: break
        case .closed(let code):
            self.receivedCode = code
            return self.client.end(by: .normal)
        case .fail(let code):
            return self.client.end(by: code)
        }
        guard let ended = step.ended, !self.hasEnded else { return }
        let isAllowed = self.quota.take(
            ended,
            handledBefore: self.handledBefore,
            handled: self.client.handledFrameCount,
            waits: !self.client.handlesAtOnce
        )
        if !isAllowed { self.client.finishFlood() }
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
            let code = self.receivedCode ?? self.client.webSocketCode.rawValue
            context.writeAndFlush(self.wrapOutboundOut(WebSocketOutput.close(code)), promise: nil)
        }
        context.close(mode: mode, promise: promise)
    }
}

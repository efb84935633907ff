import NIOCore
import NIOHTTP1
import NestModel
import NestProtocol

/// swift-nio's HTTP, behind the handler that has the bytes: it reads heads of requests and writes answers.
///
///     WebConnection ──lines──▶ HTTPRequestDecoder ──parts──▶ WebCodec
///     WebConnection ◀──bytes── HTTPResponseEncoder ◀──parts── WebCodec
///
/// The decoder gets one line at a time, and nothing after the end of a head. So what follows a head stays with the
/// caller, whether it is a request or a frame of a WebSocket, and however the decoder reads `Connection` and `Upgrade`.
package final class WebCodec: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = HTTPServerRequestPart
    package typealias OutboundOut = HTTPServerResponsePart

    /// The bytes of the head that is arriving.
    package private(set) var byteCount = 0
    private var lines = WebLines()
    private var head: HTTPRequestHead?
    /// Whether the decoder has found the end of the request.
    private var isWhole = false
    private var failure: WebRefusal?
    private var context: ChannelHandlerContext?
    private let decoder: ByteToMessageHandler<HTTPRequestDecoder>
    private let encoder = HTTPResponseEncoder()

    package init() {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldCount = Limits.webFieldsMax
        limits.maxHeaderFieldSize = Limits.webHeadBytesMax
        limits.maxHeaderListSize = Limits.webHeadBytesMax
        let decoder = HTTPRequestDecoder(
            leftOverBytesStrategy: .dropBytes,
            informationalResponseStrategy: .drop,
            limitConfiguration: limits
        )
        self.decoder = ByteToMessageHandler(decoder, maximumBufferSize: Limits.webHeadBytesMax)
    }

    package func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    package func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    package func add(after handler: any ChannelHandler, to pipeline: ChannelPipeline) throws {
        try pipeline.syncOperations.addHandlers([self.decoder, self.encoder, self], position: .after(handler))
    }

    package func remove(from pipeline: ChannelPipeline) {
        // The decoder leaves later, and until then it gets nothing.
        pipeline.syncOperations.removeHandler(self.decoder, promise: nil)
        pipeline.syncOperations.removeHandler(self.encoder, promise: nil)
        pipeline.syncOperations.removeHandler(self, promise: nil)
    }

    // MARK: Heads

    /// Takes the next head from `buffer`. Returns `nil` while it is incomplete. `context`: that of the handler before
    /// the decoder. After a failure the codec must not be used again.
    package func nextHead(
        from buffer: inout ByteBuffer,
        before context: ChannelHandlerContext
    ) throws(WebRefusal) -> HTTPRequestHead? {
        while buffer.readableBytes > 0, self.byteCount < Limits.webHeadBytesMax {
            let bytes = buffer.readableBytesView.prefix(Limits.webHeadBytesMax - self.byteCount)
            // A line without its LF, and then the LF.
            let count = bytes.firstIndex(of: 0x0a).map { max($0 - bytes.startIndex, 1) } ?? bytes.count
            try self.lines.take(bytes.prefix(count))
            guard let part = buffer.readSlice(length: count) else { break }
            self.byteCount += count
            context.fireChannelRead(NIOAny(part))
            if let failure = self.failure { throw failure }
            guard let head = self.head else { continue }
            guard self.isWhole else { throw .body }
            self.head = nil
            self.isWhole = false
            self.byteCount = 0
            self.lines = WebLines()
            try head.check()
            return head
        }
        guard self.byteCount < Limits.webHeadBytesMax else {
            throw WebRefusal(.headTooLarge, "the head of a request has at most \(Limits.webHeadBytesMax) bytes")
        }
        return nil
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head): self.head = head
        case .body: break
        case .end: self.isWhole = true
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The first error has the reason.
        guard self.failure == nil else { return }
        self.failure =
            switch error as? HTTPParserError {
            case .invalidVersion: WebRefusal(.versionNotSupported, "this port speaks HTTP/1.1")
            case .headerOverflow: WebRefusal(.headTooLarge, "a request has at most \(Limits.webFieldsMax) fields")
            default: WebRefusal(.badRequest, "this is no request of HTTP/1.1: \(String(reflecting: error))")
            }
    }

    // MARK: Answers

    /// Writes parts of an answer, without a flush.
    func write(_ parts: [HTTPServerResponsePart], promise: EventLoopPromise<Void>?) {
        guard let context = self.context, let last = parts.last else {
            return promise?.fail(ChannelError.ioOnClosedChannel) ?? ()
        }
        for part in parts.dropLast() { context.write(self.wrapOutboundOut(part), promise: nil) }
        context.write(self.wrapOutboundOut(last), promise: promise)
    }
}

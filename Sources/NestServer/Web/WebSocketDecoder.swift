import NIOCore
import NIOWebSocket
import NestModel
import NestProtocol

/// swift-nio's decoder of WebSocket frames, with the limits of a connection.
///
/// It collects a frame until that is whole, at most `webSocketFrameBytesMax` bytes, and `bytesBeforeHelloMax` if the
/// frame has begun before WELCOME. It refuses a larger one by its header. After an error each later read would be an
/// error too, and would cut the connection before its close frame arrives. So it throws none, and discards what follows
/// the refused frame.
final class WebSocketDecoder: ByteToMessageDecoder {
    typealias InboundOut = WebSocketFrame

    private let handler: WebSocketHandler
    private var frames = WebSocketFrameDecoder(maxFrameSize: Limits.bytesBeforeHelloMax)
    /// Whether frames have the limit of the time before WELCOME.
    private var isStrict = true
    /// Whether the next byte begins a frame.
    private var isBetweenFrames = true

    private init(_ handler: WebSocketHandler) { self.handler = handler }

    /// Returns the channel handler with the decoder, which must be before `handler` in the pipeline.
    static func before(_ handler: WebSocketHandler) -> ByteToMessageHandler<WebSocketDecoder> {
        ByteToMessageHandler(WebSocketDecoder(handler), maximumBufferSize: Limits.webSocketFrameBytesMax)
    }

    func decode(context: ChannelHandlerContext, buffer: inout ByteBuffer) -> DecodingState {
        guard !self.handler.hasEnded else { return self.discard(&buffer) }
        if self.isStrict, self.isBetweenFrames, self.handler.client.isWelcomed {
            self.isStrict = false
            self.frames = WebSocketFrameDecoder(maxFrameSize: Limits.webSocketFrameBytesMax)
        }
        let byteCount = buffer.readableBytes
        do {
            let state = try self.frames.decode(context: context, buffer: &buffer)
            if state == .continue { self.endFrame() } else { self.wait(&buffer, of: byteCount) }
            return state
        } catch {
            self.handler.end(WebSocketCode(refusing: error))
            return self.discard(&buffer)
        }
    }

    func decodeLast(context: ChannelHandlerContext, buffer: inout ByteBuffer, seenEOF: Bool) -> DecodingState {
        self.discard(&buffer)
    }

    private func endFrame() {
        if !self.isBetweenFrames { self.handler.client.noteWaiting(0) }
        self.isBetweenFrames = true
    }

    /// The bytes that are left belong to a frame that is not whole.
    private func wait(_ buffer: inout ByteBuffer, of byteCount: Int) {
        if buffer.readableBytes < byteCount { self.isBetweenFrames = false }
        // A few bytes must not keep the memory of the whole read.
        if buffer.readableBytes < buffer.storageCapacity / 4 { buffer = ByteBuffer(buffer: buffer) }
        self.handler.client.noteWaiting(buffer.readableBytes)
    }

    private func discard(_ buffer: inout ByteBuffer) -> DecodingState {
        buffer = ByteBuffer()
        return .needMoreData
    }
}

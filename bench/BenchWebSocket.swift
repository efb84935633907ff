import NIOCore

/// The client's side of a WebSocket, in front of a `FrameHandler`. What it sends is masked with zeros, which changes
/// nothing, so that the workload measures the server and not the masking.
final class BenchWebSocket: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var isOpen = false
    private var buffer = ByteBuffer()
    /// Writes before the server has answered.
    private var waiting: [(data: NIOAny, promise: EventLoopPromise<Void>?)] = []

    func channelActive(context: ChannelHandlerContext) {
        let request =
            "GET /nest HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            + "Sec-WebSocket-Protocol: nest.1\r\n\r\n"
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: request)), promise: nil)
        context.fireChannelActive()
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        guard self.isOpen else { return self.waiting.append((data, promise)) }
        let count = self.unwrapOutboundIn(data).readableBytes
        var header = ByteBuffer()
        if count < 126 {
            header.writeMultipleIntegers(0x82 as UInt8, 0x80 | UInt8(count), 0 as UInt32)
        } else {
            header.writeMultipleIntegers(0x82 as UInt8, 0xff as UInt8, UInt64(count), 0 as UInt32)
        }
        context.write(self.wrapOutboundOut(header), promise: nil)
        context.write(data, promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var read = self.unwrapInboundIn(data)
        if self.buffer.readableBytes == 0 { self.buffer = read } else { self.buffer.writeBuffer(&read) }
        if !self.isOpen, !self.open(context) { return }
        while let payload = self.payload() { context.fireChannelRead(self.wrapInboundOut(payload)) }
        if self.buffer.readableBytes == 0 { self.buffer.clear() }
    }

    /// Skips the head of the answer. Returns whether it is complete.
    private func open(_ context: ChannelHandlerContext) -> Bool {
        let bytes = self.buffer.readableBytesView
        guard let end = bytes.firstRange(of: [0x0d, 0x0a, 0x0d, 0x0a]) else { return false }
        guard bytes.starts(with: "HTTP/1.1 101 ".utf8) else {
            context.close(promise: nil)
            return false
        }
        self.buffer.moveReaderIndex(to: end.upperBound)
        self.isOpen = true
        for (data, promise) in self.waiting { self.write(context: context, data: data, promise: promise) }
        self.waiting = []
        context.flush()
        return true
    }

    /// Takes the payload of the next frame, if it is complete. The server's frames are whole messages, not masked.
    private func payload() -> ByteBuffer? {
        var rest = self.buffer
        guard let (_, second) = rest.readMultipleIntegers(as: (UInt8, UInt8).self) else { return nil }
        var count = Int(second)
        if second == 126 {
            guard let length = rest.readInteger(as: UInt16.self) else { return nil }
            count = Int(length)
        } else if second == 127 {
            guard let length = rest.readInteger(as: UInt64.self) else { return nil }
            count = Int(length)
        }
        guard let payload = rest.readSlice(length: count) else { return nil }
        self.buffer.moveReaderIndex(to: rest.readerIndex)
        return payload
    }
}

import NIOCore
import NIOEmbedded
import NIOHTTP1
import NestServer

/// Reads heads of requests as a connection does, without a socket.
final class HeadReader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let codec = WebCodec()
    private let channel = EmbeddedChannel()
    private var context: ChannelHandlerContext?

    /// Runs `body` with a reader.
    static func with<Value>(_ body: (HeadReader) throws -> Value) throws -> Value {
        let reader = HeadReader()
        try reader.channel.pipeline.syncOperations.addHandler(reader)
        try reader.codec.add(after: reader, to: reader.channel.pipeline)
        defer { _ = try? reader.channel.finish(acceptAlreadyClosed: true) }
        return try body(reader)
    }

    /// Reads one head from a text.
    static func read(_ text: String) throws -> HTTPRequestHead? {
        var buffer = ByteBuffer(string: text)
        return try self.with { try $0.next(from: &buffer) }
    }

    func handlerAdded(context: ChannelHandlerContext) { self.context = context }

    func handlerRemoved(context: ChannelHandlerContext) { self.context = nil }

    /// Takes the next head from `buffer`.
    func next(from buffer: inout ByteBuffer) throws -> HTTPRequestHead? {
        guard let context = self.context else { return nil }
        return try self.codec.nextHead(from: &buffer, before: context)
    }
}

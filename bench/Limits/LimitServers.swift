import ArgumentParser
import Glibc
import NIOCore
import NIOPosix

/// The size of a record of the limits: about the size of a frame with a one-row diff.
let limitRecordBytes = 64

/// A bare NIO server that sends all received bytes back.
struct ServeEcho: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve-echo", shouldDisplay: false)

    func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: max(System.coreCount / 2, 1))
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(Echo()) }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        print("listening on 127.0.0.1:\(channel.localAddress?.port ?? 0)")
        fflush(nil)
        try await channel.closeFuture.get()
    }

    private final class Echo: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            context.write(data, promise: nil)
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            context.flush()
        }
    }
}

/// A bare NIO server that does the minimum work of a durable fan-out. A connection that sends is the writer; all others
/// are subscribers.
///
/// It appends the records of one read to a file with one `fdatasync`, writes them to every subscriber as one buffer,
/// and then answers the writer. It has one thread, so no work passes between threads.
struct ServeFanout: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve-fanout", shouldDisplay: false)
    @Option var directory = "/tmp"

    func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let path = "\(self.directory)/nestbench-fanout-\(getpid())"
        let descriptor = open(path, O_RDWR | O_CREAT | O_APPEND, 0o600)
        unlink(path)
        let hub = NIOLoopBoundBox.makeBoxSendingValue([any Channel](), eventLoop: group.any())
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: 4_096)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Fan(hub: hub, descriptor: descriptor))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        print("listening on 127.0.0.1:\(channel.localAddress?.port ?? 0)")
        fflush(nil)
        try await channel.closeFuture.get()
    }

    private final class Fan: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let hub: NIOLoopBoundBox<[any Channel]>
        private let descriptor: Int32
        private var pending = ByteBuffer()

        init(hub: NIOLoopBoundBox<[any Channel]>, descriptor: Int32) {
            self.hub = hub
            self.descriptor = descriptor
        }

        func channelActive(context: ChannelHandlerContext) {
            self.hub.value.append(context.channel)
        }

        func channelInactive(context: ChannelHandlerContext) {
            let channel = context.channel
            self.hub.value.removeAll { $0 === channel }
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var read = self.unwrapInboundIn(data)
            self.pending.writeBuffer(&read)
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            let whole = self.pending.readableBytes / limitRecordBytes * limitRecordBytes
            guard whole > 0, let records = self.pending.readSlice(length: whole) else { return }
            if self.pending.readableBytes == 0 { self.pending.clear() }
            records.withUnsafeReadableBytes { _ = Glibc.write(self.descriptor, $0.baseAddress, $0.count) }
            fdatasync(self.descriptor)
            let writer = context.channel
            for channel in self.hub.value where channel !== writer { channel.writeAndFlush(records, promise: nil) }
            // The reply: one record for each received record.
            writer.writeAndFlush(records, promise: nil)
        }
    }
}

/// A bare NIO server that answers each connection once: it sends `answerBytes` bytes after it has received
/// `requestBytes` bytes.
struct ServeAnswers: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "serve-answers", shouldDisplay: false)
    @Option var requestBytes: Int
    @Option var answerBytes: Int

    func run() async throws {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: max(System.coreCount / 2, 1))
        let (requestBytes, answer) = (self.requestBytes, ByteBuffer(repeating: 120, count: self.answerBytes))
        let channel = try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.backlog, value: 4_096)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Answerer(after: requestBytes, answer))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        print("listening on 127.0.0.1:\(channel.localAddress?.port ?? 0)")
        fflush(nil)
        try await channel.closeFuture.get()
    }

    private final class Answerer: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var missing: Int
        private let answer: ByteBuffer

        init(after requestBytes: Int, _ answer: ByteBuffer) {
            self.missing = requestBytes
            self.answer = answer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.missing -= self.unwrapInboundIn(data).readableBytes
            guard self.missing == 0 else { return }
            context.writeAndFlush(NIOAny(self.answer), promise: nil)
        }
    }
}

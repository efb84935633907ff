import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import Testing
import NestFraming

/// A scripted server for testing a client. It calls the script once per connection.
struct FakeServer {
    /// One connection as the script sees it, in frames. Nothing is answered automatically.
    final class Connection {
        /// Counted from 0.
        let number: Int
        private var pieces: AsyncStream<ByteBuffer>.AsyncIterator
        private let channel: any Channel
        private var buffer = ByteBuffer()
        private let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)

        init(number: Int, accepted: Accepted) {
            self.number = number
            self.channel = accepted.channel
            self.pieces = accepted.pieces.makeAsyncIterator()
        }

        /// Returns the next frame; throws if the client has closed.
        func next() async throws -> Frame {
            while true {
                if let frame = try self.decoder.next(from: &self.buffer) { return frame }
                try await self.read()
            }
        }

        /// Returns the id and message of the next frame, which must have this type.
        func expect<M: Message>(_ type: M.Type) async throws -> (id: UInt32, message: M) {
            let frame = try await self.next()
            try #require(frame.type == M.type.rawValue, "expected \(M.type), got type \(frame.type)")
            return (frame.id, try M(body: frame.body))
        }

        func send(_ message: some Message, id: UInt32 = 0, flags: Frame.Flags = []) async throws {
            try await self.channel.writeAndFlush(message.frame(id: id, flags: flags)).get()
        }

        func send(raw bytes: [UInt8]) async throws {
            try await self.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
        }

        func preface() async throws {
            while true {
                if try Preface.read(from: &self.buffer) != nil { return }
                try await self.read()
            }
        }

        /// Exchanges prefaces, reads HELLO and sends WELCOME.
        @discardableResult
        func welcome(
            history: UInt64 = 1,
            revision: UInt64 = 0,
            credit: Int = 64 << 10,
            modelHash: UInt64 = ManagedObjectModel.nestedList.hash
        ) async throws -> Hello {
            try await self.preface()
            try await self.send(raw: Preface.server(chosen: 1).bytes)
            let hello = try await self.expect(Hello.self).message
            try await self.send(
                Welcome(
                    serverName: "fake",
                    features: .all,
                    historyID: Identifier128(high: 0, low: history),
                    revision: Revision(revision),
                    oldestRevision: Revision(0),
                    modelHash: modelHash,
                    sessionNumber: 1,
                    creditBytesInitial: credit
                )
            )
            return hello
        }

        /// Reads until the client closes.
        func untilClosed() async {
            while (try? await self.next()) != nil {}
        }

        private func read() async throws {
            guard var bytes = await self.pieces.next(isolation: #isolation) else { throw ClientClosed() }
            self.buffer.writeBuffer(&bytes)
        }
    }

    struct ClientClosed: Error {}

    /// An accepted connection and its received bytes.
    struct Accepted: Sendable {
        let channel: any Channel
        let pieces: AsyncStream<ByteBuffer>
    }

    /// Forwards the received bytes of a connection to its script.
    private final class Pipe: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let continuation: AsyncStream<ByteBuffer>.Continuation

        init(_ continuation: AsyncStream<ByteBuffer>.Continuation) {
            self.continuation = continuation
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.continuation.yield(self.unwrapInboundIn(data))
        }

        func channelInactive(context: ChannelHandlerContext) {
            self.continuation.finish()
        }
    }

    /// Runs `client` against a server that runs `script` for each connection and closes the connection when the script
    /// ends. Returns when `client` returns.
    static func run<Result: Sendable>(
        _ script: @escaping @Sendable (Connection) async throws -> Void,
        client: @escaping @Sendable (Int) async throws -> Result
    ) async throws -> Result {
        let (connections, arrivals) = AsyncStream.makeStream(of: Accepted.self)
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let (pieces, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
                    try channel.pipeline.syncOperations.addHandler(Pipe(continuation))
                    arrivals.yield(Accepted(channel: channel, pieces: pieces))
                }
            }
            .bind(host: "127.0.0.1", port: 0)
            .get()
        let port = try #require(listener.localAddress?.port)
        return try await withThrowingTaskGroup(of: Result?.self) { group in
            group.addTask {
                try await Self.serve(connections, script)
                return nil
            }
            group.addTask { try await client(port) }
            defer {
                group.cancelAll()
                listener.close(promise: nil)
                arrivals.finish()
            }
            while let result = try await group.next() {
                if let result { return result }
            }
            throw CancellationError()
        }
    }

    private static func serve(
        _ connections: AsyncStream<Accepted>,
        _ script: @escaping @Sendable (Connection) async throws -> Void
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var number = 0
            for await accepted in connections {
                let current = number
                number += 1
                group.addTask {
                    defer { accepted.channel.close(promise: nil) }
                    do {
                        try await script(Connection(number: current, accepted: accepted))
                    } catch is ClientClosed {
                    } catch is CancellationError {
                    } catch ChannelError.ioOnClosedChannel {
                    } catch is IOError {
                    }
                }
            }
            try await group.waitForAll()
        }
    }
}

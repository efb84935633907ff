import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// A client connection as lean as can be: frames in, frames out, everything on its event loop.
///
/// Subscribers and writers of the workloads are built on it, so that what is measured is the server.
final class BenchConnection: Sendable {
    let channel: any Channel
    private let handler: NIOLoopBound<FrameHandler>
    private static let sessions = NIOLockedValueBox<UInt64>(0)

    private init(channel: any Channel, handler: NIOLoopBound<FrameHandler>) {
        self.channel = channel
        self.handler = handler
    }

    /// Connects and shakes hands.
    static func connect(
        host: String,
        port: Int,
        on group: any EventLoopGroup,
        features: Features = .all
    ) async throws -> BenchConnection {
        try await Self.connectKnowing(host: host, port: port, on: group, features: features).0
    }

    /// The same, with the history of the store that it has come to.
    static func connectKnowing(
        host: String = "127.0.0.1",
        port: Int,
        on group: any EventLoopGroup,
        features: Features = .all
    ) async throws -> (BenchConnection, Identifier128) {
        let connection = try await Self.connectRaw(host: host, port: port, on: group, decodes: true)
        let session = Self.sessions.withLockedValue {
            $0 += 1; return $0
        }
        var generator = SystemRandomNumberGenerator()
        let hello = Hello(
            clientName: "nestbench",
            features: features,
            session: Identifier128(high: generator.next(), low: session)
        )
        let welcomed = connection.channel.eventLoop.makePromise(of: Identifier128.self)
        try await connection.channel.eventLoop.submit {
            connection.handler.value.onFrame = { frame in
                guard frame.type == MessageType.welcome.rawValue else { return }
                welcomed.completeWith(Result { try Welcome(body: frame.body).historyID })
            }
        }.get()
        var bytes = ByteBuffer(bytes: Preface.client.bytes)
        bytes.writeImmutableBuffer(hello.frame(id: 0))
        connection.channel.writeAndFlush(bytes, promise: nil)
        return (connection, try await welcomed.futureResult.get())
    }

    /// Without a handshake, for the limits' servers; one that sends frames may have no preface.
    static func connectRaw(
        host: String,
        port: Int,
        on group: any EventLoopGroup,
        decodes: Bool,
        hasPreface: Bool = true
    ) async throws -> BenchConnection {
        let handlers = NIOLockedValueBox<NIOLoopBound<FrameHandler>?>(nil)
        let channel = try await ClientBootstrap(group: group)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = FrameHandler(decodes: decodes, hasPreface: hasPreface)
                    handlers.withLockedValue { $0 = NIOLoopBound(handler, eventLoop: channel.eventLoop) }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: host, port: port).get()
        return BenchConnection(channel: channel, handler: handlers.withLockedValue { $0! })
    }

    /// Runs on the event loop with the handler.
    func configure(_ body: @escaping @Sendable (FrameHandler) -> Void) async throws {
        try await self.channel.eventLoop.submit { body(self.handler.value) }.get()
    }

    /// Bytes that have come.
    func bytesRead() async throws -> Int {
        try await self.channel.eventLoop.submit { self.handler.value.bytesRead }.get()
    }

    func send(_ bytes: ByteBuffer) {
        self.channel.writeAndFlush(bytes, promise: nil)
    }

    func close() async throws {
        try await self.channel.close().get()
    }

    /// Subscribes to the children of an object; answers when the snapshot has come.
    func subscribe(to parent: ObjectID, onFrame: @escaping @Sendable (Frame) -> Void) async throws {
        try await self.subscribe([Self.children(of: parent)])
        try await self.configure { $0.onFrame = onFrame }
    }

    /// The children of an object, in their order.
    static func children(of parent: ObjectID) -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: parent, relationship: PropertyNumber(6))
        )
    }

    /// Subscribes to results; answers when the last snapshot has come.
    func subscribe(_ requests: [ObjectFetchRequest]) async throws {
        let ready = self.channel.eventLoop.makePromise(of: Void.self)
        try await self.configure { handler in
            var missing = requests.count
            handler.onFrame = { frame in
                switch MessageType(rawValue: frame.type) {
                case .snapshot, .snapshotRows:
                    guard !frame.flags.contains(.more) else { return }
                    missing -= 1
                    if missing == 0 { ready.succeed() }
                case .error: ready.fail(BenchError.refused(frame))
                default: break
                }
            }
        }
        for (index, request) in requests.enumerated() {
            self.channel.write(Subscribe(request).frame(id: UInt32(index + 1)), promise: nil)
        }
        self.channel.flush()
        try await ready.futureResult.get()
    }

    /// One request and its answer.
    func request(_ frame: ByteBuffer) async throws -> Frame {
        let answer = self.channel.eventLoop.makePromise(of: Frame.self)
        try await self.configure { handler in
            handler.onFrame = { frame in
                if frame.type == MessageType.error.rawValue { return answer.fail(BenchError.refused(frame)) }
                if frame.type != MessageType.progress.rawValue { answer.succeed(frame) }
            }
        }
        self.send(frame)
        return try await answer.futureResult.get()
    }
}

enum BenchError: Error, CustomStringConvertible {
    case refused(Frame)
    case badServer(String)
    case nothingInserted

    var description: String {
        switch self {
        case .refused(let frame):
            (try? ErrorMessage(body: frame.body))?.error.description ?? "refused"
        case .badServer(let text): "--server takes HOST:PORT, not \(text)"
        case .nothingInserted: "the server inserted nothing"
        }
    }
}

/// Cuts what comes in into frames and hands them on; counts bytes.
final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    var onFrame: (Frame) -> Void = { _ in }
    /// For the limits: the number of bytes that came.
    var onBytes: (ByteBuffer) -> Void = { _ in }
    var bytesRead = 0
    private let decodes: Bool
    private var buffer = ByteBuffer()
    /// The server's preface is still awaited.
    private var awaitsPreface: Bool
    private let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)

    init(decodes: Bool, hasPreface: Bool = true) {
        self.decodes = decodes
        self.awaitsPreface = hasPreface
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var read = self.unwrapInboundIn(data)
        self.bytesRead += read.readableBytes
        guard self.decodes else { return self.onBytes(read) }
        if self.buffer.readableBytes == 0 { self.buffer = read } else { self.buffer.writeBuffer(&read) }
        if self.awaitsPreface {
            guard self.buffer.readableBytes >= Preface.byteCount else { return }
            self.buffer.moveReaderIndex(forwardBy: Preface.byteCount)
            self.awaitsPreface = false
        }
        while let frame = try? self.decoder.next(from: &self.buffer)?.unpacked(.all) {
            // A connection on which nothing happens for long is asked for a sign of life.
            if frame.type == MessageType.ping.rawValue, let ping = try? Ping(body: frame.body) {
                context.writeAndFlush(self.wrapOutboundOut(Pong(payload: ping.payload).frame(id: 0)), promise: nil)
            } else {
                self.onFrame(frame)
            }
        }
        if self.buffer.readableBytes == 0 { self.buffer.clear() }
    }

    /// What the frames of one read made this side write goes out together.
    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

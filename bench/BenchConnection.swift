import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// A minimal client connection: it sends and receives frames, with all work on its event loop.
///
/// The workloads build their subscribers and writers on it, so that they measure the server and not a client library.
final class BenchConnection: Sendable {
    let channel: any Channel
    private let handler: NIOLoopBound<FrameHandler>
    private static let sessions = NIOLockedValueBox<UInt64>(0)
    /// What the workloads ask for: all that a server offers but the names of own requests, which a writer without a
    /// subscription would get too.
    static let features: Features = .all.subtracting(.optimisticWrites)

    private init(channel: any Channel, handler: NIOLoopBound<FrameHandler>) {
        self.channel = channel
        self.handler = handler
    }

    /// Connects and performs the handshake.
    static func connect(
        host: String,
        port: Int,
        on group: any EventLoopGroup,
        features: Features = BenchConnection.features
    ) async throws -> BenchConnection {
        try await Self.connectWithHistoryID(host: host, port: port, on: group, features: features).0
    }

    /// Connects and performs the handshake. Returns the history id of the store as well.
    static func connectWithHistoryID(
        host: String = "127.0.0.1",
        port: Int,
        on group: any EventLoopGroup,
        features: Features = BenchConnection.features
    ) async throws -> (BenchConnection, Identifier128) {
        let (connection, welcome) = try await Self.connectWithWelcome(
            host: host,
            port: port,
            on: group,
            features: features
        )
        return (connection, welcome.historyID)
    }

    /// Connects and performs the handshake. Returns the server's answer as well. Without `session` it gets a new one.
    static func connectWithWelcome(
        host: String = "127.0.0.1",
        port: Int,
        on group: any EventLoopGroup,
        features: Features = BenchConnection.features,
        session: Identifier128? = nil,
        isWebSocket: Bool = false
    ) async throws -> (BenchConnection, Welcome) {
        let connection = try await Self.connectRaw(
            host: host,
            port: port,
            on: group,
            decodes: true,
            isWebSocket: isWebSocket
        )
        let hello = Hello(
            clientName: "nestbench",
            features: features,
            session: session ?? Self.newSession()
        )
        let welcomed = connection.channel.eventLoop.makePromise(of: Welcome.self)
        try await connection.channel.eventLoop.submit {
            let handler = connection.handler.value
            handler.onEnd = { welcomed.fail(BenchError.ended) }
            guard connection.channel.isActive else { return welcomed.fail(BenchError.ended) }
            handler.onFrame = { frame in
                switch MessageType(rawValue: frame.type) {
                case .welcome: welcomed.completeWith(Result { try Welcome(body: frame.body) })
                case .error: welcomed.fail(BenchError.refused(frame))
                default: break
                }
            }
        }.get()
        var bytes = ByteBuffer(bytes: Preface.client.bytes)
        bytes.writeImmutableBuffer(hello.frame(id: 0))
        connection.channel.writeAndFlush(bytes, promise: nil)
        return (connection, try await welcomed.futureResult.get())
    }

    static func newSession() -> Identifier128 {
        var generator = SystemRandomNumberGenerator()
        let number = Self.sessions.withLockedValue {
            $0 += 1; return $0
        }
        return Identifier128(high: generator.next(), low: number)
    }

    /// Connects without a handshake, for the servers of the limits. `hasPreface`: whether the server sends a preface
    /// before its frames.
    static func connectRaw(
        host: String,
        port: Int,
        on group: any EventLoopGroup,
        decodes: Bool,
        hasPreface: Bool = true,
        isWebSocket: Bool = false
    ) async throws -> BenchConnection {
        let handlers = NIOLockedValueBox<NIOLoopBound<FrameHandler>?>(nil)
        let channel = try await ClientBootstrap(group: group)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = FrameHandler(decodes: decodes, hasPreface: hasPreface)
                    handlers.withLockedValue { $0 = NIOLoopBound(handler, eventLoop: channel.eventLoop) }
                    if isWebSocket { try channel.pipeline.syncOperations.addHandler(BenchWebSocket()) }
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: host, port: port).get()
        return BenchConnection(channel: channel, handler: handlers.withLockedValue { $0! })
    }

    /// Runs `body` with the handler, on the event loop.
    func configure(_ body: @escaping @Sendable (FrameHandler) -> Void) async throws {
        try await self.channel.eventLoop.submit { body(self.handler.value) }.get()
    }

    /// The number of bytes received.
    func bytesRead() async throws -> Int {
        try await self.channel.eventLoop.submit { self.handler.value.bytesRead }.get()
    }

    func send(_ bytes: ByteBuffer) {
        self.channel.writeAndFlush(bytes, promise: nil)
    }

    func close() async throws {
        try await self.channel.close().get()
    }

    /// Subscribes to the children of an object. Returns when the snapshot has arrived.
    func subscribe(to parent: ObjectID, onFrame: @escaping @Sendable (Frame) -> Void) async throws {
        try await self.subscribe([Self.children(of: parent)])
        try await self.configure { $0.onFrame = onFrame }
    }

    /// Returns a request for the children of an object, in their order.
    static func children(of parent: ObjectID) -> ObjectFetchRequest {
        ObjectFetchRequest(
            entity: EntityNumber(1),
            source: FetchSource(object: parent, relationship: PropertyNumber(6))
        )
    }

    /// Subscribes to results at this revision or a later one. Returns when the last snapshot has arrived.
    func subscribe(_ requests: [ObjectFetchRequest], atLeast: Revision = Revision(0)) async throws {
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
            self.channel.write(Subscribe(request, atLeast: atLeast).frame(id: UInt32(index + 1)), promise: nil)
        }
        self.channel.flush()
        try await ready.futureResult.get()
    }

    /// Sends a request and returns its reply.
    func request(_ frame: ByteBuffer) async throws -> Frame {
        let answer = self.channel.eventLoop.makePromise(of: Frame.self)
        try await self.configure { handler in
            handler.onEnd = { answer.fail(BenchError.ended) }
            guard self.channel.isActive else { return answer.fail(BenchError.ended) }
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
    /// The server or a child process did not do its part of a measurement.
    case failed(String)
    case nothingInserted
    /// The connection ended before the answer.
    case ended

    var description: String {
        switch self {
        case .refused(let frame):
            (try? ErrorMessage(body: frame.body))?.error.description ?? "refused"
        case .badServer(let text): "--server takes HOST:PORT, not \(text)"
        case .failed(let text): text
        case .nothingInserted: "the server inserted nothing"
        case .ended: "the connection ended before the answer"
        }
    }
}

/// Decodes the received bytes into frames, passes them to `onFrame` and counts the bytes.
final class FrameHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    var onFrame: (Frame) -> Void = { _ in }
    /// Called with the received bytes instead of `onFrame` if `decodes` is false.
    var onBytes: (ByteBuffer) -> Void = { _ in }
    /// Called when the connection ends.
    var onEnd: () -> Void = {}
    var bytesRead = 0
    private let decodes: Bool
    private var buffer = ByteBuffer()
    /// Whether the server's preface has not arrived yet.
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
            // The server pings idle connections.
            if frame.type == MessageType.ping.rawValue, let ping = try? Ping(body: frame.body) {
                context.writeAndFlush(self.wrapOutboundOut(Pong(payload: ping.payload).frame(id: 0)), promise: nil)
            } else {
                self.onFrame(frame)
            }
        }
        if self.buffer.readableBytes == 0 { self.buffer.clear() }
    }

    /// Flushes the replies to all frames of one read together.
    func channelReadComplete(context: ChannelHandlerContext) {
        context.flush()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.onEnd()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

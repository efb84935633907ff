import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestWire

/// Asks for one object again and again, a little time apart; keeps how long each answer took, in microseconds.
final class Victim: Sendable {
    private static let pause = TimeAmount.milliseconds(10)

    private struct State {
        var id: UInt32 = 0
        var askedAt = ContinuousClock.now
        var taken: [UInt64] = []
        var isClosed = false
    }

    private let connection: BenchConnection
    private let state: NIOLoopBoundBox<State>

    init(_ connection: BenchConnection) async throws {
        self.connection = connection
        self.state = .makeBoxSendingValue(State(), eventLoop: connection.channel.eventLoop)
    }

    func start() async throws {
        try await self.connection.configure { handler in
            handler.onFrame = { frame in
                guard frame.type == MessageType.object.rawValue else { return }
                self.state.value.taken.append((ContinuousClock.now - self.state.value.askedAt).microseconds)
                self.connection.channel.eventLoop.scheduleTask(in: Self.pause) { self.ask() }
            }
            self.ask()
        }
    }

    private func ask() {
        guard !self.state.value.isClosed else { return }
        self.state.value.id += 1
        self.state.value.askedAt = .now
        self.connection.send(GetObject(id: ObjectID(1)).frame(id: self.state.value.id))
    }

    /// The answers since the last time; and the one that is awaited, as long as it has taken, so that none that never comes is
    /// left out.
    func take() async throws -> [UInt64] {
        try await self.connection.channel.eventLoop.submit {
            defer { self.state.value.taken = [] }
            let awaited = (ContinuousClock.now - self.state.value.askedAt).microseconds
            return self.state.value.taken + (awaited > 1_000_000 ? [awaited] : [])
        }.get()
    }

    func close() async throws {
        try await self.connection.channel.eventLoop.submit { self.state.value.isClosed = true }.get()
        try await self.connection.close()
    }
}

/// Floods a server, and comes back whenever it is ended. Lives on one event loop.
final class Attacker: Sendable {
    private struct State {
        var isOver = false
        var channels: [ObjectIdentifier: any Channel] = [:]
        var lastID: UInt32 = 0
    }

    /// Connections of one client that come and go, or say nothing.
    private static let connectionsAtOnce = 50

    private let attack: Attack
    private let host: String
    private let port: Int
    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>

    init(_ attack: Attack, host: String, port: Int, on loop: any EventLoop) {
        self.attack = attack
        self.host = host
        self.port = port
        self.loop = loop
        self.state = .makeBoxSendingValue(State(), eventLoop: loop)
    }

    func start() {
        let count = self.attack == .connections || self.attack == .silence ? Self.connectionsAtOnce : 1
        self.loop.execute { for _ in 0..<count { self.connect() } }
    }

    func stop() async throws {
        let channels = try await self.loop.submit {
            self.state.value.isOver = true
            return Array(self.state.value.channels.values)
        }.get()
        // Those that the server has closed meanwhile are closed.
        for channel in channels { try? await channel.close().get() }
    }

    private func connect() {
        guard !self.state.value.isOver else { return }
        ClientBootstrap(group: self.loop)
            .channelOption(.autoRead, value: self.attack != .unread)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Drain())
                }
            }
            .connect(host: self.host, port: self.port)
            .assumeIsolated()
            .whenComplete { result in
                guard case .success(let channel) = result else {
                    // Refused: at once again, but let others have their turn.
                    self.loop.scheduleTask(in: .milliseconds(1)) { self.connect() }
                    return
                }
                self.state.value.channels[ObjectIdentifier(channel)] = channel
                channel.closeFuture.assumeIsolated().whenComplete { _ in
                    self.state.value.channels[ObjectIdentifier(channel)] = nil
                    self.connect()
                }
                self.attack(over: channel)
            }
    }

    private func attack(over channel: any Channel) {
        switch self.attack {
        case .connections:
            channel.close(promise: nil)
        case .silence:
            channel.writeAndFlush(ByteBuffer(bytes: Preface.client.bytes), promise: nil)
        default:
            var generator = SystemRandomNumberGenerator()
            var greeting = ByteBuffer(bytes: Preface.client.bytes)
            let hello = Hello(clientName: "attack", session: .random(using: &generator))
            greeting.writeImmutableBuffer(hello.frame(id: 0))
            // CANCEL needs a request to belong to.
            greeting.writeImmutableBuffer(GetModel().frame(id: 1))
            self.state.value.lastID = 1
            channel.writeAndFlush(greeting, promise: nil)
            self.send(over: channel)
        }
    }

    /// The next piece as soon as the one before has gone.
    private func send(over channel: any Channel) {
        guard !self.state.value.isOver, channel.isActive else { return }
        let (bytes, last) = self.attack.bytes(after: self.state.value.lastID)
        self.state.value.lastID = last
        // Not from within the write, which may be done at once, for ever.
        channel.writeAndFlush(bytes).whenSuccess { _ in self.loop.execute { self.send(over: channel) } }
    }
}

/// Throws away what comes.
private final class Drain: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

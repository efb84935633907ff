import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// Repeats one request as fast as possible, and reconnects when the server closes the connection. Used only on one
/// event loop.
final class Flood: Attacker {
    enum Kind {
        case pings, cancels, unknown, requests, subscriptions, unread, writes, connections, silence
    }

    private struct State {
        var isOver = false
        var channels: [ObjectIdentifier: any Channel] = [:]
        var lastID: UInt32 = 0
        var counts = AttackCounts()
    }

    /// The number of connections for the kinds `connections` and `silence`.
    private static let connectionsAtOnce = 50

    private let kind: Kind
    private let port: Int
    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>

    init(_ kind: Kind, on server: AttackServer) {
        self.kind = kind
        self.port = server.child.port
        self.loop = server.group.next()
        self.state = .makeBoxSendingValue(State(), eventLoop: self.loop)
    }

    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts {
        let count = self.kind == .connections || self.kind == .silence ? Self.connectionsAtOnce : 1
        self.loop.execute { for _ in 0..<count { self.connect() } }
        try? await Task.sleep(until: deadline)
        let (channels, counts) = try await self.loop.submit {
            self.state.value.isOver = true
            return (Array(self.state.value.channels.values), self.state.value.counts)
        }.get()
        // The server may have closed some of them already.
        for channel in channels { try? await channel.close().get() }
        return counts
    }

    private func connect() {
        guard !self.state.value.isOver else { return }
        ClientBootstrap(group: self.loop)
            .channelOption(.autoRead, value: self.kind != .unread)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Drain())
                }
            }
            .connect(host: "127.0.0.1", port: self.port)
            .assumeIsolated()
            .whenComplete { result in
                guard case .success(let channel) = result else {
                    // Refused: retry soon, but let other work run first.
                    self.loop.scheduleTask(in: .milliseconds(1)) { self.connect() }
                    return
                }
                self.state.value.channels[ObjectIdentifier(channel)] = channel
                channel.closeFuture.assumeIsolated().whenComplete { _ in
                    self.state.value.channels[ObjectIdentifier(channel)] = nil
                    if !self.state.value.isOver { self.state.value.counts.ended += 1 }
                    self.connect()
                }
                self.begin(over: channel)
            }
    }

    private func begin(over channel: any Channel) {
        switch self.kind {
        case .connections:
            self.state.value.counts.sent += 1
            channel.close(promise: nil)
        case .silence:
            self.state.value.counts.sent += 1
            channel.writeAndFlush(ByteBuffer(bytes: Preface.client.bytes), promise: nil)
        default:
            var generator = SystemRandomNumberGenerator()
            var greeting = ByteBuffer(bytes: Preface.client.bytes)
            let hello = Hello(clientName: "attack", session: .random(using: &generator))
            greeting.writeImmutableBuffer(hello.frame(id: 0))
            // CANCEL needs a request that it can cancel.
            greeting.writeImmutableBuffer(GetModel().frame(id: 1))
            self.state.value.lastID = 1
            channel.writeAndFlush(greeting, promise: nil)
            self.send(over: channel)
        }
    }

    /// Sends the next piece when the previous one is written.
    private func send(over channel: any Channel) {
        guard !self.state.value.isOver, channel.isActive else { return }
        let (bytes, last) = self.kind.bytes(after: self.state.value.lastID)
        self.state.value.counts.sent += Int(last - self.state.value.lastID)
        self.state.value.lastID = last
        // In a new turn: writes may complete at once, and the recursion would not end.
        channel.writeAndFlush(bytes).whenSuccess { _ in self.loop.execute { self.send(over: channel) } }
    }
}

/// Discards all received bytes.
private final class Drain: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }
}

extension Flood.Kind {
    /// Returns about 64 KiB of requests with ids after `last`, and the last id used.
    fileprivate func bytes(after last: UInt32) -> (ByteBuffer, UInt32) {
        var buffer = ByteBuffer()
        var id = last
        while buffer.readableBytes < 64 << 10 {
            id += 1
            switch self {
            case .pings: buffer.writeImmutableBuffer(Ping(payload: UInt64(id)).frame(id: 0))
            case .cancels: buffer.writeImmutableBuffer(Cancel().frame(id: 1))
            case .unknown: buffer.writeMultipleIntegers(UInt32(0), UInt8(0x7f), UInt8(0), UInt16(0), id)
            case .requests, .unread: buffer.writeImmutableBuffer(GetObject(id: ObjectID(1)).frame(id: id))
            case .subscriptions:
                // Each subscription has a different result over all objects.
                let comparison = Comparison(
                    path: PropertyPath(leaf: .attribute(PropertyNumber(1))),
                    operator: .contains,
                    values: [.string("\(id)")]
                )
                let request = ObjectFetchRequest(entity: EntityNumber(1), predicate: FetchPredicate(comparison))
                buffer.writeImmutableBuffer(Subscribe(request).frame(id: id))
            case .writes: buffer.writeImmutableBuffer(Load.insertFrame(under: ObjectID(1), id: id))
            case .connections, .silence: return (buffer, id)
            }
        }
        return (buffer, id)
    }
}

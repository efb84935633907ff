import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// A connection that sends any bytes, also invalid ones. Every request has an outcome, also if its connection ends or
/// no reply arrives in time.
final class AttackConnection: Sendable {
    enum Outcome: Sendable {
        case answered(Frame)
        case refused(ErrorCode)
        /// The connection ended.
        case ended
        /// No reply arrived in time.
        case late
    }

    struct Reply: Sendable {
        var outcome: Outcome
        var at: ContinuousClock.Instant
    }

    private struct Waiting {
        var promise: EventLoopPromise<Reply>
        var timer: Scheduled<Void>
    }

    private struct State {
        /// The waiting requests by id; 0 is for the handshake and PING.
        var waiting: [UInt32: Waiting] = [:]
        var isEnded = false
    }

    private let channel: any Channel
    private let state: NIOLoopBoundBox<State>

    private init(_ channel: any Channel, _ state: NIOLoopBoundBox<State>) {
        self.channel = channel
        self.state = state
    }

    /// Connects. Returns `nil` if that is not possible.
    static func connect(port: Int, on loop: any EventLoop) async -> AttackConnection? {
        let state = NIOLoopBoundBox.makeBoxSendingValue(State(), eventLoop: loop)
        let channel = try? await ClientBootstrap(group: loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = FrameHandler(decodes: true)
                    handler.onFrame = { Self.take($0, state) }
                    try channel.pipeline.syncOperations.addHandler(handler)
                    channel.closeFuture.assumeIsolated().whenComplete { _ in
                        state.value.isEnded = true
                        for id in state.value.waiting.keys { Self.settle(id, .ended, state) }
                    }
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        return channel.map { AttackConnection($0, state) }
    }

    /// Sends the preface and HELLO, and returns the reply, which should be WELCOME.
    func greet(
        token: AccessToken?,
        session: Identifier128? = nil,
        features: Features = BenchConnection.features,
        within limit: TimeAmount
    ) async -> Reply {
        var generator = SystemRandomNumberGenerator()
        let hello = Hello(
            clientName: "attack",
            features: features,
            session: session ?? .random(using: &generator),
            token: token
        )
        var bytes = ByteBuffer(bytes: Preface.client.bytes)
        bytes.writeImmutableBuffer(hello.frame(id: 0))
        return await self.ask(bytes, id: 0, within: limit)
    }

    /// Sends frames, and waits for the reply with this id.
    func ask(_ bytes: ByteBuffer, id: UInt32, within limit: TimeAmount) async -> Reply {
        let promise = self.channel.eventLoop.makePromise(of: Reply.self)
        self.channel.eventLoop.execute {
            guard !self.state.value.isEnded else { return promise.succeed(Reply(outcome: .ended, at: .now)) }
            let state = self.state
            let timer = self.channel.eventLoop.assumeIsolated()
                .scheduleTask(in: limit) { Self.settle(id, .late, state) }
            self.state.value.waiting[id] = Waiting(promise: promise, timer: timer)
            self.channel.writeAndFlush(bytes, promise: nil)
        }
        return (try? await promise.futureResult.get()) ?? Reply(outcome: .ended, at: .now)
    }

    /// Sends frames, without waiting for a reply.
    func send(_ bytes: ByteBuffer) {
        self.channel.writeAndFlush(bytes, promise: nil)
    }

    /// Stops reading from the connection.
    func stopReading() async {
        _ = try? await self.channel.setOption(.autoRead, value: false).get()
    }

    var isEnded: Bool {
        get async { (try? await self.channel.eventLoop.submit { self.state.value.isEnded }.get()) ?? true }
    }

    func close() async {
        _ = try? await self.channel.close().get()
    }

    // MARK: On the event loop

    private static func take(_ frame: Frame, _ state: NIOLoopBoundBox<State>) {
        switch MessageType(rawValue: frame.type) {
        case .progress, .undoState: if frame.id == 0 { return }
        case .credit, .own, .authors, .goAway: return
        case .error:
            let code = (try? ErrorMessage(body: frame.body))?.error.code ?? .malformed
            return Self.settle(frame.id, .refused(code), state)
        default: break
        }
        guard !frame.flags.contains(.more) else { return }
        Self.settle(frame.id, .answered(frame), state)
    }

    private static func settle(_ id: UInt32, _ outcome: Outcome, _ state: NIOLoopBoundBox<State>) {
        guard let waiting = state.value.waiting.removeValue(forKey: id) else { return }
        waiting.timer.cancel()
        waiting.promise.succeed(Reply(outcome: outcome, at: .now))
    }
}

import NIOCore
import NIOPosix
import NestModel
import NestProtocol
import NestFraming

/// Opens many connections at once, each until it has received its result. Uses one event loop.
final class Storm: Sendable {
    /// The behaviour of a connection, on the event loop.
    struct Visit: Sendable {
        /// The bytes to send after connecting.
        var greeting: ByteBuffer
        var decodes: Bool
        /// Prepares the handler of the connection with a number. The handler calls `done` once.
        var prepare: @Sendable (Int, FrameHandler, any Channel, _ done: @escaping @Sendable () -> Void) -> Void
    }

    private struct State {
        var next = 0
        var done = 0
        var channels: [any Channel] = []
        var handlers: [FrameHandler] = []
        var start = ContinuousClock.now
    }

    /// The maximum number of connections being opened, so that the kernel's accept queue is never full.
    private static let connectingMax = 1_000

    private let count: Int
    private let port: Int
    private let visit: Visit
    private let loop: any EventLoop
    private let state: NIOLoopBoundBox<State>
    private let finished: EventLoopPromise<Double>

    init(_ count: Int, port: Int, on group: any EventLoopGroup, _ visit: Visit) {
        self.count = count
        self.port = port
        self.visit = visit
        self.loop = group.any()
        self.state = .makeBoxSendingValue(State(), eventLoop: self.loop)
        self.finished = self.loop.makePromise()
    }

    /// Opens all connections and returns the seconds until the last is done.
    func run() async throws -> Double {
        self.loop.execute {
            self.state.value.start = .now
            for _ in 0..<min(Self.connectingMax, self.count) { self.connectNext() }
        }
        return try await self.finished.futureResult.get()
    }

    /// Returns the average number of bytes that a connection received.
    func bytesRead() async throws -> Int {
        try await self.loop.submit {
            self.state.value.handlers.reduce(0) { $0 + $1.bytesRead } / max(self.state.value.handlers.count, 1)
        }.get()
    }

    func close() async throws {
        let channels = try await self.loop.submit { self.state.value.channels }.get()
        // Many are already closed.
        for channel in channels { try? await channel.close().get() }
    }

    private func connectNext() {
        guard self.state.value.next < self.count else { return }
        let number = self.state.value.next
        self.state.value.next += 1
        ClientBootstrap(group: self.loop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = FrameHandler(decodes: self.visit.decodes)
                    handler.onEnd = { self.finished.fail(BenchError.ended) }
                    self.visit.prepare(number, handler, channel) { self.noteDone() }
                    self.state.value.handlers.append(handler)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .connect(host: "127.0.0.1", port: self.port)
            .whenComplete { result in
                switch result {
                case .success(let channel):
                    self.state.value.channels.append(channel)
                    channel.writeAndFlush(self.visit.greeting, promise: nil)
                    self.connectNext()
                case .failure(let error):
                    self.finished.fail(error)
                }
            }
    }

    private func noteDone() {
        self.state.value.done += 1
        guard self.state.value.done == self.count else { return }
        self.finished.succeed((ContinuousClock.now - self.state.value.start).seconds)
    }
}

extension Storm.Visit {
    /// Sends and receives the given numbers of bytes, which have no meaning.
    static func answered(_ requestBytes: Int, _ answerBytes: Int) -> Storm.Visit {
        Storm.Visit(greeting: ByteBuffer(repeating: 120, count: requestBytes), decodes: false) { _, handler, _, done in
            handler.onBytes = { [unowned handler] _ in
                if handler.bytesRead == answerBytes { done() }
            }
        }
    }

    /// A nest client that subscribes to one of the requests, and is done when its state is up to date.
    static func subscribing(to requests: [ObjectFetchRequest], resume: ResumePoint?) -> Storm.Visit {
        let subscriptions = requests.map { Subscribe($0, resume: resume).frame(id: 1) }
        var greeting = ByteBuffer(bytes: Preface.client.bytes)
        greeting.writeImmutableBuffer(Hello(clientName: "nestbench", session: Self.newSession()).frame(id: 0))
        return Storm.Visit(greeting: greeting, decodes: true) { number, handler, channel, done in
            let subscribe = subscriptions[number % subscriptions.count]
            var isDone = false
            func finish() {
                guard !isDone else { return }
                isDone = true
                done()
            }
            handler.onFrame = { frame in
                switch MessageType(rawValue: frame.type) {
                case .welcome: channel.writeAndFlush(subscribe, promise: nil)
                case .subscribed:
                    if case .current? = (try? Subscribed(body: frame.body))?.first { finish() }
                case .diff: finish()
                case .snapshot, .snapshotRows: if !frame.flags.contains(.more) { finish() }
                default: break
                }
            }
        }
    }

    /// Returns the number of bytes that such a client sends, including its subscription.
    static func requestBytes(_ request: ObjectFetchRequest, resume: ResumePoint) -> Int {
        Self.subscribing(to: [request], resume: resume).greeting.readableBytes
            + Subscribe(request, resume: resume).frame(id: 1).readableBytes
    }

    /// Returns a new session id. All connections of a storm share it, which makes no difference to subscribers.
    private static func newSession() -> Identifier128 {
        var generator = SystemRandomNumberGenerator()
        return .random(using: &generator)
    }
}

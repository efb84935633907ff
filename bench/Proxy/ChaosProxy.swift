import NIOCore
import NIOPosix

/// A TCP proxy that simulates a faulty network: according to a plan it delays, throttles, stalls, cuts, resets and
/// re-segments connections, and leaves them half-open.
///
/// All work happens on one event loop. Memory is bounded, because each pipe holds a limited number of bytes.
public actor ChaosProxy {
    public struct Address: Hashable, Sendable {
        public var host: String
        public var port: Int

        public init(host: String = "127.0.0.1", port: Int) {
            self.host = host
            self.port = port
        }
    }

    private static let connectTimeout = TimeAmount.seconds(5)
    /// The size of the kernel's receive buffers. It is small, so that backpressure reaches a sender soon.
    private static let kernelBytes: ChannelOptions.Types.SocketOption.Value = 32 << 10

    nonisolated let eventLoop: any EventLoop
    public nonisolated let unownedExecutor: UnownedSerialExecutor
    private var destination: Address
    private let onEvent: @Sendable (ProxyEvent) -> Void
    private var plan: ProxyPlan
    private var random: ProxyRandom
    private var faults = Faults.none
    private var phaseTimer: Scheduled<Void>?
    private var listener: (any Channel)?
    private var links: [Int: ProxyLink] = [:]
    private var linkCount = 0
    public private(set) var port = 0

    private init(
        to destination: Address,
        _ plan: ProxyPlan,
        seed: UInt64,
        _ onEvent: @escaping @Sendable (ProxyEvent) -> Void
    ) {
        self.eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        self.unownedExecutor = self.eventLoop.executor.asUnownedSerialExecutor()
        self.destination = destination
        self.plan = plan
        self.random = ProxyRandom(seed: seed)
        self.onEvent = onEvent
    }

    /// Starts a proxy that listens and forwards.
    ///
    /// - Parameter seed: the seed of random choices, such as the sizes of random segments.
    public static func start(
        listen: Address = Address(port: 0),
        to destination: Address,
        plan: ProxyPlan = .fixed(.none),
        seed: UInt64 = 0,
        onEvent: @escaping @Sendable (ProxyEvent) -> Void = { _ in }
    ) async throws -> ChaosProxy {
        let proxy = ChaosProxy(to: destination, plan, seed: seed, onEvent)
        try await proxy.listen(listen)
        return proxy
    }

    private func listen(_ address: Address) async throws {
        let channel = try await ServerBootstrap(group: self.eventLoop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelOption(.socketOption(.so_rcvbuf), value: Self.kernelBytes)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelInitializer { client in
                self.assumeIsolated { $0.accept(client) }
            }
            .bind(host: address.host, port: address.port).get()
        self.listener = channel
        self.port = channel.localAddress?.port ?? 0
        self.log(.listening(port: self.port))
        self.beginPhase()
    }

    /// Replaces the plan. The bytes that the proxy holds follow the new plan.
    public func follow(_ plan: ProxyPlan) {
        self.plan = plan
        self.beginPhase()
    }

    /// Forwards new connections to another address. So a proxy can start before its server, whose settings name it.
    public func forward(to destination: Address) {
        self.destination = destination
    }

    /// Resets all connections.
    public func resetAll() {
        for link in self.links.values { link.assumeIsolated { $0.reset() } }
    }

    /// Waits until the proxy is stopped.
    public func wait() async throws {
        try await self.listener?.closeFuture.get()
    }

    public func stop() async {
        self.phaseTimer?.cancel()
        try? await self.listener?.close().get()
        self.resetAll()
    }

    // MARK: Links

    private func accept(_ client: any Channel) -> EventLoopFuture<Void> {
        let number = self.linkCount + 1
        self.linkCount = number
        let link = ProxyLink(number, client: client, proxy: self, self.faults, seed: self.random.next())
        self.links[number] = link
        self.log(self.faults.isRefusing ? .refused : .opened(link: number))
        let isRefused = self.faults.isRefusing
        return self.eventLoop.makeCompletedFuture {
            try client.pipeline.syncOperations.addHandler(ProxyHandler(link, .toServer))
        }.map {
            // The channel is active from the next turn on.
            self.eventLoop.execute {
                self.assumeIsolated { isRefused ? link.assumeIsolated { $0.reset() } : $0.connect(link) }
            }
        }
    }

    private func connect(_ link: ProxyLink) {
        ClientBootstrap(group: self.eventLoop)
            .connectTimeout(Self.connectTimeout)
            .channelOption(.socketOption(.so_rcvbuf), value: Self.kernelBytes)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelOption(.allowRemoteHalfClosure, value: true)
            .channelOption(.autoRead, value: false)
            .channelOption(.maxMessagesPerRead, value: 1)
            .channelInitializer { server in
                server.eventLoop.makeCompletedFuture {
                    try server.pipeline.syncOperations.addHandler(ProxyHandler(link, .toClient))
                }
            }
            .connect(host: self.destination.host, port: self.destination.port)
            .whenComplete { result in
                link.assumeIsolated { $0.connected(try? result.get()) }
            }
    }

    func closed(_ number: Int, toServer: Int, toClient: Int) {
        self.links[number] = nil
        self.log(.closed(link: number, toServer: toServer, toClient: toClient))
    }

    func log(_ event: ProxyEvent) {
        self.onEvent(event)
    }

    // MARK: Phases

    private func beginPhase() {
        self.phaseTimer?.cancel()
        let phase = self.plan.nextPhase()
        self.faults = phase.faults
        self.log(.phase(phase.faults))
        for link in self.links.values { link.assumeIsolated { $0.begin(phase.faults) } }
        guard !self.plan.isFixed else { return }
        self.phaseTimer = self.eventLoop.scheduleTask(in: .milliseconds(Int64(phase.milliseconds))) {
            self.assumeIsolated { $0.beginPhase() }
        }
    }
}

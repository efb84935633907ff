import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// The HTTP port for metrics and health, on the loopback address. It has its own thread, so that it answers while the
/// server's threads do not.
package final class OperationsListener: Service {
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel

    /// An idle connection is closed after `idleTimeout`. A scrape waits for the engine for at most `engineTimeout`.
    private static let idleTimeout = TimeAmount.seconds(60)
    private static let engineTimeout = TimeAmount.seconds(2)

    private init(group: MultiThreadedEventLoopGroup, channel: any Channel) {
        self.group = group
        self.channel = channel
    }

    package var port: Int { self.channel.localAddress?.port ?? 0 }

    /// Begins to listen. `metrics` returns the metrics that are available at once. `engine` calls back with the
    /// engine's metrics, or never.
    package static func bind(
        port: Int,
        board: HealthBoard,
        metrics: @escaping @Sendable () -> [MetricFamily],
        engine: @escaping @Sendable (_ answer: @escaping @Sendable ([MetricFamily]) -> Void) -> Void
    ) async throws -> OperationsListener {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let collect: @Sendable (any EventLoop) -> EventLoopFuture<[MetricFamily]> = { eventLoop in
            let answer = eventLoop.makePromise(of: [MetricFamily]?.self)
            let timeout = eventLoop.scheduleTask(in: Self.engineTimeout) { answer.succeed(nil) }
            engine { families in
                eventLoop.execute {
                    timeout.cancel()
                    answer.succeed(families)
                }
            }
            return answer.futureResult.map { families in
                metrics() + [Self.answered(families != nil)] + (families ?? [])
            }
        }
        let bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    try pipeline.configureHTTPServerPipeline()
                    try pipeline.addHandler(IdleStateHandler(allTimeout: Self.idleTimeout))
                    try pipeline.addHandler(IdleCloser())
                    try pipeline.addHandler(OperationsPages(board: board, metrics: collect))
                }
            }
        do {
            let channel = try await bootstrap.bind(host: "127.0.0.1", port: port).get()
            return OperationsListener(group: group, channel: channel)
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    private static func answered(_ answered: Bool) -> MetricFamily {
        let name = "nest_engine_answers"
        return MetricFamily(name, .gauge, help: MetricHelp.text(of: name), value: answered ? 1 : 0)
    }

    /// Runs until the service group shuts down. It stops last, so that operators can observe the server while it stops.
    package func run() async throws {
        try? await gracefulShutdown()
        // This fails only if the channel is closed already.
        try? await self.channel.close().get()
        try? await self.group.shutdownGracefully()
    }
}

/// Closes idle connections.
private final class IdleCloser: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event is IdleStateHandler.IdleStateEvent {
            context.close(promise: nil)
        } else {
            context.fireUserInboundEventTriggered(event)
        }
    }
}

import NIOCore
import NIOHTTP1
import NIOPosix
import ServiceLifecycle

/// The HTTP port for metrics and health, on the loopback address, with a thread of its own: it answers while those of the
/// server do not.
package final class OperationsListener: Service {
    private let group: MultiThreadedEventLoopGroup
    private let channel: any Channel

    /// An idle connection is closed after this, and a scrape waits so long for the engine at the most.
    private static let idleTimeout = TimeAmount.seconds(60)
    private static let engineTimeout = TimeAmount.seconds(2)

    private init(group: MultiThreadedEventLoopGroup, channel: any Channel) {
        self.group = group
        self.channel = channel
    }

    package var port: Int { self.channel.localAddress?.port ?? 0 }

    /// Listens at once. `metrics` are those at hand; `engine` calls back with those that have to be asked for, or never.
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

    /// Until the group shuts down; it is the last to go, so that what the server does while it stops can be seen.
    package func run() async throws {
        try? await gracefulShutdown()
        // What is closed already is as closed as it can be.
        try? await self.channel.close().get()
        try? await self.group.shutdownGracefully()
    }
}

/// Closes a connection on which nothing happens.
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

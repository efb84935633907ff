import Glibc
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestModel
import NestProtocol

/// The listening socket. With TLS, a TLS handler comes first in the pipeline of each connection.
struct Listener: Sendable {
    private let channel: any Channel
    private let place: Place
    private let isClosing = NIOLockedValueBox(false)

    /// The bound address, with the port that the system chose if 0 was configured.
    var address: SocketAddress? { self.channel.localAddress }

    /// Listens for clients that speak the protocol over TCP.
    static func bind(
        _ configuration: ServerConfiguration,
        loops: [ConnectionLoop],
        group: MultiThreadedEventLoopGroup,
        server: ServerContext
    ) async throws(ServerError) -> Listener {
        let place = Place(host: configuration.host, port: configuration.port, option: "--port")
        return try await self.bind(place, loops: loops, group: group, server: server) { loop in
            (server.tls?.makeHandlers() ?? [])
                + [ClientConnection(server: server, loop: loop, isPlain: server.tls == nil)]
        }
    }

    /// Listens for browsers.
    static func bind(
        _ web: WebConfiguration,
        loops: [ConnectionLoop],
        group: MultiThreadedEventLoopGroup,
        server: ServerContext
    ) async throws(ServerError) -> Listener {
        let port = try WebPort(web, server)
        let place = Place(host: web.host, port: web.port, option: "--web")
        return try await self.bind(place, loops: loops, group: group, server: server) { loop in
            (server.tls?.makeWebHandlers() ?? []) + [WebConnection(port, loop: loop)]
        }
    }

    private struct Place {
        let host: String
        var port: Int
        /// The option that specifies it.
        let option: String
    }

    /// `handlers` returns the handlers of a new connection.
    private static func bind(
        _ place: Place,
        loops: [ConnectionLoop],
        group: MultiThreadedEventLoopGroup,
        server: ServerContext,
        handlers: @escaping @Sendable (ConnectionLoop) -> [any ChannelHandler]
    ) async throws(ServerError) -> Listener {
        var bootstrap = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Int32(Limits.acceptBacklog))
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        AcceptHandler(limiter: server.limiter, metrics: server.metrics, logger: server.logger)
                    )
                }
            }
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(
                .writeBufferWaterMark,
                value: .init(low: Limits.socketBytesLow, high: Limits.socketBytesHigh)
            )
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let loop = loops.first(where: { $0.eventLoop === channel.eventLoop }) else {
                        preconditionFailure("a connection is on one of the server's event loops")
                    }
                    try channel.pipeline.syncOperations.addHandlers(handlers(loop))
                }
            }
        if let bytes = server.configuration.socketSendBytes {
            bootstrap = bootstrap.childChannelOption(.socketOption(.so_sndbuf), value: .init(bytes))
        }
        do {
            let channel = try await bootstrap.bind(host: place.host, port: place.port).get()
            var bound = place
            bound.port = channel.localAddress?.port ?? place.port
            return Listener(channel: channel, place: bound)
        } catch let error as IOError where error.errnoCode == EADDRINUSE {
            throw .addressInUse(host: place.host, port: place.port, option: place.option)
        } catch {
            let isUnknown =
                if case SocketAddressError.unknown = error { true } else { error is SocketAddressError.UnknownHost }
            let reason = isUnknown ? "there is no such host" : LogText.reason(error)
            throw .cannotListen(host: place.host, port: place.port, reason: reason)
        }
    }

    /// Calls `onLoss` once if the system closes the socket: then no client can connect any more.
    func watch(_ onLoss: @escaping @Sendable (ServerError) -> Void) {
        self.channel.closeFuture.whenComplete { [isClosing, place] _ in
            guard !isClosing.withLockedValue({ $0 }) else { return }
            onLoss(.listenerLost(host: place.host, port: place.port))
        }
    }

    func close() async {
        self.isClosing.withLockedValue { $0 = true }
        // This fails only if the listener is closed already.
        try? await self.channel.close().get()
    }
}

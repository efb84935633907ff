import NIOCore
import NIOPosix
import NIOSSL
import NestProtocol

/// A client with a given TLS configuration that sends a preface and HELLO and returns the outcome.
enum TLSProbe {
    struct Outcome {
        /// The error of the handshake or of the connection after it.
        var error: (any Error)?
        /// The decrypted bytes that the server sent.
        var bytes: [UInt8]
    }

    /// Connects and waits until the server closes or has sent `byteCount` bytes.
    static func run(
        port: Int,
        _ configuration: TLSConfiguration,
        awaiting byteCount: Int = .max
    ) async throws -> Outcome {
        let context = try NIOSSLContext(configuration: configuration)
        let group = MultiThreadedEventLoopGroup.singleton
        let collector = group.next().makePromise(of: Outcome.self)
        do {
            let channel = try await ClientBootstrap(group: group).channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let tls = try NIOSSLClientHandler(context: context, serverHostname: "localhost")
                    let handler = Collector(promise: collector, byteCount: byteCount)
                    try channel.pipeline.syncOperations.addHandlers([tls, handler])
                }
            }.connect(host: "127.0.0.1", port: port).get()
            var first = ByteBuffer(bytes: Preface.client.bytes)
            first.writeImmutableBuffer(ServerRawConnection.hello())
            // The write fails if the connection has ended; the collector reports that.
            channel.writeAndFlush(first, promise: nil)
            let outcome = try await collector.futureResult.get()
            try? await channel.close().get()
            return outcome
        } catch {
            collector.fail(error)
            throw error
        }
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let byteCount: Int
        private var promise: EventLoopPromise<Outcome>?
        private var outcome = Outcome(error: nil, bytes: [])

        init(promise: EventLoopPromise<Outcome>, byteCount: Int) {
            self.promise = promise
            self.byteCount = byteCount
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.outcome.bytes += Array(self.unwrapInboundIn(data).readableBytesView)
            if self.outcome.bytes.count >= self.byteCount { self.finish() }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            self.outcome.error = self.outcome.error ?? error
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { self.finish() }

        private func finish() {
            self.promise?.succeed(self.outcome)
            self.promise = nil
        }
    }
}

import NIOCore
import NIOPosix
import NIOSSL

/// A server that is not nestd.
struct StrangeServer {
    enum Answer: Sendable {
        /// It sends a text when the client has sent something.
        case text(String)
        case nothing
        /// It closes the connection when the client has sent something.
        case end
    }

    private let channel: any Channel
    let port: Int

    init(_ answer: Answer, tls: NIOSSLContext? = nil) async throws {
        self.channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton).childChannelInitializer {
            channel in
            channel.eventLoop.makeCompletedFuture {
                if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                try channel.pipeline.syncOperations.addHandler(Handler(answer: answer))
            }
        }.bind(host: "127.0.0.1", port: 0).get()
        self.port = self.channel.localAddress?.port ?? 0
    }

    func close() async throws { try await self.channel.close() }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let answer: Answer

        init(answer: Answer) {
            self.answer = answer
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch self.answer {
            case .text(let text):
                let bytes = ByteBuffer(bytes: text.unicodeScalars.map { UInt8($0.value) })
                context.writeAndFlush(self.wrapOutboundOut(bytes), promise: nil)
            case .nothing: break
            case .end: context.close(promise: nil)
            }
        }
    }
}

/// Returns a port of this machine on which nothing listens.
func unusedPort() async throws -> Int {
    let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .bind(host: "127.0.0.1", port: 0).get()
    let port = channel.localAddress?.port ?? 0
    try await channel.close()
    return port
}

import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NIOSSL
import NestFraming
import NestModel
import NestProtocol

/// The leader's side of a link: answers FOLLOW with a head and what was streamed before, and each request with a
/// receipt.
final class FakeLeader: Sendable {
    struct State {
        var channels: [any Channel] = []
        var follows: [Follow] = []
        /// The id of FOLLOW on the newest connection.
        var followID: UInt32 = 0
        var requests: [PeerRequest] = []
        var hello: Hello?
    }

    static let history = Identifier128(high: 1, low: 1)
    static let epoch: Int64 = 3

    let port: Int
    private let listener: any Channel
    let state: NIOLockedValueBox<State>

    init(host: String = "127.0.0.1", port: Int = 0, tls: NIOSSLContext? = nil) async throws {
        let state = NIOLockedValueBox(State())
        self.state = state
        self.listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls { try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: tls)) }
                    try channel.pipeline.syncOperations.addHandler(Handler(state))
                }
            }.bind(host: host, port: port).get()
        self.port = self.listener.localAddress?.port ?? 0
    }

    /// Sends a message on the newest connection, under the id of FOLLOW.
    func stream(_ message: some Message) throws {
        let (channel, id) = self.state.withLockedValue { ($0.channels.last, $0.followID) }
        channel?.writeAndFlush(message.frame(id: id), promise: nil)
    }

    /// Ends all connections; new ones are accepted.
    func breakAll() {
        for channel in self.state.withLockedValue({ $0.channels }) { channel.close(promise: nil) }
    }

    func close() async throws {
        self.breakAll()
        try await self.listener.close()
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let state: NIOLockedValueBox<State>
        private var buffer = ByteBuffer()
        private var hasPreface = false
        private let decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesMax)

        init(_ state: NIOLockedValueBox<State>) {
            self.state = state
        }

        func channelActive(context: ChannelHandlerContext) {
            let channel = context.channel
            self.state.withLockedValue { $0.channels.append(channel) }
            context.fireChannelActive()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            var bytes = self.unwrapInboundIn(data)
            self.buffer.writeBuffer(&bytes)
            do {
                if !self.hasPreface {
                    guard try Preface.read(from: &self.buffer) != nil else { return }
                    self.hasPreface = true
                    let preface = ByteBuffer(bytes: Preface.server(chosen: 1).bytes)
                    context.channel.writeAndFlush(preface, promise: nil)
                }
                while let frame = try self.decoder.next(from: &self.buffer) { try self.take(frame, context.channel) }
            } catch {
                context.close(promise: nil)
            }
        }

        private func take(_ frame: Frame, _ channel: any Channel) throws {
            switch MessageType(rawValue: frame.type) {
            case .hello:
                let hello = try Hello(body: frame.body)
                self.state.withLockedValue { $0.hello = hello }
                let welcome = Welcome(
                    serverName: "nestd",
                    features: .all,
                    historyID: FakeLeader.history,
                    revision: Revision(1),
                    oldestRevision: Revision(0),
                    modelHash: 0,
                    sessionNumber: 0
                )
                channel.writeAndFlush(welcome.frame(id: 0), promise: nil)
            case .follow:
                let follow = try Follow(body: frame.body)
                self.state.withLockedValue { state in
                    state.follows.append(follow)
                    state.followID = frame.id
                }
                let head = LogHead(epoch: FakeLeader.epoch, position: follow.position)
                channel.writeAndFlush(head.frame(id: frame.id), promise: nil)
            case .peerRequest:
                let request = try PeerRequest(body: frame.body)
                self.state.withLockedValue { $0.requests.append(request) }
                let receipt = Receipt(
                    revision: Revision(UInt64(frame.id)),
                    isChanged: true,
                    isReplayed: request.isAgain,
                    results: [],
                    name: ""
                )
                channel.writeAndFlush(ReceiptMessage(receipt).frame(id: frame.id), promise: nil)
            default: break
            }
        }
    }
}

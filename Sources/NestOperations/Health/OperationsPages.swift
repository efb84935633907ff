import NIOCore
import NIOHTTP1

/// Answers GET /metrics, /livez and /readyz. Read-only.
final class OperationsPages: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let board: HealthBoard
    private let metrics: @Sendable (any EventLoop) -> EventLoopFuture<[MetricFamily]>
    private var request: HTTPRequestHead?

    init(board: HealthBoard, metrics: @escaping @Sendable (any EventLoop) -> EventLoopFuture<[MetricFamily]>) {
        self.board = board
        self.metrics = metrics
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head): self.request = head
        case .body: break
        case .end:
            guard let request = self.request else { return }
            self.request = nil
            self.answer(request, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    private func answer(_ request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard request.method == .GET || request.method == .HEAD else {
            return self.send(.methodNotAllowed, "only GET and HEAD\n", to: request, context)
        }
        switch request.uri.prefix(while: { $0 != "?" }) {
        case "/metrics":
            let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
            self.metrics(context.eventLoop).whenSuccess { families in
                let (pages, context) = bound.value
                pages.send(.ok, MetricsText.text(families), type: MetricsText.contentType, to: request, context)
            }
        case "/livez":
            self.send("alive", if: self.board.isAlive(at: .now()), to: request, context)
        case "/readyz":
            self.send("ready", if: self.board.isReady, to: request, context)
        default:
            self.send(.notFound, "not found: the pages are /metrics, /livez and /readyz\n", to: request, context)
        }
    }

    /// Sends `text` with status 200, or the reason with status 503. A long transaction is not a fault: the page
    /// mentions it.
    private func send(_ text: String, if isWell: Bool, to request: HTTPRequestHead, _ context: ChannelHandlerContext) {
        guard isWell else { return self.send(.serviceUnavailable, self.reason, to: request, context) }
        let busy = self.board.busySeconds(at: .now()).map { ", the engine has been busy for \($0) s" } ?? ""
        self.send(.ok, "\(text)\(busy)\n", to: request, context)
    }

    /// Why the server is not well, in one line.
    private var reason: String {
        switch self.board.health {
        case .starting: "starting\n"
        case .waiting(let reason): "waiting: \(reason)\n"
        case .ready: "the engine does not answer\n"
        case .draining: "draining\n"
        case .failed(let reason): "failed: \(reason)\n"
        }
    }

    private func send(
        _ status: HTTPResponseStatus,
        _ text: String,
        type: String = "text/plain; charset=utf-8",
        to request: HTTPRequestHead,
        _ context: ChannelHandlerContext
    ) {
        let body = ByteBuffer(string: text)
        var head = HTTPResponseHead(version: request.version, status: status)
        head.headers.add(name: "content-type", value: type)
        head.headers.add(name: "content-length", value: "\(body.readableBytes)")
        head.headers.add(name: "cache-control", value: "no-store")
        if status == .methodNotAllowed { head.headers.add(name: "allow", value: "GET, HEAD") }
        if !request.isKeepAlive { head.headers.add(name: "connection", value: "close") }
        context.write(self.wrapOutboundOut(.head(head)), promise: nil)
        if request.method != .HEAD { context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil) }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        if !request.isKeepAlive { context.close(promise: nil) }
    }
}

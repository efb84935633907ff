import NIOCore

/// Passes the bytes and events of one side to the link, on the link's event loop.
final class ProxyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let link: ProxyLink
    private let direction: ProxyDirection

    /// `direction`: the direction of the bytes that this handler reads.
    init(_ link: ProxyLink, _ direction: ProxyDirection) {
        self.link = link
        self.direction = direction
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let (bytes, direction) = (self.unwrapInboundIn(data), self.direction)
        self.link.assumeIsolated { $0.received(bytes, direction) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        let direction = self.direction
        self.link.assumeIsolated { $0.readCompleted(direction) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        let direction = self.direction
        if case .inputClosed? = event as? ChannelEvent { self.link.assumeIsolated { $0.ended(direction) } }
        context.fireUserInboundEventTriggered(event)
    }

    func channelInactive(context: ChannelHandlerContext) {
        let direction = self.direction
        self.link.assumeIsolated { $0.ended(direction) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.link.assumeIsolated { $0.reset() }
    }
}

import NIOCore
import NIOTLS

/// Drops received bytes until the TLS handshake has negotiated the port's protocol. Closes the connection if it
/// negotiates another one, so that a web page cannot make a browser talk to the port of other clients.
final class ProtocolGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let allowed: [String?]
    private var isOpen = false

    /// `allowed`: the names of the protocol; `nil` if a client may negotiate none.
    init(_ allowed: [String?]) { self.allowed = allowed }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            self.isOpen = self.allowed.contains(negotiated)
            if !self.isOpen { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.isOpen { context.fireChannelRead(data) }
    }
}

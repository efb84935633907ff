import NIOCore
import NIOTLS

/// Drops received bytes until the TLS handshake has negotiated nest's protocol. Closes the connection if it negotiates
/// another protocol or none, so that a web page cannot make a browser talk to this port.
final class ProtocolGate: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private var isOpen = false

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            self.isOpen = negotiated == ServerTLS.applicationProtocol
            if !self.isOpen { context.close(promise: nil) }
        }
        context.fireUserInboundEventTriggered(event)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if self.isOpen { context.fireChannelRead(data) }
    }
}

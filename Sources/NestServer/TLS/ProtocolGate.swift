import NIOCore
import NIOTLS

/// Passes nothing on before the TLS handshake has agreed on nest's protocol, and closes the connection if it agrees on
/// another or on none. So a web page cannot make a browser talk to this port.
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

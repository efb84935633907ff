import NIOCore
import NIOTLS

/// Lets nothing through before the TLS handshake has agreed on the protocol of nest, and closes when it agrees on something
/// else or nothing: a browser that is made to talk to this port gets nowhere.
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

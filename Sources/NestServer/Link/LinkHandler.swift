import NIOCore
import NIOTLS
import NestFraming
import NestModel
import NestProtocol

/// Cuts what the leader sends into the preface and frames, and passes them to the link, on whose event loop it runs.
final class LinkHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let link: PeerLink
    private let number: UInt64
    private let usesTLS: Bool
    private var buffer = ByteBuffer()
    private var hasPreface = false
    private var decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesBeforeWelcomeMax)

    init(_ link: PeerLink, number: UInt64, usesTLS: Bool) {
        self.link = link
        self.number = number
        self.usesTLS = usesTLS
    }

    func channelActive(context: ChannelHandlerContext) {
        if !self.usesTLS { self.ready(context) }
        context.fireChannelActive()
    }

    /// Nothing is sent before the leader has proved its name.
    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            if negotiated == ServerTLS.applicationProtocol {
                self.ready(context)
            } else {
                self.closed("the node's TLS does not speak nest's protocol")
                context.close(promise: nil)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func ready(_ context: ChannelHandlerContext) {
        let (channel, number) = (context.channel, self.number)
        self.link.assumeIsolated { $0.ready(channel, number: number) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        if self.buffer.readableBytes == 0 { self.buffer = bytes } else { self.buffer.writeBuffer(&bytes) }
        do throws(WireError) {
            try self.cut()
        } catch {
            self.closed("\(error.nestError)")
            context.close(promise: nil)
        }
        if self.buffer.readableBytes == 0 { self.buffer = ByteBuffer() } else { self.buffer.discardReadBytes() }
    }

    private func cut() throws(WireError) {
        let number = self.number
        if !self.hasPreface {
            guard let preface = try Preface.read(from: &self.buffer) else { return }
            self.hasPreface = true
            self.link.assumeIsolated { $0.received(preface, number: number) }
        }
        while let frame = try self.decoder.next(from: &self.buffer) {
            // The first frame is the answer to HELLO.
            self.decoder.bodyBytesMax = Limits.frameBytesMax
            self.link.assumeIsolated { $0.received(frame, number: number) }
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        let number = self.number
        self.link.assumeIsolated { $0.endRead(number: number) }
        context.fireChannelReadComplete()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.closed("the connection was closed")
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.closed(LogText.reason(error))
        context.close(promise: nil)
    }

    private func closed(_ reason: String) {
        let number = self.number
        self.link.assumeIsolated { $0.closed(number: number, reason) }
    }
}

import NIOCore

/// Looks at the first byte from the server, before TLS does: whether it can be the beginning of TLS.
final class FirstBytes: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    enum Kind {
        case none, tls, other
    }

    private(set) var kind = Kind.none

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .none = self.kind, let kind = Self.kind(self.unwrapInboundIn(data)) { self.kind = kind }
        context.fireChannelRead(data)
    }

    /// Whether bytes are the beginning of TLS: a record has one of four types, and the version 3.x.
    static func kind(_ bytes: ByteBuffer) -> Kind? {
        let first = bytes.readableBytesView.prefix(2)
        guard let type = first.first else { return nil }
        let isTLS = (0x14...0x17).contains(type) && (first.count < 2 || first.last == 3)
        return isTLS ? .tls : .other
    }
}

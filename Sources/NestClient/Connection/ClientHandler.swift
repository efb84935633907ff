import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Splits bytes into the preface and frames, and passes them to the core, on whose event loop it runs.
final class ClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let core: ClientCore
    private let channelNumber: UInt64
    private var buffer = ByteBuffer()
    private var hasPreface = false
    private var decoder = FrameDecoder(bodyBytesMax: Limits.frameBytesBeforeWelcomeMax)

    init(core: ClientCore, channelNumber: UInt64) {
        self.core = core
        self.channelNumber = channelNumber
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = self.unwrapInboundIn(data)
        self.buffer.writeBuffer(&bytes)
        self.core.assumeIsolated { $0.bytesReceived() }
        do throws(WireError) {
            try self.cut(context)
        } catch {
            self.closed(self.strangerFault ?? error.nestError)
            context.close(promise: nil)
        }
        self.buffer.discardReadBytes()
    }

    private func cut(_ context: ChannelHandlerContext) throws(WireError) {
        if !self.hasPreface {
            guard let preface = try Preface.read(from: &self.buffer) else { return }
            self.hasPreface = true
            self.core.assumeIsolated { $0.received(preface) }
        }
        let number = self.channelNumber
        while context.channel.isActive, let frame = try self.decoder.next(from: &self.buffer) {
            // The first frame is the server's answer to HELLO.
            self.decoder.bodyBytesMax = Limits.frameBytesMax
            self.core.assumeIsolated { $0.received(frame, channelNumber: number) }
        }
    }

    /// The error if the first bytes are not those of a nest server that speaks as this client does.
    private var strangerFault: NestError? {
        guard !self.hasPreface, let kind = FirstBytes.kind(self.buffer) else { return nil }
        return self.fault(kind == .tls ? .tlsServer : .notNest)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.closed(self.hasPreface ? nil : self.strangerFault ?? self.fault(.closedEarly))
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let lost = NestError(.connectionLost, "the connection failed: \(error)")
        self.closed(error as? NestError ?? (self.hasPreface ? lost : self.fault(.closedEarly)))
        context.close(promise: nil)
    }

    private func fault(_ reason: ConnectFault.Reason) -> NestError {
        self.core.assumeIsolated { $0.here.fault(reason) }
    }

    private func closed(_ error: NestError?) {
        let number = self.channelNumber
        self.core.assumeIsolated { $0.channelClosed(number: number, error) }
    }
}

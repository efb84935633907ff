import NIOCore
import NIOSSL
import NIOTLS
import NestModel

/// Waits for the TLS handshake. Nothing is sent before the server has proved its identity and agreed to nest's
/// protocol.
final class HandshakeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let address: String
    /// The name that the certificate must have; `nil`: it must have the address.
    private let name: String?
    private var promise: EventLoopPromise<Void>?
    private var isDone = false

    init(address: String, name: String?) {
        self.address = address
        self.name = name
    }

    /// Succeeds when the handshake is done. Call once, on the event loop.
    func done(on eventLoop: any EventLoop) -> EventLoopFuture<Void> {
        let promise = eventLoop.makePromise(of: Void.self)
        if self.isDone { promise.succeed() } else { self.promise = promise }
        return promise.futureResult
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case TLSUserEvent.handshakeCompleted(let negotiated)? = event as? TLSUserEvent {
            if !self.isForName(context) {
                self.fail(context, TLSFailure.anotherName(self.address))
            } else if negotiated == ClientTLS.applicationProtocol {
                self.isDone = true
                self.promise?.succeed()
                self.promise = nil
            } else {
                self.fail(
                    context,
                    NestError(.untrusted, "\(self.address) is not a nest server: it does not agree to the protocol")
                )
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func isForName(_ context: ChannelHandlerContext) -> Bool {
        guard let name = self.name else { return true }
        guard let certificate = try? context.pipeline.syncOperations.nioSSL_peerCertificate() else { return false }
        return PeerName.matches(name, certificate)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let error = TLSFailure.nestError(error, self.address)
        if self.isDone { context.fireErrorCaught(error) } else { self.fail(context, error) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !self.isDone {
            self.fail(context, NestError(.unreachable, "\(self.address) closed the connection: does it speak TLS?"))
        }
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.promise?.fail(NestError(.unreachable, "\(self.address) closed the connection"))
        self.promise = nil
    }

    private func fail(_ context: ChannelHandlerContext, _ error: NestError) {
        context.fireErrorCaught(error)
        self.promise?.fail(error)
        self.promise = nil
        context.close(promise: nil)
    }
}

/// Describes why TLS failed.
enum TLSFailure {
    static func anotherName(_ address: String) -> NestError {
        NestError(.untrusted, "the certificate of \(address) is for another name")
    }

    static func nestError(_ error: any Error, _ address: String) -> NestError {
        if let error = error as? NestError { return error }
        let text = "\(error)"
        if text.contains("CERTIFICATE_VERIFY_FAILED") {
            return NestError(
                .untrusted,
                "the certificate of \(address) is not signed by a trusted authority, or has expired"
            )
        }
        if error is NIOSSLExtraError {
            return self.anotherName(address)
        }
        if text.contains("ALERT_CERTIFICATE_REQUIRED") || text.contains("ALERT_UNKNOWN_CA")
            || text.contains("BAD_CERTIFICATE") || text.contains("CERTIFICATE_EXPIRED")
        {
            return NestError(
                .unauthenticated,
                "\(address) requires a client certificate that it accepts: use --tls-cert and --tls-key"
            )
        }
        if text.contains("WRONG_VERSION_NUMBER") {
            return NestError(.unreachable, "\(address) does not speak TLS")
        }
        return NestError(.unreachable, "\(address): TLS failed: \(text)")
    }
}

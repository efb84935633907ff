import NIOCore
import NIOSSL
import NIOTLS
import NestModel

/// Waits for the TLS handshake. Nothing is sent before the server has proved its identity and agreed to nest's
/// protocol.
final class HandshakeHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let configuration: ClientConfiguration
    /// The name that the certificate must have; `nil`: it must have the address.
    private let name: String?
    private let first: FirstBytes
    private var promise: EventLoopPromise<Void>?
    private var isDone = false

    init(_ configuration: ClientConfiguration, name: String?, first: FirstBytes) {
        self.configuration = configuration
        self.name = name
        self.first = first
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
                self.fail(context, self.anotherName(context))
            } else if negotiated == ClientTLS.applicationProtocol {
                self.isDone = true
                self.promise?.succeed()
                self.promise = nil
            } else {
                self.fail(context, .notNest)
            }
        }
        context.fireUserInboundEventTriggered(event)
    }

    private func isForName(_ context: ChannelHandlerContext) -> Bool {
        guard let name = self.name else { return true }
        return self.certificate(context).map { PeerName.matches(name, $0) } ?? false
    }

    /// The server's certificate, also one that was refused.
    private func certificate(_ context: ChannelHandlerContext) -> NIOSSLCertificate? {
        try? context.pipeline.syncOperations.nioSSL_peerCertificate()
    }

    private func anotherName(_ context: ChannelHandlerContext) -> ConnectFault.Reason {
        .anotherName(
            expected: self.name ?? self.configuration.host,
            names: self.certificate(context).map(CertificateFault.names) ?? []
        )
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let reason = self.reason(error, context)
        if self.isDone {
            context.fireErrorCaught(self.configuration.fault(reason))
        } else {
            self.fail(context, reason)
        }
    }

    private func reason(_ error: any Error, _ context: ChannelHandlerContext) -> ConnectFault.Reason {
        if error is NIOSSLExtraError { return self.anotherName(context) }
        let text = "\(error)"
        func contains(_ words: String...) -> Bool { words.contains { text.contains($0) } }
        if contains("CERTIFICATE_VERIFY_FAILED") {
            return self.certificate(context).map(CertificateFault.reason) ?? .unknownAuthority(isSelfSigned: false)
        }
        if contains("ALERT_CERTIFICATE_REQUIRED") { return .clientCertificateRequired }
        if contains("ALERT_UNKNOWN_CA", "BAD_CERTIFICATE", "ALERT_CERTIFICATE_", "ALERT_UNSUPPORTED_CERTIFICATE") {
            return .clientCertificateRefused
        }
        if contains("PROTOCOL_VERSION", "UNSUPPORTED_PROTOCOL") { return .tlsVersion }
        if contains("NO_APPLICATION_PROTOCOL") { return .notNest }
        // TLS closed the connection without a word of TLS from the server.
        if !self.isDone, self.first.kind != .tls { return .plainServer }
        return .tlsFailure(text)
    }

    func channelInactive(context: ChannelHandlerContext) {
        if !self.isDone { self.fail(context, self.first.kind == .tls ? .closedEarly : .plainServer) }
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.promise?.fail(self.configuration.fault(.closedEarly))
        self.promise = nil
    }

    private func fail(_ context: ChannelHandlerContext, _ reason: ConnectFault.Reason) {
        let error = self.configuration.fault(reason)
        context.fireErrorCaught(error)
        self.promise?.fail(error)
        self.promise = nil
        context.close(promise: nil)
    }
}

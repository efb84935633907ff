import NIOCore
import NIOSSL
import NestModel

/// TLS, and the protection of the token.
extension ClientCore {
    /// Returns a function that adds TLS to a channel, before all other handlers. Returns `nil` if TLS is not
    /// configured.
    func configureTLS() throws(NestError) -> (@Sendable (any Channel) throws -> Void)? {
        guard let tls = self.configuration.tls else { return nil }
        if self.tlsContext == nil { self.tlsContext = try tls.context() }
        guard let context = self.tlsContext else { return nil }
        let (host, address) = (self.configuration.host, "\(self.configuration.host):\(self.configuration.port)")
        // An IP address is not a name: the certificate is compared with the address instead.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        let name = tls.serverName ?? (isAddress ? nil : host)
        return { channel in
            let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
            try channel.pipeline.syncOperations.addHandlers([handler, HandshakeHandler(address: address, name: name)])
        }
    }

    static func handshake(_ channel: any Channel) -> EventLoopFuture<any Channel> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.handler(type: HandshakeHandler.self).done(on: channel.eventLoop)
        }.flatMap { $0 }.map { channel }
    }

    /// Returns an error if a token must not be sent over a channel, because others could read it.
    func clearTokenError(_ channel: any Channel) -> NestError? {
        guard self.configuration.token != nil, self.configuration.tls == nil, !self.configuration.sendsTokenInClear,
            let address = channel.remoteAddress?.ipAddress, !ClientConfiguration.staysOnThisMachine(address)
        else { return nil }
        return NestError(
            .untrusted,
            "the token would be sent unencrypted to \(self.configuration.host): "
                + "use TLS (--tls), or --insecure to allow this"
        )
    }
}

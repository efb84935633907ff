import NIOCore
import NIOSSL
import NestModel

/// What makes a connection private before anything is sent over it.
extension ClientCore {
    /// Puts TLS before everything else of a channel; `nil` without it.
    func configureTLS() throws(NestError) -> (@Sendable (any Channel) throws -> Void)? {
        guard let tls = self.configuration.tls else { return nil }
        if self.tlsContext == nil { self.tlsContext = try tls.context() }
        guard let context = self.tlsContext else { return nil }
        let (host, place) = (self.configuration.host, "\(self.configuration.host):\(self.configuration.port)")
        // An address is no name: the certificate is then compared with the address.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        let name = tls.serverName ?? (isAddress ? nil : host)
        return { channel in
            let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
            try channel.pipeline.syncOperations.addHandlers([handler, HandshakeHandler(place: place, name: name)])
        }
    }

    static func handshake(_ channel: any Channel) -> EventLoopFuture<any Channel> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.handler(type: HandshakeHandler.self).done(on: channel.eventLoop)
        }.flatMap { $0 }.map { channel }
    }

    /// Why a token may not go out on a channel: others could read it on the way.
    func clearTokenError(_ channel: any Channel) -> NestError? {
        guard self.configuration.token != nil, self.configuration.tls == nil, !self.configuration.sendsTokenInClear,
            let address = channel.remoteAddress?.ipAddress, !ClientConfiguration.staysOnThisMachine(address)
        else { return nil }
        return NestError(
            .untrusted,
            "nothing protects the token on its way to \(self.configuration.host): use TLS (--tls), or --insecure if that is what you want"
        )
    }
}

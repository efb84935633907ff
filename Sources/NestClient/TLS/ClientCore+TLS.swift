import NIOCore
import NIOSSL
import NestModel

/// TLS, and the protection of the token.
extension ClientCore {
    /// Returns a function that adds TLS to a channel, before all other handlers. Returns `nil` if TLS is not
    /// configured.
    func configureTLS() throws(NestError) -> (@Sendable (any Channel) throws -> Void)? {
        guard let tls = self.configuration.tls else { return nil }
        let configuration = self.here
        do throws(ClientTLS.Fault) {
            if self.tlsContext == nil { self.tlsContext = try tls.context() }
        } catch {
            throw configuration.fault(error.reason)
        }
        guard let context = self.tlsContext else { return nil }
        let host = configuration.host
        // An IP address is not a name: the certificate is compared with the address instead.
        let isAddress = (try? SocketAddress(ipAddress: host, port: 0)) != nil
        let name = tls.serverName ?? (isAddress ? nil : host)
        return { channel in
            let first = FirstBytes()
            let handler = try NIOSSLClientHandler(context: context, serverHostname: name)
            let handshake = HandshakeHandler(configuration, name: name, first: first)
            try channel.pipeline.syncOperations.addHandlers([first, handler, handshake])
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
        return self.here.fault(.tokenInClear)
    }
}

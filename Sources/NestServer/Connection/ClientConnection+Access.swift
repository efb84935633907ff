import Logging
import NIOCore
import NestEngine
import NestModel
import NestProtocol

/// Letting a client in, or not.
extension ClientConnection {
    /// What a client is told that is not let in; the same whatever was wrong.
    static let unauthenticated = EngineTokens.revoked

    /// HELLO has come: until the connection is let in, nothing more is read.
    func admit(_ hello: Hello) {
        self.clientName = LogText.printable(hello.clientName)
        let address = LoginPenalties.key(self.context?.remoteAddress)
        switch self.server.access.judge(hello.token, from: address, now: .now()) {
        case .granted(let access):
            self.access = access
            self.isConnected = true
            self.inputs.append(
                .connected(
                    self.id,
                    session: hello.session,
                    scope: access.scope,
                    takesCompressed: hello.features.contains(.compressedFrames),
                    token: access.token,
                    subscriptionsMax: access.subscriptionsMax
                )
            )
        case .refused(let penalty):
            self.logRefused(hello.token, "unauthenticated", level: penalty?.isLogged == false ? .debug : .notice)
            guard let penalty else { return self.fail(Self.unauthenticated) }
            // Nothing that came with the token is ever looked at.
            self.inbound = ByteBuffer()
            self.refusal = self.loop.eventLoop.assumeIsolated().scheduleTask(in: penalty.delay) {
                self.fail(Self.unauthenticated)
            }
        case .full:
            self.logRefused(hello.token, "connections")
            self.fail(NestError(.limitExceeded, "the token has as many connections as it may"))
        }
    }

    /// The token was taken back: what waits to be sent is not sent any more.
    func expel(_ error: NestError) {
        self.output.removeAll()
        self.fail(error)
    }

    /// A client came in without a token, which the server wants from now on.
    func expelAnonymous() {
        guard self.isConnected, self.access.token == nil else { return }
        self.fail(Self.unauthenticated)
    }

    /// Who it was, as far as it said so, but nothing that was secret.
    private func logRefused(_ token: AccessToken?, _ reason: String, level: Logger.Level = .notice) {
        self.server.logger.log(
            level: level,
            "login.refused",
            metadata: [
                "connection": "\(self.id)",
                "client": "\(self.clientName)",
                "address": "\(LogText.address(self.context?.remoteAddress))",
                "token": "\(token.map { "\($0.number)" } ?? "none")",
                "reason": "\(reason)",
            ]
        )
    }
}

import NIOCore
import NestEngine
import NestModel
import NestProtocol
import NestFraming

/// The client's login.
extension ClientConnection {
    /// The error for every client that may not log in. It does not reveal the reason.
    static let unauthenticated = NestError(
        .unauthenticated,
        "this server requires a token: none was given, or it is not valid here"
    )

    /// The error that ends a connection whose token has expired, and that answers a login with such a token.
    static let tokenExpired = NestError(.tokenExpired, "the token has expired: connect with a valid token")

    var access: Access { self.session.access }

    /// Checks HELLO's token. The connection reads nothing more until the client is logged in.
    func admit(_ hello: Hello) {
        self.session.clientName = LogText.printable(hello.clientName)
        if let peer = hello.peer { return self.admit(peer, hello) }
        guard !self.slot.isWaiting else { return self.finishWithoutSlot() }
        let address = LoginPenalties.key(self.context?.remoteAddress)
        let decision = self.server.access.authenticate(
            hello.token,
            user: LogText.label(hello.user),
            from: address,
            now: .now(),
            time: self.server.configuration.now()
        )
        switch decision {
        case .granted(let access):
            self.session.access = access
            self.register(hello)
        case .refused(let penalty):
            self.refuseLogin(hello.token, penalty)
        case .expired(let penalty):
            self.refuseLogin(hello.token, penalty, Self.tokenExpired)
        case .full:
            self.logRefused(hello.token, "connections")
            self.fail(NestError(.limitExceeded, "the token already has its maximum number of connections"))
        }
    }

    /// Registers the connection with the engine, which answers HELLO.
    func register(_ hello: Hello) {
        self.outbox.register(
            .connected(
                self.id,
                session: hello.session,
                scope: self.access.scope,
                takesCompressed: hello.features.contains(.compressedFrames),
                token: self.access.token,
                subscriptionsMax: self.access.subscriptionsMax,
                user: self.access.user,
                followsAuthors: hello.features.contains(.authors),
                namesOwnRequests: hello.features.contains(.optimisticWrites)
            )
        )
    }

    /// Refuses a login, at once or after a penalty.
    func refuseLogin(
        _ token: AccessToken?,
        _ penalty: LoginPenalties.Penalty?,
        _ error: NestError = ClientConnection.unauthenticated
    ) {
        let reason = error.code == .tokenExpired ? "expired" : "unauthenticated"
        self.logRefused(token, reason, isNotable: penalty?.isLogged != false)
        guard let penalty else { return self.fail(error) }
        // Bytes that arrived with a wrong token are never handled.
        self.inbound.removeAll()
        self.session.refusal = self.loop.eventLoop.assumeIsolated().scheduleTask(in: penalty.delay) {
            self.fail(error)
        }
    }

    /// Handles the engine's answer to HELLO.
    func welcome(_ welcome: EngineWelcome) {
        switch self.machine.welcomed(historyID: welcome.historyID, modelHash: welcome.modelHash) {
        case .ignore:
            break
        case .close(let error):
            self.fail(error)
        case .welcome(let features):
            self.session.welcomed(features, number: welcome.sessionNumber, welcome.model)
            self.inbound.acceptLargeFrames()
            let message = Welcome(
                serverName: self.server.configuration.serverName,
                features: features,
                historyID: welcome.historyID,
                revision: welcome.revision,
                oldestRevision: welcome.oldestRevision,
                modelHash: welcome.modelHash,
                sessionNumber: welcome.sessionNumber,
                pingIntervalMilliseconds: Int(self.server.configuration.timing.pingInterval.nanoseconds / 1_000_000),
                requestsInFlightMax: self.access.requestsInFlightMax,
                subscriptionsMax: self.access.subscriptionsMax,
                role: self.access.role,
                confinement: self.access.confinement,
                replica: self.server.replica?.status.welcome,
                user: self.access.user?.text ?? "",
                tokenExpires: self.access.expires
            )
            self.send(message.frame(id: 0))
            self.logOpened()
        }
    }
}

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

    var access: Access { self.session.access }

    /// Checks HELLO's token. The connection reads nothing more until the client is logged in.
    func admit(_ hello: Hello) {
        self.session.clientName = LogText.printable(hello.clientName)
        if let peer = hello.peer { return self.admit(peer, hello) }
        guard !self.slot.isWaiting else { return self.finishWithoutSlot() }
        let address = LoginPenalties.key(self.context?.remoteAddress)
        switch self.server.access.authenticate(hello.token, from: address, now: .now()) {
        case .granted(let access):
            self.session.access = access
            self.register(hello)
        case .refused(let penalty):
            self.refuseLogin(hello.token, penalty)
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
                subscriptionsMax: self.access.subscriptionsMax
            )
        )
    }

    /// Refuses a login, at once or after a penalty.
    func refuseLogin(_ token: AccessToken?, _ penalty: LoginPenalties.Penalty?) {
        self.logRefused(token, "unauthenticated", isNotable: penalty?.isLogged != false)
        guard let penalty else { return self.fail(Self.unauthenticated) }
        // Bytes that arrived with a wrong token are never handled.
        self.inbound.removeAll()
        self.session.refusal = self.loop.eventLoop.assumeIsolated().scheduleTask(in: penalty.delay) {
            self.fail(Self.unauthenticated)
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
            self.session.welcomed(features, number: welcome.sessionNumber)
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
                replica: self.server.replica?.status.welcome
            )
            self.send(message.frame(id: 0))
            self.logOpened()
        }
    }
}

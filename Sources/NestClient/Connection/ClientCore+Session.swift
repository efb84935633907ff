import NIOCore
import NIOPosix
import NestModel
import NestProtocol

/// The session that the program keeps. Its file is read and written away from the event loop.
extension ClientCore {
    nonisolated static func firstSession(_ session: ClientSession) -> Identifier128 {
        if case .secret(let session) = session { return session }
        return Self.randomSession()
    }

    private nonisolated static func randomSession() -> Identifier128 {
        var random = SystemRandomNumberGenerator()
        return Identifier128.random(using: &random)
    }

    /// Opens the file before the first connection, and then connects.
    func chooseSession() {
        let configuration = self.configuration
        // The singleton never ends, so this does not fail.
        self.sessionWork = NIOThreadPool.singleton
            .runIfActive(eventLoop: self.eventLoop) { KeptSession(configuration) }
            .map { kept in self.assumeIsolated { $0.begin(with: kept) } }
    }

    private func begin(with kept: KeptSession) {
        self.isSessionChosen = true
        self.keptSession = kept
        if case .closed = self.machine.phase {
            // The client was closed meanwhile, and `close` waits for this: the next client must find no lock.
            self.isSessionReleased = true
            return kept.release()
        }
        self.machine.keepSession(kept.record, otherwise: Self.randomSession())
        // A cache that is slow keeps no client from its server.
        self.openChannel()
        guard !self.undoFollowers.isEmpty else { return }
        self.readUndoState { core, cached in core.perform(core.machine.beginUndoState(cached)) }
    }

    /// The session; `nil`: it is not decided yet.
    var session: Identifier128? { self.isSessionChosen ? self.machine.session : nil }

    func keepSession(_ record: SessionRecord) { self.workOnSession { $0.keep(record) } }

    /// Lets the next client have the session, after what was to be written.
    func releaseSession() {
        guard !self.isSessionReleased, self.keptSession != nil else { return }
        self.isSessionReleased = true
        self.workOnSession { $0.release() }
    }

    /// Returns when the file says what was asked of it.
    func sessionKeeping() async -> SessionKeeping {
        guard self.configuration.session == .kept else { return .notAsked }
        try? await self.sessionWork.get()
        return self.keptSession?.keeping ?? .undecided
    }

    private func workOnSession(_ body: @escaping @Sendable (KeptSession) -> Void) {
        guard let kept = self.keptSession else { return }
        self.sessionWork = self.sessionWork.flatMap {
            NIOThreadPool.singleton.runIfActive(eventLoop: self.eventLoop) { body(kept) }
        }
    }
}

extension KeptSession {
    /// Opens the file of a client. Blocks.
    convenience init(_ configuration: ClientConfiguration) {
        let logger = configuration.logger
        let program = SessionPlace.program ?? "program"
        do throws(NestError) {
            if configuration.sessionDirectory == nil { try StateDirectory.checkOwner() }
            let directory =
                if let directory = configuration.sessionDirectory { directory } else {
                    try StateDirectory.path("clients")
                }
            self.init(SessionPlace(in: directory, program: program, configuration), logger: logger)
        } catch {
            self.init(impossible: error.message, logger: logger)
        }
    }
}

extension NestClient {
    /// The session of this client, for a program that keeps it itself: save `session.hex` where you keep secrets, and
    /// give it to the next client as `.secret`. Connects first if the session is `.kept`.
    public func session() async throws(NestError) -> Identifier128 {
        if let session = await self.core.session { return session }
        try await self.connect()
        return await self.core.machine.hello.session
    }

    /// Whether the next run of the program begins with the session of this client.
    public var sessionKeeping: SessionKeeping {
        get async { await self.core.sessionKeeping() }
    }
}

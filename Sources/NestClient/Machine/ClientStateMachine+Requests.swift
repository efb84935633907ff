import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Requests of callers. They have a timeout, and are sent again after a lost connection where that is safe.
extension ClientStateMachine {
    /// Submits a request of a caller. Connects if the client has not connected yet.
    package mutating func submit(_ request: OutgoingRequest) -> [ClientAction] {
        guard case .caller(let token) = request.owner else { preconditionFailure("a submitted request has a caller") }
        if case .closed(let error) = self.phase { return [.fail(token, error)] }
        let refusal =
            self.modelError(request.type) ?? self.sizeError(request) ?? self.groupError(request)
            ?? self.usersError(request)
        if let refusal { return [.fail(token, refusal)] }
        guard self.requests.submit(self.grouped(request)) else {
            return [
                .fail(token, NestError(.limitExceeded, "\(Limits.clientRequestsWaitingMax) requests are waiting"))
            ]
        }
        return self.connectIfIdle() + self.flush()
    }

    /// Returns an error if the request is too large. The server would close the connection for such a frame, and the
    /// client would send the request again and again.
    func sizeError(_ request: OutgoingRequest) -> NestError? {
        let limit = self.welcome?.frameBytesMax ?? Limits.frameBytesMax
        guard request.body.count > limit else { return nil }
        return NestError(
            .frameTooLarge,
            "the request has \(request.body.count) bytes, but the server accepts at most \(limit): split it"
        )
    }

    /// The error of a request that needs a server which knows users and expiries.
    static let usersUnknown = NestError(.unsupported, "the server is too old for tokens with a user or an expiry")

    /// Returns an error if the server that the client is connected to lacks what the request needs. Without a
    /// connection the next WELCOME decides.
    private func usersError(_ request: OutgoingRequest) -> NestError? {
        guard request.needsUsers, self.phase == .ready, self.welcome?.user == nil else { return nil }
        return Self.usersUnknown
    }

    package mutating func ping(_ token: RequestToken) -> [ClientAction] {
        guard case .ready = self.phase else {
            return [.fail(token, NestError(.connectionLost, "there is no connection"))]
        }
        let payload = self.nextPing
        self.nextPing += 1
        self.pings[payload] = token
        return [self.frame(Ping(payload: payload))]
    }

    /// Abandons a request because its caller has timed out (`isTimeout`) or was cancelled.
    package mutating func abandon(_ token: RequestToken, isTimeout: Bool) -> [ClientAction] {
        if let payload = self.pings.first(where: { $0.value == token })?.key {
            self.pings[payload] = nil
            return [.fail(token, self.abandonError(nil, isTimeout))]
        }
        switch self.requests.abandon(token) {
        case .unknown:
            let change = self.abandonChange(token)
            guard change.isKnown else { return [] }
            // A change that was sent may still take effect. It does not change data on the server.
            let error = NestError(isTimeout ? .timedOut : .cancelled, "abandoned before the subscription was changed")
            return [.fail(token, error)]
        case .unsent: return [.fail(token, self.abandonError(nil, isTimeout))]
        case .refused(let error):
            let cancelled = NestError(.cancelled, "cancelled before a node has executed it")
            return [.fail(token, isTimeout ? self.leaderError(error) : cancelled)]
        case .sentBefore(let request): return [.fail(token, self.abandonError(request, isTimeout))]
        case .inFlight(let id, let request):
            let canSend = self.phase == .ready || self.isLeaving
            let cancel = canSend ? [self.frame(Cancel(), id: id)] : []
            return cancel + [.fail(token, self.abandonError(request, isTimeout))]
        }
    }

    private var isLeaving: Bool {
        if case .leaving = self.phase { true } else { false }
    }

    /// `request` is `nil` when it was never sent. Without a connection, a timeout names the addresses that were tried.
    /// Its code is that of a server that refuses the client for good, if there is one.
    private func abandonError(_ request: OutgoingRequest?, _ isTimeout: Bool) -> NestError {
        let why = isTimeout ? "no answer in time" : "cancelled before the answer"
        let fault = isTimeout ? self.connectFault : nil
        let servers = fault.map { ": \($0.message)" } ?? ""
        let refusal = fault.flatMap { $0.code.retry == .never ? $0.code : nil }
        switch request?.kind {
        case .write, .upload(isEnded: true):
            return NestError(
                .outcomeUnknown,
                "\(why): the change may have been made; check before you retry\(servers)"
            )
        case nil where isTimeout:
            return NestError(refusal ?? .unreachable, "no connection in time; nothing was sent\(servers)")
        default: return NestError(isTimeout ? refusal ?? .timedOut : .cancelled, why + servers)
        }
    }

    /// The error of a caller that has waited too long for a connection.
    package var noConnection: NestError { self.abandonError(nil, true) }

    /// Why there is no connection: the faults of the last whole round, or of the first attempts.
    private var connectFault: NestError? {
        self.roundFault ?? (self.faults.isEmpty ? nil : AttemptFault.error(of: self.faults))
    }

    /// Returns the actions that send a chunk of an upload, within its credit, or `nil` if the upload has ended.
    package mutating func sendChunk(_ token: RequestToken, _ bytes: [UInt8]) -> [ClientAction]? {
        guard let id = self.requests.id(of: token), self.phase == .ready || self.isLeaving else { return nil }
        return [self.frame(SubtreeChunk(bytes: bytes), id: id)]
    }

    package mutating func sendEnd(_ token: RequestToken, _ end: SubtreeEnd) -> [ClientAction]? {
        guard let id = self.requests.id(of: token), self.phase == .ready || self.isLeaving else { return nil }
        self.requests[id]?.request.kind = .upload(isEnded: true)
        return [self.frame(end, id: id)]
    }

    /// Grants credit for bytes of a download that the caller has consumed.
    package mutating func grant(_ token: RequestToken, byteCount: Int) -> [ClientAction] {
        guard let id = self.requests.id(of: token), self.phase == .ready || self.isLeaving else { return [] }
        return [self.frame(Credit(bytes: byteCount), id: id)]
    }

    mutating func connectIfIdle() -> [ClientAction] {
        guard case .idle = self.phase else { return [] }
        return self.connect()
    }

    /// Sends waiting requests while the server has free slots.
    mutating func flush() -> [ClientAction] {
        guard case .ready = self.phase, let welcome = self.welcome else { return [] }
        var actions: [ClientAction] = []
        let inFlightMax = max(welcome.requestsInFlightMax, 1)
        while let (id, request) = self.requests.nextToSend(inFlightMax: inFlightMax) {
            var frame = ByteBuffer()
            frame.writeFrame(type: request.type, id: id, body: self.body(request))
            actions.append(.send(frame))
            if case .upload = request.kind, case .caller(let token) = request.owner {
                actions.append(.stream(token, .credit(welcome.creditBytesInitial)))
            }
        }
        if self.requests.isExhausted, self.requests.inFlightCount == 0 {
            // All ids of this connection are used. The next connection starts with the first id again.
            self.closeReason = NestError(.connectionLost, "all request ids of the connection are used")
            actions.append(.closeChannel)
        }
        return actions
    }
}

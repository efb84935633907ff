import NIOCore
import NestModel
import NestProtocol
import NestFraming

/// Requests of callers: sent, timed, sent again after a lost connection where that is safe.
extension ClientStateMachine {
    /// A request of a caller. Connects when nothing has been connected yet.
    package mutating func submit(_ request: OutgoingRequest) -> [ClientAction] {
        guard case .caller(let token) = request.owner else { preconditionFailure("a caller's request has a caller") }
        if case .closed(let error) = self.phase { return [.fail(token, error)] }
        let refusal = self.modelError(request.type) ?? self.sizeError(request) ?? self.groupError(request)
        if let refusal { return [.fail(token, refusal)] }
        guard self.requests.submit(self.grouped(request)) else {
            return [
                .fail(token, NestError(.limitExceeded, "\(Limits.clientRequestsWaitingMax) requests wait already"))
            ]
        }
        return self.connectIfIdle() + self.flush()
    }

    /// The server would close the connection for a frame that is too large, and the request be sent again and again.
    func sizeError(_ request: OutgoingRequest) -> NestError? {
        let limit = self.welcome?.frameBytesMax ?? Limits.frameBytesMax
        guard request.body.count > limit else { return nil }
        return NestError(
            .frameTooLarge,
            "the request has \(request.body.count) bytes, and the server takes \(limit): split it"
        )
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

    /// The caller has waited long enough (`isTimeout`) or was cancelled.
    package mutating func abandon(_ token: RequestToken, isTimeout: Bool) -> [ClientAction] {
        if let payload = self.pings.first(where: { $0.value == token })?.key {
            self.pings[payload] = nil
            return [.fail(token, Self.abandonError(nil, isTimeout))]
        }
        switch self.requests.abandon(token) {
        case .unknown:
            let change = self.abandonChange(token)
            guard change.isKnown else { return [] }
            // One that was sent may be made all the same; it changes nothing at the server.
            let error = NestError(isTimeout ? .timedOut : .cancelled, "given up before the subscription was changed")
            return [.fail(token, error)]
        case .unsent: return [.fail(token, Self.abandonError(nil, isTimeout))]
        case .sentBefore(let request): return [.fail(token, Self.abandonError(request, isTimeout))]
        case .inFlight(let id, let request):
            let canSend = self.phase == .ready || self.isLeaving
            let cancel = canSend ? [self.frame(Cancel(), id: id)] : []
            return cancel + [.fail(token, Self.abandonError(request, isTimeout))]
        }
    }

    private var isLeaving: Bool {
        if case .leaving = self.phase { true } else { false }
    }

    /// `request` is `nil` when it was never sent.
    private static func abandonError(_ request: OutgoingRequest?, _ isTimeout: Bool) -> NestError {
        let why = isTimeout ? "no answer in time" : "given up before the answer"
        switch request?.kind {
        case .write, .upload(isEnded: true):
            return NestError(
                .outcomeUnknown,
                "\(why): the change may have been made; look before trying again"
            )
        case nil where isTimeout: return NestError(.unreachable, "no connection in time; nothing was sent")
        default: return NestError(isTimeout ? .timedOut : .cancelled, why)
        }
    }

    /// A chunk of an upload, within its credit. `false` when the upload is over.
    package mutating func sendChunk(_ token: RequestToken, _ bytes: [UInt8]) -> [ClientAction]? {
        guard let id = self.requests.id(of: token), self.phase == .ready || self.isLeaving else { return nil }
        return [self.frame(SubtreeChunk(bytes: bytes), id: id)]
    }

    package mutating func sendEnd(_ token: RequestToken, _ end: SubtreeEnd) -> [ClientAction]? {
        guard let id = self.requests.id(of: token), self.phase == .ready || self.isLeaving else { return nil }
        self.requests[id]?.request.kind = .upload(isEnded: true)
        return [self.frame(end, id: id)]
    }

    /// The caller has consumed so much of a download.
    package mutating func grant(_ token: RequestToken, byteCount: Int) -> [ClientAction] {
        guard let id = self.requests.id(of: token), self.phase == .ready || self.isLeaving else { return [] }
        return [self.frame(Credit(bytes: byteCount), id: id)]
    }

    mutating func connectIfIdle() -> [ClientAction] {
        guard case .idle = self.phase else { return [] }
        return self.connect()
    }

    /// Sends what waits, as far as the server has places.
    mutating func flush() -> [ClientAction] {
        guard case .ready = self.phase, let welcome = self.welcome else { return [] }
        var actions: [ClientAction] = []
        let inFlightMax = max(welcome.requestsInFlightMax, 1)
        while let (id, request) = self.requests.nextToSend(inFlightMax: inFlightMax) {
            var frame = ByteBuffer()
            frame.writeFrame(type: request.type, id: id, body: request.body)
            actions.append(.send(frame))
            if case .upload = request.kind, case .caller(let token) = request.owner {
                actions.append(.stream(token, .credit(welcome.creditBytesInitial)))
            }
        }
        if self.requests.isExhausted, self.requests.inFlightCount == 0 {
            // All ids of this connection are used up; the next one begins anew.
            self.closeReason = NestError(.connectionLost, "all request ids of the connection are used")
            actions.append(.closeChannel)
        }
        return actions
    }
}

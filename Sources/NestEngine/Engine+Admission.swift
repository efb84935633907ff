import DequeModule
import NestModel
import NestStore

/// Requests for results take turns: when very many come at once, as after a restart when everybody returns, commits go on
/// between them.
///
/// What waits is bounded by what a connection may have in flight, `Limits.requestsInFlightPerConnectionMax` requests of which
/// `Limits.resultsInFlightPerConnectionMax` are for results: until it is answered a request is in flight.
extension Engine {
    /// What a request for a result costs in itself, in the units of `Limits.admissionWorkMax`.
    private static let requestWork = 8

    /// Answers a request that is not a write, or has it wait for its turn.
    func admit(
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ request: EngineRequest,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        guard let connection = self.connections[id] else { return }
        guard self.mustWait(request, connection) else {
            return self.answerCounted(id, requestID, request, now: now, &effects)
        }
        if connection.waiting.isEmpty { self.admissions.append(id) }
        connection.waiting.append((requestID, request))
    }

    /// What begins, changes and ends the subscriptions of one connection keeps its order; nobody's request for a result
    /// overtakes those that wait.
    private func mustWait(_ request: EngineRequest, _ connection: Connection) -> Bool {
        if case .unsubscribe = request { return !connection.waiting.isEmpty }
        guard request.isForResult else { return false }
        return !self.admissions.isEmpty || self.admissionWork >= self.admissionWorkMax
    }

    /// Answers those that have waited longest, as far as the work of one batch goes: who waits for what has been read beside
    /// the engine, then one request of each connection in turn. One at least, whatever else the batch had to do.
    func admitWaiting(now: Int64, _ effects: inout [EngineEffect]) {
        repeat {
            if let read = self.arrivedReads.first {
                self.admissionWork += Self.requestWork
                self.serveNext(read, now: now, &effects)
                if read.waiters.isEmpty {
                    self.arrivedReads.removeFirst()
                    self.endRead(read, now: now)
                }
            } else if let (id, connection) = self.nextAdmission(), let next = connection.waiting.popFirst() {
                if !connection.waiting.isEmpty { self.admissions.append(id) }
                self.answerCounted(id, next.requestID, next.request, now: now, &effects)
            } else {
                return
            }
        } while self.admissionWork < self.admissionWorkMax
    }

    /// The connection whose turn it is; those that are gone have taken what they asked for with them.
    private func nextAdmission() -> (ConnectionID, Connection)? {
        while let id = self.admissions.popFirst() {
            if let connection = self.connections[id] { return (id, connection) }
        }
        return nil
    }

    private func answerCounted(
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ request: EngineRequest,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        if request.isForResult { self.admissionWork += Self.requestWork }
        self.answer(id, requestID, request, now: now, &effects)
    }

    /// Requests that wait for their turn.
    var admissionsWaiting: Int {
        self.scopes.heldCount
            + self.arrivedReads.reduce(0) { $0 + $1.waiters.count }
            + self.admissions.reduce(0) { $0 + (self.connections[$1]?.waiting.count ?? 0) }
    }
}

extension EngineRequest {
    /// Rows may have to be read to answer it.
    fileprivate var isForResult: Bool {
        switch self {
        case .subscribe, .resubscribe, .fetch: true
        default: false
        }
    }
}

import DequeModule
import NestCompression
import NestModel
import NestStore

/// Requests for results take turns: when very many come at once, as after a restart when everybody returns, commits go on
/// between them.
///
/// Answers are made only for connections that take them: what one has been given and not taken is bounded by
/// `Limits.answerBytesUnreadMax` and one answer, and all together by `AnswerMemory`.
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
        connection.waiting.append((requestID, request))
        self.changedClients.note(id)
        self.giveTurn(id, connection)
    }

    /// Has a connection take part in the turns, if it has a request that waits and takes answers.
    func giveTurn(_ id: ConnectionID, _ connection: Connection) {
        guard !connection.isInTurn, !connection.waiting.isEmpty, connection.takesResults else { return }
        connection.isInTurn = true
        self.admissions.append(id)
    }

    /// What begins, changes and ends the subscriptions of one connection keeps its order; nobody's request for a result
    /// overtakes those that wait. Answers are made only for connections that take them, while there is room for them.
    private func mustWait(_ request: EngineRequest, _ connection: Connection) -> Bool {
        switch request.admission {
        case .none: return false
        case .inOrder: return !connection.waiting.isEmpty
        case .taken: return connection.isAwaitingDrain
        case .inTurn:
            return !connection.waiting.isEmpty || !connection.takesResults || !self.admissions.isEmpty
                || self.admissionWork >= self.limits.admissionWorkMax
                || !self.answerMemory.hasRoom
        }
    }

    /// A connection is given so many bytes of answers. When that is much it gets no more before it has taken them.
    func charge(_ bytes: Int, to id: ConnectionID, _ connection: Connection, _ effects: inout [EngineEffect]) {
        guard bytes > 0 else { return }
        self.answerBytes += bytes
        self.admissionWork += bytes >> 8
        connection.unreadBytes += bytes
        guard connection.unreadBytes > self.limits.answerBytesUnreadMax, !connection.isAwaitingDrain else { return }
        connection.isAwaitingDrain = true
        effects.append(.whenDrained(id))
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
            } else if self.answerMemory.hasRoom, let (id, connection) = self.nextAdmission(),
                let next = connection.waiting.popFirst()
            {
                let awaited = connection.awaitedSubtrees
                connection.awaitedSubtrees = []
                self.answerCounted(id, next.requestID, next.request, now: now, &effects)
                self.release(awaited)
                if connection.waiting.isEmpty { self.changedClients.note(id) }
                self.giveTurn(id, connection)
            } else {
                return
            }
        } while self.admissionWork < self.limits.admissionWorkMax
    }

    /// The connection whose turn it is; those that are gone have taken what they asked for with them.
    private func nextAdmission() -> (ConnectionID, Connection)? {
        while let id = self.admissions.popFirst() {
            guard let connection = self.connections[id] else { continue }
            connection.isInTurn = false
            if connection.takesResults { return (id, connection) }
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
        if request.admission == .inTurn { self.admissionWork += Self.requestWork }
        self.answer(id, requestID, request, now: now, &effects)
    }

    /// Requests that wait for their turn.
    var admissionsWaiting: Int {
        self.scopes.heldCount + self.turns.count
            + self.arrivedReads.reduce(0) { $0 + $1.waiters.count }
            + self.connections.values.reduce(0) { $0 + $1.waiting.count }
    }
}

extension EngineRequest {
    fileprivate enum Admission {
        /// Answered at once, in few bytes.
        case none
        /// After what the connection asked for before and has not been answered.
        case inOrder
        /// When the connection has taken what it was given.
        case taken
        /// When it is its turn: to answer it may take long.
        case inTurn
    }

    fileprivate var admission: Admission {
        switch self {
        case .subscribe, .resubscribe, .fetch, .previewUndo, .history: .inTurn
        case .object, .explain, .subscribeChanges: .taken
        case .unsubscribe: .inOrder
        case .statistics, .undoState, .createToken, .tokens, .revokeToken: .none
        case .transaction, .undo, .redo, .revert, .beginGroup, .endGroup, .importSubtree: .none
        }
    }
}

extension EngineReply {
    /// About what it takes, when it may be much.
    var byteCount: Int {
        switch self {
        case .snapshot(_, let rows): rows.reduce(64) { $0 + $1.bytes.count }
        case .object(let detail): detail.values.reduce(64) { $0 + 16 + $1.value.byteCount }
        case .history(let entries): entries.reduce(64) { $0 + 64 + $1.name.utf8.count }
        case .explanation, .undoPreview: 4 << 10
        case .tokens(let tokens): 128 * tokens.count
        case .failure, .receipt, .subscribed, .done, .statistics, .group, .undoState, .tokenCreated: 0
        }
    }
}

import DequeModule
import NestProtocol
import NestModel
import NestStore
import NestSchema

/// Fair scheduling of requests for results. When very many arrive at once, for example when all clients reconnect after
/// a restart, commits continue between them, and connections take turns.
///
/// The engine answers only connections that read their replies: a connection has at most `Limits.answerBytesUnreadMax`
/// unread bytes plus one reply, and `AnswerMemory` limits the bytes of all connections together.
///
/// A connection has at most `Limits.requestsInFlightPerConnectionMax` waiting requests, of which at most
/// `Limits.resultsInFlightPerConnectionMax` are for results.
package final class Admission {
    /// The fixed cost of a request for a result, in the units of `Limits.admissionWorkMax`.
    private static let requestWork = 8
    /// That of reading one part of the journal: it may have the changes of a whole batch.
    static let journalPartWork = 64

    private let connections: EngineConnections
    private let scopes: TokenScopes
    private let workMax: Int
    private let unreadBytesMax: Int
    let memory: AnswerMemory
    /// The work of this turn's answers so far.
    package var work = 0
    /// The bytes of the answers of this turn.
    package private(set) var answerBytes = 0
    /// Connections with waiting requests, in the order of their turns.
    private var queue: Deque<ConnectionID> = []
    /// Connections whose first waiting request needs sub-trees that are not read yet.
    private var awaitingSubtrees: [ConnectionID] = []

    package init(
        _ connections: EngineConnections,
        _ scopes: TokenScopes,
        _ limits: EngineLimits,
        _ memory: AnswerMemory
    ) {
        self.connections = connections
        self.scopes = scopes
        self.workMax = limits.admissionWorkMax
        self.unreadBytesMax = limits.answerBytesUnreadMax
        self.memory = memory
    }

    package func beginTurn() {
        self.work = 0
        self.answerBytes = 0
    }

    var hasRoom: Bool { self.memory.hasRoom }
    var hasWorkLeft: Bool { self.work < self.workMax }

    /// Whether a connection waits and there is memory for an answer. Without memory the next tick checks again.
    package var hasBacklog: Bool { !self.queue.isEmpty && self.hasRoom }

    // MARK: Turns

    /// Whether a request must wait. Requests that begin, change and end the subscriptions of one connection keep their
    /// order. No request for a result overtakes a waiting one.
    package func mustWait(_ request: EngineRequest, _ connection: EngineConnection) -> Bool {
        switch request.kind.turn {
        case .inOrder: return !connection.waiting.isEmpty || connection.isAwaitingRevision
        case .whenDrained: return connection.isAwaitingDrain || connection.isAwaitingRevision
        case .fair:
            return !connection.waiting.isEmpty || !connection.takesResults || !self.queue.isEmpty || !self.hasWorkLeft
                || !self.hasRoom
        case .immediate, .commit, .transfer, .server: return false
        }
    }

    /// Queues a request until its turn.
    package func enqueue(_ request: EngineRequest, _ requestID: UInt32, _ connection: EngineConnection) {
        connection.waiting.append((requestID, request))
        self.connections.changed.note(connection.id)
        self.giveTurn(connection)
    }

    /// Queues a connection if it has a waiting request and may take another result.
    package func giveTurn(_ connection: EngineConnection) {
        guard !connection.isInTurn, !connection.waiting.isEmpty, connection.takesResults else { return }
        connection.isInTurn = true
        self.queue.append(connection.id)
    }

    /// Takes the first request of the connection whose turn it is; `nil` when none waits or there is no memory for
    /// answers.
    package func next() -> (connection: EngineConnection, requestID: UInt32, request: EngineRequest)? {
        guard self.hasRoom else { return nil }
        while let id = self.queue.popFirst() {
            // The connection and its requests may be gone.
            guard let connection = self.connections[id] else { continue }
            connection.isInTurn = false
            if connection.takesResults, let next = connection.waiting.popFirst() {
                return (connection, next.requestID, next.request)
            }
        }
        return nil
    }

    /// Ends the turn of a connection whose first waiting request was answered or now waits for sub-trees.
    package func endTurn(_ connection: EngineConnection) {
        if connection.waiting.isEmpty { self.connections.changed.note(connection.id) }
        self.giveTurn(connection)
    }

    // MARK: Cost of answers

    func charge(_ request: EngineRequest) { if request.kind.turn == .fair { self.work += Self.requestWork } }

    /// Charges for answering one waiter of a background read.
    func chargeServedRead() { self.work += Self.requestWork }

    /// Charges for a part of a large value, which takes as long as so many steps of writes.
    func chargePart(_ steps: Int) { self.work += steps }

    /// Charges the work of a whole turn.
    func chargeWholeTurn() { self.work += self.workMax }

    /// Charges for bytes of answers that are sent to a connection. Above the limit the connection gets no more answers
    /// until it has drained.
    package func charge(_ bytes: Int, to connection: EngineConnection, _ effects: inout [EngineEffect]) {
        guard bytes > 0 else { return }
        self.answerBytes += bytes
        self.work += bytes >> 8
        connection.unreadBytes += bytes
        guard connection.unreadBytes > self.unreadBytesMax, !connection.isAwaitingDrain else { return }
        connection.isAwaitingDrain = true
        effects.append(.whenDrained(connection.id))
    }

    /// Notes that a connection has read everything.
    package func drained(_ connection: EngineConnection) {
        connection.unreadBytes = 0
        connection.isAwaitingDrain = false
    }

    // MARK: Requests that need sub-trees

    /// Holds a request until the sub-trees that it names have been read. The connection's other requests for results
    /// wait behind it.
    func hold(_ request: EngineRequest, _ requestID: UInt32, _ connection: EngineConnection, for keys: [SubtreeKey]) {
        for key in keys { self.scopes.retain(key) }
        connection.awaitedSubtrees += keys
        connection.isAwaitingSubtrees = true
        connection.waiting.prepend((requestID, request))
        self.connections.changed.note(connection.id)
        self.awaitingSubtrees.append(connection.id)
    }

    /// Queues the connections whose sub-trees have been read.
    func endAwaiting() {
        guard !self.awaitingSubtrees.isEmpty else { return }
        self.awaitingSubtrees.removeAll { id in
            guard let connection = self.connections[id] else { return true }
            guard !connection.awaitedSubtrees.contains(where: { self.scopes.awaits($0) }) else { return false }
            connection.isAwaitingSubtrees = false
            self.giveTurn(connection)
            return true
        }
    }

    /// Releases the sub-trees of a request that was answered or waits again, or whose connection is gone.
    func release(_ keys: [SubtreeKey]) {
        for key in keys { self.scopes.release(key) }
    }
}

extension EngineReply {
    /// The approximate size of the reply if it may be large, otherwise 0.
    var byteCount: Int {
        switch self {
        case .snapshot(_, let rows, let totals): rows.reduce(64 + (totals?.count ?? 0)) { $0 + $1.bytes.count }
        case .object(let body): body.bytes.count
        case .answer(_, let byteCount): byteCount
        case .failure, .receipt, .subscribed, .done, .statistics, .group, .undoState, .tokenCreated, .reserved,
            .present, .value:
            0
        }
    }
}

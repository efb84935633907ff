import DequeModule
import NestProtocol
import NestModel
import NestStore
import NestSchema

/// Fair scheduling of requests for results: when very many come at once, as when all clients reconnect after a restart,
/// commits go on between them, and connections take turns.
///
/// The engine makes replies only for connections that drain: `Limits.answerBytesUnreadMax` and one reply bound what a
/// connection has not read, and `AnswerMemory` bounds all connections together.
///
/// The requests that wait are bounded by what a connection may have in flight:
/// `Limits.requestsInFlightPerConnectionMax` requests, of which `Limits.resultsInFlightPerConnectionMax` are for
/// results.
package final class Admission {
    /// What a request for a result costs in itself, in the units of `Limits.admissionWorkMax`.
    private static let requestWork = 8

    private let connections: EngineConnections
    private let scopes: TokenScopes
    private let workMax: Int
    private let unreadBytesMax: Int
    let memory: AnswerMemory
    /// What this turn's answers have cost so far.
    package var work = 0
    /// Bytes of the answers that this turn has made.
    package private(set) var answerBytes = 0
    /// Connections with requests that wait, in the order of their turns.
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

    /// Somebody waits, and there is memory for an answer. Without memory the next tick looks again.
    package var hasBacklog: Bool { !self.queue.isEmpty && self.hasRoom }

    // MARK: Turns

    /// Whether a request must wait. Requests that begin, change and end the subscriptions of one connection keep their
    /// order; no request for a result overtakes one that waits.
    package func mustWait(_ request: EngineRequest, _ connection: EngineConnection) -> Bool {
        switch request.kind.turn {
        case .inOrder: return !connection.waiting.isEmpty
        case .whenDrained: return connection.isAwaitingDrain
        case .fair:
            return !connection.waiting.isEmpty || !connection.takesResults || !self.queue.isEmpty || !self.hasWorkLeft
                || !self.hasRoom
        case .immediate, .commit, .transfer, .server: return false
        }
    }

    /// Has a request wait for its turn.
    package func enqueue(_ request: EngineRequest, _ requestID: UInt32, _ connection: EngineConnection) {
        connection.waiting.append((requestID, request))
        self.connections.changed.note(connection.id)
        self.giveTurn(connection)
    }

    /// Puts a connection into the queue if it has a request that waits and takes answers.
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
            // A connection that is gone took its requests with it.
            guard let connection = self.connections[id] else { continue }
            connection.isInTurn = false
            if connection.takesResults, let next = connection.waiting.popFirst() {
                return (connection, next.requestID, next.request)
            }
        }
        return nil
    }

    /// The first waiting request of a connection has been answered, or waits for sub-trees.
    package func endTurn(_ connection: EngineConnection) {
        if connection.waiting.isEmpty { self.connections.changed.note(connection.id) }
        self.giveTurn(connection)
    }

    // MARK: What answers cost

    func charge(_ request: EngineRequest) { if request.kind.turn == .fair { self.work += Self.requestWork } }

    /// A background read is handed to one of its waiters.
    func chargeServedRead() { self.work += Self.requestWork }

    /// More work than a turn allows.
    func chargeWholeTurn() { self.work += self.workMax }

    /// A connection is sent so many bytes of answers. When that is much it gets no more before it has drained.
    package func charge(_ bytes: Int, to connection: EngineConnection, _ effects: inout [EngineEffect]) {
        guard bytes > 0 else { return }
        self.answerBytes += bytes
        self.work += bytes >> 8
        connection.unreadBytes += bytes
        guard connection.unreadBytes > self.unreadBytesMax, !connection.isAwaitingDrain else { return }
        connection.isAwaitingDrain = true
        effects.append(.whenDrained(connection.id))
    }

    /// The connection has read everything.
    package func drained(_ connection: EngineConnection) {
        connection.unreadBytes = 0
        connection.isAwaitingDrain = false
    }

    // MARK: Requests that need sub-trees

    /// Has a request wait until the sub-trees that it names have been read. The connection's other requests for results
    /// wait after it.
    func hold(_ request: EngineRequest, _ requestID: UInt32, _ connection: EngineConnection, for keys: [SubtreeKey]) {
        for key in keys { self.scopes.retain(key) }
        connection.awaitedSubtrees += keys
        connection.isAwaitingSubtrees = true
        connection.waiting.prepend((requestID, request))
        self.connections.changed.note(connection.id)
        self.awaitingSubtrees.append(connection.id)
    }

    /// Gives their turn to connections whose sub-trees have been read.
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

    /// The request that needed the sub-trees has been answered, or waits anew; or the connection is gone.
    func release(_ keys: [SubtreeKey]) {
        for key in keys { self.scopes.release(key) }
    }
}

extension EngineReply {
    /// About what it takes, when it may be much.
    var byteCount: Int {
        switch self {
        case .snapshot(_, let rows): rows.reduce(64) { $0 + $1.bytes.count }
        case .object(let detail): detail.values.reduce(64) { $0 + 16 + $1.value.byteCount }
        case .answer(_, let byteCount): byteCount
        case .failure, .receipt, .subscribed, .done, .statistics, .group, .undoState, .tokenCreated: 0
        }
    }
}

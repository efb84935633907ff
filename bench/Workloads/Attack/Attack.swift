import ArgumentParser

/// A kind of attack.
enum Attack: String, CaseIterable, ExpressibleByArgument, Sendable {
    case heldReplies = "held-replies"
    case rowBombs = "row-bombs"
    case predicateMass = "predicate-mass"
    case predicatesLeft = "predicates-left"
    case deepScope = "deep-scope"
    case dearUndo = "dear-undo"
    case bulk
    case guesses
    case crash
    // One connection that repeats one request.
    case pings, cancels, unknown, requests, subscriptions, unread, writes
    // Many connections.
    case connections, silence

    var summary: String {
        switch self {
        case .heldReplies: "requests large results on many connections, and reads none of them"
        case .rowBombs: "imports a few bytes that unpack to millions of rows, and undoes an import"
        case .predicateMass: "subscriptions with expensive predicates, and commits of 2,000 objects"
        case .predicatesLeft: "the same after the subscribers have disconnected"
        case .deepScope: "a confined token reads the deepest object of a chain"
        case .dearUndo: "previews, undoes and redoes an entry of many objects"
        case .bulk: "an import of a million rows"
        case .guesses: "guesses tokens, from the address of clients with valid tokens"
        case .crash: "a predicate with a count under a quantifier, and an insert"
        case .pings: "PING, as fast as possible"
        case .cancels: "CANCEL"
        case .unknown: "frames of an unknown type"
        case .requests: "GET_OBJECT"
        case .subscriptions: "SUBSCRIBE, each to a different result"
        case .unread: "GET_OBJECT, without reading the replies"
        case .writes: "commits of one row"
        case .connections: "connections that close at once"
        case .silence: "connections that send nothing after the preface"
        }
    }

    /// All names with their summaries, for the help.
    static var list: String {
        Self.allCases.map { attack in
            "  \(attack.rawValue)\(String(repeating: " ", count: max(1, 17 - attack.rawValue.count)))\(attack.summary)"
        }.joined(separator: "\n")
    }

    /// Creates the objects that the attack needs, before the measurement.
    func prepare(_ sizes: AttackSizes, on server: AttackServer) async throws -> any Attacker {
        switch self {
        case .heldReplies: try await HeldReplies(sizes, on: server)
        case .rowBombs: RowBombs(sizes, on: server)
        case .predicateMass: PredicateMass(sizes, on: server, leaves: false)
        case .predicatesLeft: PredicateMass(sizes, on: server, leaves: true)
        case .deepScope: try await DeepScope(sizes, on: server)
        case .dearUndo: try await DearUndo(sizes, on: server)
        case .bulk: Bulk(sizes, on: server)
        case .guesses: try await Guesses(sizes, on: server)
        case .crash: CountUnderQuantifier(on: server)
        case .pings: Flood(.pings, on: server)
        case .cancels: Flood(.cancels, on: server)
        case .unknown: Flood(.unknown, on: server)
        case .requests: Flood(.requests, on: server)
        case .subscriptions: Flood(.subscriptions, on: server)
        case .unread: Flood(.unread, on: server)
        case .writes: Flood(.writes, on: server)
        case .connections: Flood(.connections, on: server)
        case .silence: Flood(.silence, on: server)
        }
    }
}

/// A malicious client.
protocol Attacker: Sendable {
    /// Sends no new requests after `deadline`, waits for replies up to the server's `patience`, and closes its
    /// connections. Returns early if the server ends.
    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackCounts
}

/// The outcomes of an attack's requests.
struct AttackCounts: Equatable, Sendable {
    /// The number of requests that succeeded.
    var answered = 0
    /// The number of refused requests, by the name of the error code.
    var refused: [String: Int] = [:]
    /// The number of requests sent without waiting for a reply.
    var sent = 0
    /// The number of requests without a reply within the patience.
    var late = 0
    /// The number of requests whose connection ended before the reply.
    var ended = 0

    mutating func add(_ outcome: AttackConnection.Outcome) {
        switch outcome {
        case .answered: self.answered += 1
        case .refused(let code): self.refused["\(code)", default: 0] += 1
        case .late: self.late += 1
        case .ended: self.ended += 1
        }
    }

    mutating func add(_ other: AttackCounts) {
        self.answered += other.answered
        self.refused.merge(other.refused) { $0 + $1 }
        self.sent += other.sent
        self.late += other.late
        self.ended += other.ended
    }

    /// The counts as text, without those that are 0.
    var text: String {
        var parts: [String] = []
        if self.sent > 0 { parts.append("\(self.sent) sent") }
        if self.answered > 0 { parts.append("\(self.answered) answered") }
        parts += self.refused.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        if self.late > 0 { parts.append("\(self.late) not answered") }
        if self.ended > 0 { parts.append("\(self.ended) ended with their connection") }
        return parts.isEmpty ? "nothing" : parts.joined(separator: ", ")
    }
}

import ArgumentParser

/// What a client attacks with.
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
    // One connection that sends the same again and again.
    case pings, cancels, unknown, requests, subscriptions, unread, writes
    // Many connections.
    case connections, silence

    var summary: String {
        switch self {
        case .heldReplies: "asks for large results on many connections, and reads none"
        case .rowBombs: "imports of a few bytes that unpack to millions of rows, and their undo"
        case .predicateMass: "subscriptions with dear predicates, and commits of 2,000 objects"
        case .predicatesLeft: "the same when those who subscribed have left"
        case .deepScope: "a confined token gets the deepest object of a chain"
        case .dearUndo: "previews, undoes and redoes an entry of many objects"
        case .bulk: "an import of a million rows"
        case .guesses: "guesses tokens, from the address that good ones come from"
        case .crash: "a predicate with a count under a quantifier, and an insert"
        case .pings: "PING, as fast as it goes"
        case .cancels: "CANCEL"
        case .unknown: "frames of an unknown type"
        case .requests: "GET_OBJECT"
        case .subscriptions: "SUBSCRIBE, each to another result"
        case .unread: "GET_OBJECT, without reading the answers"
        case .writes: "commits of one row"
        case .connections: "connections that end at once"
        case .silence: "connections that say nothing"
        }
    }

    /// All names with their summaries, for the help.
    static var list: String {
        Self.allCases.map { attack in
            "  \(attack.rawValue)\(String(repeating: " ", count: max(1, 17 - attack.rawValue.count)))\(attack.summary)"
        }.joined(separator: "\n")
    }

    /// Makes what the attack needs in the store, before anything is measured.
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

/// A client that means harm.
protocol Attacker: Sendable {
    /// Begins nothing new after `deadline`, waits for its answers as long as the server's patience says, and closes its
    /// connections; ends early when the server does.
    func attack(until deadline: ContinuousClock.Instant) async throws -> AttackTally
}

/// What became of an attack's requests.
struct AttackTally: Equatable, Sendable {
    /// Answered as they were asked.
    var answered = 0
    /// Refused, by the code's name.
    var refused: [String: Int] = [:]
    /// Sent without waiting for an answer.
    var sent = 0
    /// Not answered within the patience.
    var late = 0
    /// The connection was ended before the answer.
    var ended = 0

    mutating func add(_ outcome: AttackConnection.Outcome) {
        switch outcome {
        case .answered: self.answered += 1
        case .refused(let code): self.refused["\(code)", default: 0] += 1
        case .late: self.late += 1
        case .ended: self.ended += 1
        }
    }

    mutating func add(_ other: AttackTally) {
        self.answered += other.answered
        self.refused.merge(other.refused) { $0 + $1 }
        self.sent += other.sent
        self.late += other.late
        self.ended += other.ended
    }

    /// In words, without what did not happen.
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

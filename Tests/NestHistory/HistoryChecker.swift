import NestModel

/// Checks a history against every rule and returns the violations. Uses only the history.
///
/// The audit gives the order of all transactions, and the writes give their mutations. The checker replays them naively
/// into a list and compares every state that a client received with it. A long run is checked piece by piece; between
/// pieces the checker keeps the list, the state of each client and a hash of each revision.
public struct HistoryChecker {
    private var replay = Replay()
    private var subscriptions: [String: SubscriptionCheck] = [:]
    private var followers: [String: FollowerCheck] = [:]
    private var clients: [String: ClientCheck] = [:]
    /// A hash of each revision's entry.
    private var digests: [Int] = []

    public init() {}

    /// Returns the violations of a history in one piece.
    public static func violations(in history: History) -> [Violation] {
        var checker = HistoryChecker()
        return checker.check(history)
    }

    /// The last revision of the pieces so far.
    public var last: Revision { self.replay.revision }

    /// Checks the next piece and returns its violations.
    public mutating func check(_ piece: History) -> [Violation] {
        var violations: [Violation] = []
        let timeline = Timeline(piece.audit, after: self.last, &violations)
        self.digests += timeline.entries.map(\.hashValue)
        let writes = Dictionary(piece.writes.map { ($0.name, $0) }) { first, _ in first }
        violations += WriteCheck.violations(ofReverts: piece.writes, timeline)
        for write in piece.writes { violations += WriteCheck.violations(write, timeline) }
        violations += self.checkFollowers(piece, timeline)
        violations += self.checkClients(piece)

        var subscriptions = piece.subscriptions.map { record in
            guard var check = self.subscriptions[record.name] else { return SubscriptionCheck(record) }
            check.resume(with: record)
            return check
        }
        self.replay.begin(timeline, following: subscriptions.reduce(into: []) { $0.formUnion($1.followed) })
        var fetches = piece.fetches.sorted { $0.state.revision < $1.state.revision }[...]
        while true {
            for index in subscriptions.indices { violations += subscriptions[index].advance(&self.replay) }
            while let fetch = fetches.first, fetch.state.revision <= self.replay.revision {
                violations += FetchCheck.violations(fetch, &self.replay)
                fetches.removeFirst()
            }
            guard self.replay.revision < timeline.last else { break }
            violations += self.replay.next(writes)
        }
        for fetch in fetches {
            violations.append(
                Violation(.durable, "\(fetch.client) fetched revision \(fetch.state.revision), which is lost")
            )
        }
        for index in subscriptions.indices { violations += subscriptions[index].finish(timeline) }
        self.subscriptions = Dictionary(uniqueKeysWithValues: subscriptions.filter(\.isComplete).map { ($0.name, $0) })
        return violations
    }

    private mutating func checkFollowers(_ piece: History, _ timeline: Timeline) -> [Violation] {
        var violations: [Violation] = []
        var complete: [String: FollowerCheck] = [:]
        for record in piece.followers {
            var check = self.followers[record.name] ?? FollowerCheck(record)
            violations += check.violations(record, timeline)
            if record.isComplete { complete[record.name] = check }
        }
        self.followers = complete
        return violations
    }

    private mutating func checkClients(_ piece: History) -> [Violation] {
        var violations: [Violation] = []
        var complete: [String: ClientCheck] = [:]
        for record in piece.clients {
            var check = self.clients[record.name] ?? ClientCheck(record)
            violations += check.violations(record)
            if record.isComplete { complete[record.name] = check }
        }
        self.clients = complete
        return violations
    }

    /// Returns the violations of an answer at the last revision of the pieces so far.
    mutating func violations(of answer: Fetched) -> [Violation] { FetchCheck.violations(answer, &self.replay) }

    /// Checks that the revisions after `base` up to `last` are unchanged. `parts`: these revisions as the store returns
    /// them now.
    public func violations(rereading parts: [ChangeSetPart], after base: Revision, through last: Revision)
        -> [Violation]
    {
        var violations: [Violation] = []
        let again = Timeline(parts, after: base, &violations)
        for number in (base.rawValue..<last.rawValue).map({ $0 + 1 }) {
            let (revision, digest) = (Revision(number), self.digests[Int(number) - 1])
            guard again[revision].map({ $0.hashValue != digest }) ?? true else { continue }
            let now = again[revision].map { "'\($0.name)'" } ?? "lost"
            violations.append(Violation(.durable, "revision \(revision) has changed: it is now \(now)"))
        }
        return violations
    }
}

enum FetchCheck {
    static func violations(_ fetch: Fetched, _ replay: inout Replay) -> [Violation] {
        let what = "\(fetch.client) fetched \(fetch.query) at revision \(fetch.state.revision)"
        guard fetch.state.revision >= fetch.atLeast else {
            return [Violation(.readYourWrites, "\(what), not at \(fetch.atLeast) or later")]
        }
        guard fetch.state.revision == replay.revision else { return [] }
        return replay.difference(fetch.state, fetch.query, checksPosition: false).map {
            [Violation($0.isPartial ? .atomic : .reliable, "\(what): \($0.message)")]
        } ?? []
    }
}

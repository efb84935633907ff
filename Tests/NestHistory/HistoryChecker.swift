import NestModel

/// Proves that a history keeps every rule, or says where it does not. Decides from the history alone.
///
/// The audit gives the order of all transactions and the writes give their meaning; together they are replayed into a
/// list kept the obvious way, with which every state that anybody was told is compared. A long run is checked piece by
/// piece: what is kept in between is the list, what each client holds, and a number for each revision.
public struct HistoryChecker {
    private var replay = Replay()
    private var subscriptions: [String: SubscriptionCheck] = [:]
    private var followers: [String: FollowerCheck] = [:]
    /// What the store has said of each revision, shortened to a number.
    private var digests: [Int] = []

    public init() {}

    /// Of a history in one piece.
    public static func violations(in history: History) -> [Violation] {
        var checker = HistoryChecker()
        return checker.check(history)
    }

    /// The last revision of the pieces so far.
    public var last: Revision { self.replay.revision }

    /// Takes the next piece.
    public mutating func check(_ piece: History) -> [Violation] {
        var violations: [Violation] = []
        let timeline = Timeline(piece.audit, after: self.last, &violations)
        self.digests += timeline.entries.map(\.hashValue)
        let writes = Dictionary(piece.writes.map { ($0.name, $0) }) { first, _ in first }
        violations += WriteCheck.violations(ofReverts: piece.writes, timeline)
        for write in piece.writes { violations += WriteCheck.violations(write, timeline) }
        violations += self.checkFollowers(piece, timeline)

        var subscriptions = piece.subscriptions.map { record in
            guard var check = self.subscriptions[record.name] else { return SubscriptionCheck(record) }
            check.goOn(record)
            return check
        }
        let queries = piece.subscriptions.flatMap(\.queries)
        self.replay.begin(timeline, following: Set(queries.filter { $0.window?.isAround == true }.map(\.whole)))
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
                Violation(.durable, "\(fetch.client) fetched revision \(fetch.state.revision), which is gone")
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

    /// Whether the store still says of some revisions what it said in the pieces. `parts`: all that it says of them now.
    public func violations(rereading parts: [ChangeSetPart], after base: Revision, through last: Revision)
        -> [Violation]
    {
        var violations: [Violation] = []
        let again = Timeline(parts, after: base, &violations)
        for number in (base.rawValue..<last.rawValue).map({ $0 + 1 }) {
            let (revision, digest) = (Revision(number), self.digests[Int(number) - 1])
            guard again[revision].map({ $0.hashValue != digest }) ?? true else { continue }
            let now = again[revision].map { "'\($0.name)'" } ?? "gone"
            violations.append(Violation(.durable, "revision \(revision) is \(now), and was something else"))
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
        return replay.difference(fetch.state, fetch.query, isPlaced: false).map {
            [Violation($0.isPartial ? .atomic : .reliable, "\(what): \($0.message)")]
        } ?? []
    }
}

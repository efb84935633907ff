import NestModel

/// Proves that a history keeps every rule, or says where it does not. Decides from the history alone.
///
/// The audit gives the order of all transactions and the writes give their meaning; together they are replayed into a
/// list kept the obvious way, with which every state that anybody was told is compared.
public enum HistoryChecker {
    public static func violations(in history: History) -> [Violation] {
        var violations: [Violation] = []
        let timeline = Timeline(history.audit, &violations)
        let writes = Dictionary(history.writes.map { ($0.name, $0) }) { first, _ in first }
        violations += WriteCheck.violations(ofReverts: history.writes, timeline)
        for write in history.writes { violations += WriteCheck.violations(write, timeline) }
        for follower in history.followers { violations += FollowerCheck.violations(follower, timeline) }

        var subscriptions = history.subscriptions.map { SubscriptionCheck($0) }
        var fetches = history.fetches.sorted { $0.state.revision < $1.state.revision }[...]
        let queries = history.subscriptions.flatMap(\.queries)
        let followed = Set(queries.filter { $0.window?.isAround == true }.map(\.whole))
        var replay = Replay(timeline, following: followed)
        while true {
            for index in subscriptions.indices { violations += subscriptions[index].advance(&replay) }
            while let fetch = fetches.first, fetch.state.revision <= replay.revision {
                violations += FetchCheck.violations(fetch, &replay)
                fetches.removeFirst()
            }
            guard replay.revision < timeline.last else { break }
            violations += replay.next(writes)
        }
        for fetch in fetches {
            violations.append(
                Violation(.durable, "\(fetch.client) fetched revision \(fetch.state.revision), which is gone")
            )
        }
        for index in subscriptions.indices { violations += subscriptions[index].finish(timeline) }
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

import NestLiveQuery
import NestModel
import NestStore

/// Statistics for operators, taken between two batches.
extension Engine {
    /// The number of subscriptions of each connection, to results and to changes.
    package var subscriptionCounts: [ConnectionID: Int] {
        self.connections.all.mapValues { $0.views.count + $0.changeSubscriptions.count }
    }

    package var statistics: [Statistic] {
        let (store, live) = (self.store, self.queries.live)
        let connections = self.connections.all.values
        let results = live.registry
        let requestsWaiting =
            self.scopes.heldCount + self.turns.count + self.queries.reads.waiterCount
            + connections.reduce(0) { $0 + $1.waiting.count }
        let values: [(String, Int)] = [
            ("revision", Int(store.head.rawValue)),
            ("journal_oldest_revision", Int(store.oldestBase.rawValue)),
            ("requests_waiting", requestsWaiting),
            ("disk_short", self.health.shortage == nil ? 0 : 1),
            ("connections_blocked", connections.count { $0.isBlocked }),
            ("sessions", self.sessions.count),
            ("subscriptions", self.queries.subscriptions.count),
            ("views", self.queries.subscriptions.viewCount),
            ("change_subscriptions", self.changeFeeds.count),
            ("live_results", results.count),
            ("live_result_rows", results.all.reduce(0) { $0 + $1.result.tree.count }),
            ("live_result_bytes", live.byteCount),
            ("outlines", self.queries.outlines.count),
            ("outline_rows", self.queries.outlines.rowCount),
            ("token_scopes", self.scopes.count),
            ("token_scope_objects", self.scopes.memberCount),
            ("token_scope_bytes", self.scopes.byteCount),
            ("row_log_bytes", live.rowLogBytes),
            ("object_body_bytes", store.objectBodyBytes),
            ("presences", self.presence.count),
            ("presence_followers", self.presence.followerCount),
            ("presence_bytes", self.presence.byteCount),
            ("idempotency_keys", self.sessions.keys.count),
            ("writes", self.counters.writes),
            ("commits", self.counters.groups),
            ("objects_changed", self.counters.objects),
            ("rows_renumbered", self.counters.renumbered),
            ("reads", self.counters.requests),
            ("diffs_encoded", self.counters.diffs),
            ("net_diffs_encoded", self.counters.netDiffs),
            ("snapshots_sent", self.counters.snapshots),
            ("change_pages_read", self.changeFeeds.pagesRead),
        ]
        let free = self.health.freeBytes.map { [("disk_free_bytes", $0)] } ?? []
        return (values + free).map { Statistic(name: $0, value: UInt64($1)) }
    }
}

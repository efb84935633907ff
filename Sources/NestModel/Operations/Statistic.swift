/// A counter or gauge of the server, by its stable name.
public struct Statistic: Hashable, Sendable {
    public var name: String
    /// Below 2^62.
    public var value: UInt64

    public init(name: String, value: UInt64) {
        self.name = name
        self.value = value
    }
}

extension Statistic {
    /// Whether the value only grows while the server runs, so a rate of it is meaningful.
    public var isCounter: Bool { Self.counters.contains(self.name) }

    private static let counters: Set<String> = [
        "writes", "commits", "objects_changed", "rows_renumbered", "reads", "diffs_encoded", "net_diffs_encoded",
        "snapshots_sent", "change_pages_read", "connections_total", "connections_blocked_total", "requests", "errors",
        "bytes_in", "bytes_out", "batches", "hops", "connections_rejected_total", "connections_flooding_total",
        "connections_shed_total", "accept_pauses_total", "deliveries", "web_requests", "web_refused", "web_sockets",
    ]
}

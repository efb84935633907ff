import NestStore

/// How a node's file fits the log.
package enum ReplicaFinding: Equatable {
    /// The file is on the log's line, and the log has everything behind it.
    case goesOn
    /// The file is missing, or so old that the log no longer has what follows: a snapshot takes its place.
    case joins(reason: String)
    /// The file has something that the log has not. `isAhead`: the file is beyond the log's end, so the log has lost
    /// records.
    case diverged(reason: String, isAhead: Bool)

    /// `overview`: read with the position of `local`. `snapshots`: those of the log, whose chains are known even where
    /// its records are gone.
    package static func of(_ local: LogState?, _ overview: LogOverview, _ snapshots: [LogSnapshot]) -> ReplicaFinding {
        guard let local = local?.position else { return .joins(reason: "this node has no store yet") }
        guard local.position <= overview.head.position else {
            return .diverged(
                reason: "the store is at position \(local.position), and the log ends at \(overview.head.position)",
                isAhead: true
            )
        }
        guard local.position >= overview.base else {
            return .joins(
                reason: "the store is at position \(local.position), and the log begins after \(overview.base)"
            )
        }
        let known =
            overview.chainAtPosition
            ?? snapshots.first { $0.position.position == local.position }?.position.chain
        if known == local.chain { return .goesOn }
        if known == nil, local.position == overview.base {
            return .joins(reason: "the log no longer has the record at the store's position \(local.position)")
        }
        return .diverged(
            reason: "the log has another record at position \(local.position) than the store was built on",
            isAhead: false
        )
    }
}

import NestStore

/// How a node's file fits the log.
package enum ReplicaFinding: Equatable {
    /// The file is on the log's line, and the log has everything behind it.
    case goesOn
    /// The file is missing, or so old that the log no longer has what follows: a snapshot takes its place.
    case joins(reason: String)
    /// The file has something that the log has not: the log has lost records, or the file is another cluster's.
    case diverged(reason: String)

    /// `overview`: read with the position of `local`. `snapshots`: those of the log, whose chains are known even where
    /// its records are gone.
    package static func of(_ local: LogState?, _ overview: LogOverview, _ snapshots: [LogSnapshot]) -> ReplicaFinding {
        guard let local = local?.position else { return .joins(reason: "this node has no store yet") }
        guard local.position <= overview.head.position else {
            return .diverged(
                reason: "the store is at position \(local.position), and the log ends at \(overview.head.position)"
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
            reason: "the log has another record at position \(local.position) than the store was built on"
        )
    }
}

/// How a snapshot fits the log.
package enum SnapshotFinding: Equatable {
    /// Its state is the log's at its position, and the log has everything behind it.
    case confirmed
    /// The log has not come to its position yet: a migration adds its snapshot before its record.
    case awaitsRecord
    /// The log has another record at its position, or no longer all that follows: no node can join from it.
    case stale

    /// `overview`: read with the snapshot's position.
    package static func of(_ snapshot: LogSnapshot, _ overview: LogOverview) -> SnapshotFinding {
        let position = snapshot.position.position
        guard position >= overview.base else { return .stale }
        if let chain = overview.chainAtPosition { return chain == snapshot.position.chain ? .confirmed : .stale }
        // Its record is gone: it was confirmed before the base was raised, for stale ones were removed before.
        return position == overview.base ? .confirmed : .awaitsRecord
    }
}

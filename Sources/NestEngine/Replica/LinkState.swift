/// The state of a node's link to the leader, for its `ReplicaMachine`.
package enum LinkState: Sendable, Equatable {
    /// The leader sends its records as it appends them. `head`: the newest that it has named.
    case streaming(head: Int64)
    /// The leader does not hold the records that follow, or leads no more: they are read in the log.
    case behind
    /// The leader cannot be reached, or there is none.
    case down

    var isStreaming: Bool { if case .streaming = self { true } else { false } }
}

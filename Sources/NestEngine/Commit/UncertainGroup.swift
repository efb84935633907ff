/// The requests of a group whose record may be in the log, until that is known.
struct UncertainGroup {
    let requests: [WriteRequest]
    /// The outcomes if the record is in the log.
    let outcomes: [Commit.Outcome]
    /// The groups and runs behind the group.
    var coalescing: UndoCoalescing
}

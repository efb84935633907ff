import NestModel

/// One call of a `FetchedResultsControllerDelegate`, as a value.
///
/// **Coordinates.** Every path `at` refers to the state before the transition, every `newIndexPath` to the state after
/// it. A deleted section has its old index, an inserted section its new one. Table and collection views expect these
/// coordinates within one batch of updates. They are not valid if the changes are applied one at a time.
///
/// **Order.** `willChangeContent`; deletes of rows in deleted sections; deleted sections, then inserted sections; the
/// other deletes; moves; inserts; updates; `didChangeContent`. Within each kind the paths ascend: old paths for
/// deletes, new paths for the other kinds.
public enum FetchedResultsEvent: Hashable, Sendable {
    case willChangeContent
    /// The section before the transition, with its rows.
    case deleteSection(FetchedResultsSectionInfo, at: Int)
    /// The section after the transition, with its rows.
    case insertSection(FetchedResultsSectionInfo, newIndex: Int)
    /// The row before the transition.
    case delete(Row, at: RowPosition)
    case insert(Row, newIndexPath: RowPosition)
    /// The row after the transition. It may move from a deleted section or to an inserted section. Views do not accept
    /// that as a move: see `BatchUpdates`.
    case move(Row, at: RowPosition, newIndexPath: RowPosition)
    /// The row after the transition. Some of its values have changed. If the row has also moved, a `move` with the same
    /// paths precedes this event. An inserted row has only its `insert`.
    case update(Row, at: RowPosition, newIndexPath: RowPosition)
    case didChangeContent
}

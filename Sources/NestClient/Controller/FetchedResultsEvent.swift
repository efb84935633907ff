import NestModel

/// One call of a `FetchedResultsControllerDelegate`, as a value.
///
/// **Coordinates.** Every path called `at` is in the state before the transition, every `newIndexPath` in the state after
/// it, and so are the sections' indexes: a section that goes is named by its old index, one that comes by its new one. That
/// is how table and collection views take them within one batch of updates; one at a time, they would be wrong.
///
/// **Order.** `willChangeContent`; the deletes of rows whose section goes with them; the sections that go, then those that
/// come; the other deletes; moves; inserts; updates; `didChangeContent`. Within each kind the paths ascend: old ones for
/// deletes, new ones for the rest.
public enum FetchedResultsEvent: Hashable, Sendable {
    case willChangeContent
    /// The section as it was, with the rows it had.
    case deleteSection(FetchedResultsSectionInfo, at: Int)
    /// The section as it is now, with its rows.
    case insertSection(FetchedResultsSectionInfo, newIndex: Int)
    /// The row as it was.
    case delete(Row, at: RowPosition)
    case insert(Row, newIndexPath: RowPosition)
    /// The row as it is now. It may come out of a section that goes and arrive in one that comes, which views refuse to
    /// take as a move: see `BatchUpdates`.
    case move(Row, at: RowPosition, newIndexPath: RowPosition)
    /// The row as it is now; some of its values have changed. A row that has moved as well has a `move` before this, with
    /// the same two paths; one that has come with the transition has only its `insert`.
    case update(Row, at: RowPosition, newIndexPath: RowPosition)
    case didChangeContent
}

import NestModel

/// What a change does to a section or an object.
public enum FetchedResultsChangeType: Hashable, Sendable {
    case insert
    case delete
    case move
    case update
}

/// Is told how the content of a fetched results controller changes, where `FetchedResultsController.run` is called.
///
/// Every method has an implementation that does nothing. Order and coordinates of the calls are those of
/// `FetchedResultsEvent`: an `indexPath` is in the content before, a `newIndexPath` in the content after.
///
/// A class of the main actor conforms with `@MainActor FetchedResultsControllerDelegate`.
public protocol FetchedResultsControllerDelegate: AnyObject {
    /// The content is about to change: the controller still shows what was, and during the calls that follow what is now.
    func controllerWillChangeContent(_ controller: FetchedResultsController)

    /// A section has come (`sectionIndex` is its new index) or gone (its old one). `type` is `insert` or `delete`.
    func controller(
        _ controller: FetchedResultsController,
        didChange sectionInfo: FetchedResultsSectionInfo,
        atSectionIndex sectionIndex: Int,
        for type: FetchedResultsChangeType
    )

    /// A row has come (no `indexPath`), gone (no `newIndexPath`), moved or got new values (both). `object` is the row as it
    /// is now, or was last. A row that has moved and got new values is told twice: as moved, then as updated.
    func controller(
        _ controller: FetchedResultsController,
        didChange object: Row,
        at indexPath: RowPosition?,
        for type: FetchedResultsChangeType,
        newIndexPath: RowPosition?
    )

    /// All changes since `controllerWillChangeContent` have been told.
    func controllerDidChangeContent(_ controller: FetchedResultsController)

    /// The content is another one, of which no changes are told: the first, or one after a reset. Show it anew.
    func controllerDidReplaceContent(_ controller: FetchedResultsController, reason: SnapshotReason)

    /// How the content stands to the server's has changed.
    func controller(_ controller: FetchedResultsController, didChange state: FetchedResultsController.State)
}

extension FetchedResultsControllerDelegate {
    public func controllerWillChangeContent(_ controller: FetchedResultsController) {}

    public func controller(
        _ controller: FetchedResultsController,
        didChange sectionInfo: FetchedResultsSectionInfo,
        atSectionIndex sectionIndex: Int,
        for type: FetchedResultsChangeType
    ) {}

    public func controller(
        _ controller: FetchedResultsController,
        didChange object: Row,
        at indexPath: RowPosition?,
        for type: FetchedResultsChangeType,
        newIndexPath: RowPosition?
    ) {}

    public func controllerDidChangeContent(_ controller: FetchedResultsController) {}

    public func controllerDidReplaceContent(_ controller: FetchedResultsController, reason: SnapshotReason) {}

    public func controller(_ controller: FetchedResultsController, didChange state: FetchedResultsController.State) {}
}

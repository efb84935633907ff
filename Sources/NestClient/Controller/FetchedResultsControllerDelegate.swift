import NestModel

/// The kind of a change to a section or an object.
public enum FetchedResultsChangeType: Hashable, Sendable {
    case insert
    case delete
    case move
    case update
}

/// Receives the changes of a fetched results controller's content, on the actor that calls
/// `FetchedResultsController.run`.
///
/// Every method has a default implementation that does nothing. `FetchedResultsEvent` defines the order and the
/// coordinates of the calls: an `indexPath` refers to the content before the change, a `newIndexPath` to the content
/// after it.
///
/// A class of the main actor conforms with `@MainActor FetchedResultsControllerDelegate`.
public protocol FetchedResultsControllerDelegate: AnyObject {
    /// The content is about to change. The controller still has the old content; during the following calls it has the
    /// new one.
    func controllerWillChangeContent(_ controller: FetchedResultsController)

    /// A section was inserted (`sectionIndex` is its new index) or deleted (its old index). `type` is `insert` or
    /// `delete`.
    func controller(
        _ controller: FetchedResultsController,
        didChange sectionInfo: FetchedResultsSectionInfo,
        atSectionIndex sectionIndex: Int,
        for type: FetchedResultsChangeType
    )

    /// A row was inserted (no `indexPath`), deleted (no `newIndexPath`), moved, or updated (both). `object` is the row
    /// after the change, or the deleted row. A row that has moved and has new values is reported twice: as moved, then
    /// as updated.
    func controller(
        _ controller: FetchedResultsController,
        didChange object: Row,
        at indexPath: RowPosition?,
        for type: FetchedResultsChangeType,
        newIndexPath: RowPosition?
    )

    /// All changes since `controllerWillChangeContent` have been reported.
    func controllerDidChangeContent(_ controller: FetchedResultsController)

    /// The content was replaced without single changes: it is the first content, or the content after a reset. Reload
    /// the view.
    func controllerDidReplaceContent(_ controller: FetchedResultsController, reason: SnapshotReason)

    /// The state of the controller has changed.
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

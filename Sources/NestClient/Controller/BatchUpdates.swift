import NestModel

/// The updates that a table or collection view makes between `beginUpdates` and `endUpdates`, or in
/// `performBatchUpdates`.
///
/// Views refuse a move from a deleted section or to an inserted section, and a row that is both moved and reloaded.
/// Therefore such a move becomes a delete and an insert, and rows with new values must be reloaded or configured after
/// the batch, at paths of the state after it.
public struct BatchUpdates: Hashable, Sendable {
    /// Indexes before the batch.
    public var deletedSections: [Int] = []
    /// Indexes after the batch.
    public var insertedSections: [Int] = []
    /// Paths before the batch, including rows in deleted sections.
    public var deletedRows: [RowPosition] = []
    /// Paths after the batch, including rows in inserted sections.
    public var insertedRows: [RowPosition] = []
    /// From paths before the batch to paths after it.
    public var movedRows: [ResultsDiff.Move] = []
    /// Paths after the batch, of rows that the view already shows and whose values have changed.
    public var reloadedRows: [RowPosition] = []

    /// Creates the updates for the events of one transition.
    public init(_ events: [FetchedResultsEvent]) {
        for event in events {
            switch event {
            case .deleteSection(_, let index): self.deletedSections.append(index)
            case .insertSection(_, let index): self.insertedSections.append(index)
            case .willChangeContent, .delete, .insert, .move, .update, .didChangeContent: break
            }
        }
        let deleted = Set(self.deletedSections)
        let inserted = Set(self.insertedSections)
        var arrived: Set<RowPosition> = []
        for event in events {
            switch event {
            case .delete(_, let path): self.deletedRows.append(path)
            case .insert(_, let path): self.insertedRows.append(path)
            case .move(_, let from, let to):
                if deleted.contains(from.section) || inserted.contains(to.section) {
                    self.deletedRows.append(from)
                    self.insertedRows.append(to)
                    arrived.insert(to)
                } else {
                    self.movedRows.append(ResultsDiff.Move(from: from, to: to))
                }
            case .update(_, _, let path): if !arrived.contains(path) { self.reloadedRows.append(path) }
            case .willChangeContent, .deleteSection, .insertSection, .didChangeContent: break
            }
        }
        self.deletedRows.sort()
        self.insertedRows.sort()
    }

    public var isEmpty: Bool {
        self.deletedSections.isEmpty && self.insertedSections.isEmpty && self.deletedRows.isEmpty
            && self.insertedRows.isEmpty && self.movedRows.isEmpty && self.reloadedRows.isEmpty
    }
}

import NestModel

/// A change of fetched results in the form that Core Data's `NSFetchedResultsController` tells its delegate, for table and
/// collection views.
///
/// Paths of deletes and the sources of moves are in the state before, everything else in the state after, as views
/// take them within one batch of updates. Applied one by one they would be wrong.
public enum FetchedResultsEvent: Hashable, Sendable {
    case willChangeContent
    case deleteSection(at: Int)
    case insertSection(at: Int, key: AttributeValue)
    case delete(ObjectID, at: IndexPath)
    case insert(Row, at: IndexPath)
    case move(ObjectID, from: IndexPath, to: IndexPath)
    /// Values have changed where the row is now; a moved row may be updated as well.
    case update(ObjectID, at: IndexPath)
    case didChangeContent
}

extension ResultsDiff {
    /// The diff as will-change, sections, rows, did-change. `state` is what the diff has led to.
    ///
    /// A row that moves out of a deleted section or into an inserted one is told as deleted and inserted, because views
    /// refuse such moves.
    public func events(in state: SectionedSnapshot) -> [FetchedResultsEvent] {
        let deleted = Set(self.deletedSections)
        let inserted = Set(self.insertedSections.map(\.index))
        var deletes: [(IndexPath, ObjectID)] = self.deletedRows.map { ($0.path, $0.id) }
        var inserts: [(IndexPath, Row)] = self.insertedRows.map { ($0.path, $0.row) }
        var moves: [FetchedResultsEvent] = []
        var told = Set(self.insertedRows.map(\.path))
        for move in self.moves {
            let row = state[move.to]
            if deleted.contains(move.from.section) || inserted.contains(move.to.section) {
                deletes.append((move.from, row.id))
                inserts.append((move.to, row))
                told.insert(move.to)
            } else {
                moves.append(.move(row.id, from: move.from, to: move.to))
            }
        }
        deletes.sort { $0.0 < $1.0 }
        inserts.sort { $0.0 < $1.0 }
        var events: [FetchedResultsEvent] = [.willChangeContent]
        events += self.deletedSections.map { .deleteSection(at: $0) }
        events += self.insertedSections.map { .insertSection(at: $0.index, key: $0.key) }
        events += deletes.map { .delete($0.1, at: $0.0) }
        events += moves
        events += inserts.map { .insert($0.1, at: $0.0) }
        // A row that is told as inserted has its new values already.
        events += self.updates.filter { !told.contains($0.path) }.map { .update(state[$0.path].id, at: $0.path) }
        events.append(.didChangeContent)
        return events
    }
}

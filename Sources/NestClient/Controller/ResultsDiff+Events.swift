import NestModel

/// The events of a diff, for a table view.
extension ResultsDiff {
    /// Returns the events that the delegate of a fetched results controller receives when this diff is applied to
    /// `before`. The result depends on nothing else.
    ///
    /// A diff that changes nothing has the events `willChangeContent` and `didChangeContent`. Throws if the diff refers
    /// to sections or rows that `before` does not have. Does not throw if `SectionedSnapshot.apply` accepts the diff.
    /// O(k log k) for k changes, whatever the size of the state.
    public func events(before: SectionedSnapshot) throws(DiffMismatch) -> [FetchedResultsEvent] {
        let arrived = try ArrivedRows(self, before)
        let deletedSections = Set(self.deletedSections)
        var deletes: [FetchedResultsEvent] = []
        var deletesOfSections: [FetchedResultsEvent] = []
        for deleted in self.deletedRows {
            let event = FetchedResultsEvent.delete(try before.row(at: deleted.path), at: deleted.path)
            if deletedSections.contains(deleted.path.section) {
                deletesOfSections.append(event)
            } else {
                deletes.append(event)
            }
        }

        var events: [FetchedResultsEvent] = [.willChangeContent]
        events += deletesOfSections
        for index in self.deletedSections {
            guard before.sections.indices.contains(index) else { throw .coordinates("no section \(index) to delete") }
            events.append(.deleteSection(FetchedResultsSectionInfo(before.sections[index]), at: index))
        }
        for inserted in self.insertedSections {
            let section = ResultsSection(key: inserted.key, rows: arrived.rows(inSection: inserted.index))
            events.append(.insertSection(FetchedResultsSectionInfo(section), newIndex: inserted.index))
        }
        events += deletes
        for move in self.moves {
            guard let row = arrived[move.to] else { throw .coordinates("two rows at \(move.to)") }
            events.append(.move(row, at: move.from, newIndexPath: move.to))
        }
        for inserted in self.insertedRows {
            events.append(.insert(arrived[inserted.path] ?? inserted.row, newIndexPath: inserted.path))
        }
        let origins = Origins(self)
        for update in self.updates {
            guard let origin = origins.origin(of: update.path) else { continue }
            var row = try before.row(at: origin)
            if let arrivedRow = arrived[update.path] { row = arrivedRow }
            row = try row.updated(by: update, before.projection)
            events.append(.update(row, at: origin, newIndexPath: update.path))
        }
        events.append(.didChangeContent)
        return events
    }
}

/// The rows that are inserted or moved, with their final values.
private struct ArrivedRows {
    private var rows: [RowPosition: Row] = [:]
    private var inInsertedSections: [Int: [(row: Int, path: RowPosition)]] = [:]

    init(_ diff: ResultsDiff, _ before: SectionedSnapshot) throws(DiffMismatch) {
        for inserted in diff.insertedRows { self.rows[inserted.path] = inserted.row }
        for move in diff.moves { self.rows[move.to] = try before.row(at: move.from) }
        for update in diff.updates {
            guard let row = self.rows[update.path] else { continue }
            self.rows[update.path] = try row.updated(by: update, before.projection)
        }
        for section in diff.insertedSections { self.inInsertedSections[section.index] = [] }
        guard !diff.insertedSections.isEmpty else { return }
        for path in self.rows.keys { self.inInsertedSections[path.section]?.append((path.row, path)) }
    }

    subscript(path: RowPosition) -> Row? { self.rows[path] }

    func rows(inSection index: Int) -> [Row] {
        let members = self.inInsertedSections[index] ?? []
        return members.sorted { $0.row < $1.row }.compactMap { self.rows[$0.path] }
    }
}

/// Maps paths in the state after a diff to paths in the state before it.
private struct Origins {
    private let mapping: PathMapping
    private let moves: [RowPosition: RowPosition]

    init(_ diff: ResultsDiff) {
        self.mapping = PathMapping(diff)
        self.moves = Dictionary(diff.moves.map { ($0.to, $0.from) }) { first, _ in first }
    }

    /// Returns `nil` for a row that was not in the state before.
    func origin(of path: RowPosition) -> RowPosition? {
        self.moves[path] ?? self.mapping.oldPath(of: path)
    }
}

extension SectionedSnapshot {
    fileprivate func row(at path: RowPosition) throws(DiffMismatch) -> Row {
        guard self.sections.indices.contains(path.section),
            self.sections[path.section].rows.indices.contains(path.row)
        else { throw .coordinates("no row at \(path)") }
        return self[path]
    }
}

extension Row {
    fileprivate func updated(
        by update: ResultsDiff.Update,
        _ projection: [PropertyNumber]
    ) throws(DiffMismatch) -> Row {
        var row = self
        for (property, value) in update.values {
            guard let slot = projection.firstIndex(of: property), row.values.indices.contains(slot) else {
                throw .unknownProperty(property)
            }
            row.values[slot] = value
        }
        return row
    }
}

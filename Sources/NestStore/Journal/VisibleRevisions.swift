import NestModel
import NestProtocol
import NestSchema

/// Finds the last revision at which the visible part of an object changed, for a client with a token scope.
///
/// An object's row has the revision of its last change, but that may be a change of a relationship that the client does
/// not see. Each change in the journal refers to the change before it: following them back finds the last visible one.
struct VisibleRevisions {
    private struct Key: Hashable {
        var table: SubtreeKey
        var id: ObjectID
    }

    /// The result of a search that started at the revision `row`. It stays valid, because past changes never change.
    private struct Found {
        var row: Revision
        var visible: Revision
    }

    /// The results of the last searches, so that no object's changes are followed back twice.
    private var found: [Key: Found] = [:]
    private static let countMax = 4_096
    /// The number of journal parts that the searches of one batch may still read.
    private var partsLeft = Self.partsPerBatchMax
    private static let partsPerBatchMax = 4 * Limits.changesSearchedMax

    mutating func beginBatch() { self.partsLeft = Self.partsPerBatchMax }

    /// Returns `nil` if the revision is not found within `Limits.changesSearchedMax` parts of the journal, or within
    /// the parts left for the batch. Changes from before the journal count as changes at its oldest base, so that the
    /// revision does not reveal hidden changes.
    mutating func revision(
        of id: ObjectID,
        from row: Revision,
        _ store: Store,
        _ confinement: Confinement
    ) throws(StoreError) -> Revision? {
        let key = Key(table: confinement.key, id: id)
        let known = self.found[key]
        let allowed = min(Limits.changesSearchedMax, self.partsLeft)
        var partsLeft = allowed
        defer { self.partsLeft -= allowed - partsLeft }
        var next = row
        while next > store.oldestBase {
            if let known, known.row == next {
                next = known.visible
                break
            }
            guard let change = try store.change(of: id, in: next, &partsLeft) else { return nil }
            if confinement.shows(change) { break }
            next = change.revisionBefore
        }
        if self.found.count >= Self.countMax { self.found.removeAll(keepingCapacity: true) }
        self.found[key] = Found(row: row, visible: next)
        return max(next, store.oldestBase)
    }
}

extension Store {
    /// Begins a batch, which may again read the maximum number of journal parts to find visible revisions.
    package func beginBatch() { self.visibleRevisions.beginBatch() }

    /// Returns the newest revision at which the part of an object that a confined client sees has changed. `row`: the
    /// revision of the object's row. `nil`: unknown, see `VisibleRevisions`.
    package func visibleRevision(
        of id: ObjectID,
        from row: Revision,
        _ confinement: Confinement
    ) throws(StoreError) -> Revision? {
        guard confinement.hidesChanges(of: id) else { return row }
        return try self.visibleRevisions.revision(of: id, from: row, self, confinement)
    }

    /// Refuses if the part of an object that a confined client sees has changed since the revision of its precondition.
    /// Changes of the open group are not in the journal yet: an object that they changed counts as changed.
    package func check(_ preconditions: [Precondition], _ confinement: Confinement) throws(StoreError) {
        for precondition in preconditions {
            let id = precondition.object
            try confinement.require(id)
            guard let row = try self.row(confinement.key.table, id) else { throw ObjectGraph.notFound(id) }
            guard row.revision > precondition.revision else { continue }
            let visible = try self.visibleRevision(of: id, from: row.revision, confinement)
            if let visible, visible <= precondition.revision { continue }
            throw ObjectGraph.changed(id, at: visible, since: precondition.revision)
        }
    }

    /// Returns what a revision did to an object; `nil` if that is not found in at most `partsLeft` parts of the
    /// journal.
    func change(of id: ObjectID, in revision: Revision, _ partsLeft: inout Int) throws(StoreError)
        -> ObjectChange?
    {
        guard partsLeft > 0, let past = try self.pastTransaction(revision) else { return nil }
        partsLeft -= 1
        return try past.change(of: id, &partsLeft)
    }
}

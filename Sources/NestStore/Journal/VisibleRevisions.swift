import NestModel
import NestProtocol
import NestSchema

/// Finds the last revision at which the visible part of an object changed, for a client with a token scope.
///
/// An object's row has the revision of its last change, which may be one of a relationship that the client does not
/// see. The journal has the change before each change, so the last one that shows is found by following them back.
struct VisibleRevisions {
    private struct Key: Hashable {
        var table: SubtreeKey
        var id: ObjectID
    }

    /// What was found for a row of this revision. The changes of before a revision never change.
    private struct Found {
        var row: Revision
        var visible: Revision
    }

    /// The objects of the last searches, so that none is followed back twice.
    private var found: [Key: Found] = [:]
    private static let countMax = 4_096
    /// Parts of the journal that the searches of one batch may still read.
    private var partsLeft = Self.partsPerBatchMax
    private static let partsPerBatchMax = 4 * Limits.changesSearchedMax

    mutating func beginBatch() { self.partsLeft = Self.partsPerBatchMax }

    /// `nil`: not found within `Limits.changesSearchedMax` parts of the journal, or what is left for the batch.
    /// Changes from before the journal count as of its beginning, so that the revision does not reveal hidden changes.
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
    /// From here on as much of the journal may be read again to find visible revisions.
    package func beginBatch() { self.visibleRevisions.beginBatch() }

    /// The newest revision at which something changed that a confined client sees of an object, whose row has a
    /// revision. `nil`: unknown, see `VisibleRevisions`.
    package func visibleRevision(
        of id: ObjectID,
        from row: Revision,
        _ confinement: Confinement
    ) throws(StoreError) -> Revision? {
        guard confinement.hidesChanges(of: id) else { return row }
        return try self.visibleRevisions.revision(of: id, from: row, self, confinement)
    }

    /// Refuses when an object has changed since, as far as a confined client sees. What the group under way has changed
    /// is not in the journal: such an object counts as changed.
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

    /// What a revision did to an object, when that is in as many parts of the journal as are left.
    fileprivate func change(of id: ObjectID, in revision: Revision, _ partsLeft: inout Int) throws(StoreError)
        -> ObjectChange?
    {
        guard partsLeft > 0, let past = try self.pastTransaction(revision) else { return nil }
        partsLeft -= 1
        return try past.change(of: id, &partsLeft)
    }
}

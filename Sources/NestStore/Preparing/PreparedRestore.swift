import NestModel
import NestSchema

/// The objects of a past deletion, restored as hidden rows until a request puts the tops back under their owners.
final class PreparedRestore: PreparedWrite {
    let past: PastTransaction
    private(set) var hidden = IDRuns()
    private(set) var blocks: PreparedBlocks

    private let store: Store
    private let time: Int64
    private var deleted: PastObjects
    private var isRead = false
    private var topCount = 0
    private var part = 0
    private var changes: ArraySlice<ObjectChange> = []

    var ids: IDRuns { self.hidden }
    var hiddenAfter: IDRuns { IDRuns() }
    var insertedAt: Revision? { self.past.revision }
    var tops: [ObjectChange] { self.deleted.tops }
    var topIDs: Set<ObjectID> { self.deleted.topIDs }

    init?(_ past: PastTransaction, _ store: Store, time: Int64) {
        guard !store.layout.hasCounts else { return nil }
        self.past = past
        self.blocks = PreparedBlocks(store.journal)
        self.store = store
        self.time = time
        self.deleted = PastObjects(past, .delete, store.layout)
    }

    /// Refuses that others restore its objects. Once all are found, their rows are hidden, and others wait for them.
    func allows(_ changes: ChangeSet) -> Bool {
        if self.isRead { return true }
        guard changes.blockCount == 0 else { return false }
        return !changes.changedRows.contains { $0.before == nil && self.deleted.ids.contains($0.id) }
    }

    func prepare(_ count: Int) throws(StoreError) -> Preparation.State {
        // The journal may have been trimmed meanwhile.
        guard self.past.revision > self.store.oldestBase else { return .impossible }
        guard self.isRead else { return try self.readDeleted() }
        for _ in 0..<count {
            // The objects below refer to them.
            if self.topCount < self.tops.count {
                try self.restoreTop(self.tops[self.topCount])
                self.topCount += 1
                continue
            }
            if self.changes.isEmpty {
                guard let next = try self.past.part(self.part) else {
                    try self.blocks.flush()
                    return .done
                }
                self.part += 1
                self.changes = next[...]
            }
            guard let change = self.changes.popFirst() else { continue }
            try self.restore(change)
        }
        return .open
    }

    private func readDeleted() throws(StoreError) -> Preparation.State {
        let store = self.store
        let step = try self.deleted.read { (change) throws(StoreError) -> Bool in
            guard let layout = store.layout[change.entity] else { return false }
            if layout.kind(change.entity).entity.isAbstract { return false }
            if change.values.contains(where: { layout.patternFault($0.slot, $0.before) != nil }) { return false }
            return try store.objects.object(change.id) == nil
        }
        guard case .done = step else { return step }
        self.isRead = true
        self.hidden = self.deleted.ids
        return .open
    }

    private func restore(_ change: ObjectChange) throws(StoreError) {
        if self.deleted.topIDs.contains(change.id) { return }
        let table = self.store.objects.table(change.entity)
        let row = self.row(change, table)
        try table.insert(change.id, row)
        try self.blocks.append(ChangedRow(entity: row.entity, id: change.id, before: nil, after: row))
    }

    /// Inserts a top without its owner, which it gets when the request restores it.
    private func restoreTop(_ change: ObjectChange) throws(StoreError) {
        let table = self.store.objects.table(change.entity)
        try table.insert(change.id, self.row(change, table).unlinked(table.layout))
    }

    /// The revision of the restoration is not known yet: that of the deletion is the last one that changed the object.
    private func row(_ change: ObjectChange, _ table: EntityTable) -> ObjectRow {
        change.restoredRow(table.layout, revision: self.past.revision, time: self.time)
    }
}

extension ObjectGraph {
    /// Shows the objects of a prepared restoration, and restores the tops as any other revert does. Postpones the
    /// request if one of them cannot be restored: then the objects below must not be, either.
    func restore(_ prepared: PreparedRestore, _ preparation: Preparation, _ context: UndoContext) throws(StoreError) {
        try self.recorder.adopt(preparation)
        self.preparation = nil
        for top in prepared.tops { try self.table(top.entity).delete(top.id) }
        self.missingTops = prepared.topIDs
        try self.revert(prepared.past.only(prepared.tops), context)
        guard self.missingTops.isEmpty else { throw .postponed(.onePiece) }
    }

    /// Inserts the row of an object that a revert restores.
    func insertRestored(_ table: EntityTable, _ id: ObjectID, _ row: ObjectRow) throws(StoreError) {
        if self.missingTops.isEmpty || self.missingTops.remove(id) == nil { try table.refuseHidden(id) }
        try table.insert(id, row)
    }
}

extension ObjectChange {
    /// Returns the row with which a deleted object is restored. `revision`, `time`: those of the restored object.
    func restoredRow(_ layout: EntityLayout, revision: Revision, time: Int64) -> ObjectRow {
        // A deletion contains the whole object.
        var row = self.changedRow(layout, revision: revision).before!
        row.revision = revision
        // The object may have been deleted before a new version of the model gave it a property.
        let kind = layout.kind(self.entity)
        for slot in kind.requiredSlots where row.values.isNull(slot) {
            row.values[slot] = kind.nowSlots.contains(slot) ? .date(time) : kind.defaultValues[slot]
        }
        for placing in self.placings where placing.before?.isOfNoOrder == true {
            row.places[placing.place].stamp = revision.rawValue
        }
        return row
    }
}

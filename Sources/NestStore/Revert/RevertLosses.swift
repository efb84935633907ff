import NestModel
import NestSchema

/// What a revert deletes, empties or parts besides what its transaction inserted: a forced revert reports it,
/// any other is refused.
///
/// Memory for each reference that is emptied and each pair that is parted.
final class RevertLosses {
    struct Emptied {
        var table: EntityTable
        var id: ObjectID
        var slot: Int
    }

    /// A pair of a many-to-many relationship, by what its two slots led to.
    struct Pair {
        var table: EntityTable
        var ends: (ObjectID, ObjectID)
        var revision: Revision
    }

    /// By the transaction.
    let inserted: ObjectIDSet
    /// Slots of inserted objects that hold something else than the transaction gave them.
    let reassigned: Set<RevertPlan.SlotKey>
    fileprivate let context: UndoContext
    fileprivate let base: Revision
    /// The objects that the revert deletes.
    fileprivate(set) var count = 0
    /// The first of the losses, in words.
    fileprivate(set) var texts: [String] = []
    fileprivate var emptied: [Emptied] = []
    fileprivate var pairs: [Pair] = []

    init(_ plan: RevertPlan) {
        self.inserted = plan.inserted
        self.reassigned = plan.reassigned
        self.context = plan.context
        self.base = plan.revision
    }

    /// Whether a slot of an object that goes holds what the transaction gave it: delete rules do not lead there.
    func isGiven(_ id: ObjectID, _ slot: Int) throws(StoreError) -> Bool {
        try self.inserted.contains(id) && !self.reassigned.contains(.init(id: id, slot: slot))
    }

    /// Whether the undo itself has set this target: it is not deleted with the object that refers to it.
    func isPutBack(_ id: ObjectID) throws(StoreError) -> Bool {
        guard let deletions = self.context.deletions else { return false }
        return try !deletions.contains(id)
    }
}

extension ObjectGraph {
    /// Whether an object or pair was there before this request.
    private func wasThere(_ id: ObjectID) -> Bool { self.recorder.wasThere(id) ?? true }

    /// An object is about to be deleted.
    func note(deleted id: ObjectID, _ row: ObjectRow, _ table: EntityTable, _ losses: RevertLosses) throws(StoreError) {
        guard try !losses.inserted.contains(id), self.wasThere(id) else { return }
        losses.count += 1
        if losses.texts.count < Limits.faultsPerErrorMax { losses.texts.append(self.describe(id, row, table)) }
        losses.context.appendLost { self.lost(id, row, table) }
    }

    /// A forced undo deletes an object that its entry did not insert, or that has changed since.
    func lost(_ id: ObjectID, _ row: ObjectRow, _ table: EntityTable) -> UndoConflict {
        UndoConflict(
            reason: .lost,
            entity: row.entity,
            object: id,
            // A change by an earlier part of the same undo is not its last change.
            revision: self.recorder.changedObject(id)?.before?.revision ?? row.revision,
            label: self.label(row, table.layout)
        )
    }

    /// A reference is about to be emptied, because its target is deleted or parted from it.
    func note(emptied id: ObjectID, _ slot: Int, _ table: EntityTable, _ losses: RevertLosses) throws(StoreError) {
        guard try !losses.inserted.contains(id), self.wasThere(id) else { return }
        losses.emptied.append(.init(table: table, id: id, slot: slot))
    }

    /// A pair is about to be deleted.
    func note(parted id: ObjectID, _ row: ObjectRow, _ table: EntityTable, _ losses: RevertLosses) throws(StoreError) {
        guard try !losses.inserted.contains(id), self.wasThere(id),
            let first = row.values[0].referenceValue, let second = row.values[1].referenceValue
        else { return }
        losses.pairs.append(.init(table: table, ends: (first, second), revision: row.revision))
    }

    /// After all deletions: reports the lost references and pairs of objects that still exist. Of two that were deleted
    /// together one is reported, unless it is reported anyway.
    func report(_ losses: RevertLosses, _ plan: RevertPlan) throws(StoreError) {
        guard plan.isForced else {
            guard losses.count > 0 else { return }
            let texts = RevertPlan.joined(losses.texts, count: losses.count)
            throw .refused(.undoConflict, "what it inserted holds others, which would be deleted: \(texts)")
        }
        for emptied in losses.emptied {
            guard let row = try emptied.table.row(emptied.id) else { continue }
            plan.report(try self.conflict(.overwritten, emptied.id, row, emptied.table, slot: emptied.slot))
        }
        for pair in losses.pairs {
            let ends = [pair.ends.0, pair.ends.1]
            let slot: Int
            if try self.end(0, of: pair).exists(ends[0]) {
                slot = 0
            } else if try self.end(1, of: pair).exists(ends[1]) {
                slot = 1
            } else if try losses.inserted.contains(ends[0]), try losses.inserted.contains(ends[1]) {
                slot = 0
            } else {
                continue
            }
            let row = ObjectRow(
                entity: pair.table.layout.number,
                revision: pair.revision,
                values: ends.map { .reference($0) },
                places: []
            )
            plan.report(try self.conflict(.overwritten, pair: row, pair.table, slot: slot))
        }
    }

    /// The table of what a slot of a pair leads to.
    private func end(_ slot: Int, of pair: RevertLosses.Pair) throws(StoreError) -> EntityTable {
        guard case .toOne(let relationship, _) = pair.table.layout.slots[slot] else {
            preconditionFailure("the first two slots of a pair are to-one relationships")
        }
        return try self.table(relationship.destination)
    }
}

import NestModel
import NestSchema

/// The objects that a revert deletes, the references that it empties and the pairs that it deletes, without those that
/// its transaction inserted. A forced revert reports them; any other revert that deletes such objects is refused.
///
/// Takes memory for each emptied reference and each deleted pair.
final class RevertLosses {
    struct Emptied {
        var table: EntityTable
        var id: ObjectID
        var slot: Int
    }

    /// A deleted pair of a many-to-many relationship, by the objects to which its two slots referred.
    struct Pair {
        var table: EntityTable
        var ends: (ObjectID, ObjectID)
        var revision: Revision
    }

    /// The objects that the transaction inserted.
    let inserted: ObjectIDSet
    /// Slots of inserted objects whose target has changed since the transaction.
    let reassigned: Set<RevertPlan.SlotKey>
    fileprivate let context: UndoContext
    fileprivate let base: Revision
    /// The number of objects that the revert deletes.
    fileprivate(set) var count = 0
    /// The names of the first of these objects, for messages.
    fileprivate(set) var texts: [String] = []
    fileprivate var emptied: [Emptied] = []
    fileprivate var pairs: [Pair] = []

    init(_ plan: RevertPlan) {
        self.inserted = plan.inserted
        self.reassigned = plan.reassigned
        self.context = plan.context
        self.base = plan.revision
    }

    /// Whether a slot of a deleted object holds the target that the transaction gave it: delete rules are not followed
    /// there.
    func isGiven(_ id: ObjectID, _ slot: Int) throws(StoreError) -> Bool {
        try self.inserted.contains(id) && !self.reassigned.contains(.init(id: id, slot: slot))
    }

    /// Whether the undo itself has set the reference to this target: the target is not deleted with the object that
    /// refers to it.
    func isPutBack(_ id: ObjectID) throws(StoreError) -> Bool {
        guard let deletions = self.context.deletions else { return false }
        return try !deletions.contains(id)
    }
}

extension ObjectGraph {
    /// Whether an object or pair existed before this request.
    private func wasThere(_ id: ObjectID) -> Bool { self.recorder.wasThere(id) ?? true }

    /// Notes that an object is about to be deleted.
    func note(deleted id: ObjectID, _ row: ObjectRow, _ table: EntityTable, _ losses: RevertLosses) throws(StoreError) {
        guard try !losses.inserted.contains(id), self.wasThere(id) else { return }
        losses.count += 1
        if losses.texts.count < Limits.faultsPerErrorMax { losses.texts.append(self.describe(id, row, table)) }
        losses.context.appendLost { self.lost(id, row, table) }
    }

    /// Returns the conflict for an object that a forced undo deletes although its entry did not insert it, or although
    /// it has changed since.
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

    /// Notes that a reference is about to be emptied, because its target is deleted or separated from it.
    func note(emptied id: ObjectID, _ slot: Int, _ table: EntityTable, _ losses: RevertLosses) throws(StoreError) {
        guard try !losses.inserted.contains(id), self.wasThere(id) else { return }
        losses.emptied.append(.init(table: table, id: id, slot: slot))
    }

    /// Notes that a pair is about to be deleted.
    func note(parted id: ObjectID, _ row: ObjectRow, _ table: EntityTable, _ losses: RevertLosses) throws(StoreError) {
        guard try !losses.inserted.contains(id), self.wasThere(id),
            let first = row.values.reference(0), let second = row.values.reference(1)
        else { return }
        losses.pairs.append(.init(table: table, ends: (first, second), revision: row.revision))
    }

    /// Reports the lost references and pairs of objects that still exist. Call it after all deletions. If both objects
    /// of a pair were deleted, the pair is reported only if neither of them is reported itself.
    func report(_ losses: RevertLosses, _ plan: RevertPlan) throws(StoreError) {
        guard plan.isForced else {
            guard losses.count > 0 else { return }
            let texts = RevertPlan.joined(losses.texts, count: losses.count)
            throw .refused(.undoConflict, "its inserted objects contain others, which would be deleted: \(texts)")
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

    /// Returns the table of the object to which a slot of a pair refers.
    private func end(_ slot: Int, of pair: RevertLosses.Pair) throws(StoreError) -> EntityTable {
        guard case .toOne(let relationship, _) = pair.table.layout.slots[slot] else {
            preconditionFailure("the first two slots of a pair are to-one relationships")
        }
        return try self.table(relationship.destination)
    }
}

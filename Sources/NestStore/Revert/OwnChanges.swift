import NestModel
import NestSchema

/// Distinguishes the changes of a session from those of others, for an undo that finds another content in a slot than
/// its transaction gave it.
///
/// An undo takes back the newest work of its session first. What is left of newer work is then what an undo of the same
/// session did in another way than to restore the old content: it has rehomed an object. That is no conflict.
extension PastTransaction {
    /// Whether only transactions of one session have changed a slot of an object since this transaction. `last`: the
    /// revision of the object's last change. Follows the object's changes back; `false` if that does not lead to this
    /// transaction. `readsLeft`: the parts of the journal that it may read; it subtracts those that it has read.
    func isChanged(
        onlyBy session: UInt64,
        _ slot: Int,
        of id: ObjectID,
        _ layout: EntityLayout,
        from last: Revision,
        _ readsLeft: inout Int
    ) throws(StoreError) -> Bool {
        var next = last
        while next > self.revision {
            guard let (header, change) = try self.step(next, id, session, &readsLeft) else { return false }
            if change.sets(slot, layout) || change.kind != .update, header.sessionNumber != session { return false }
            if change.kind == .insert {
                // An undo has restored the object. It goes on with the deletion that the undo took back.
                guard let deletion = try self.deletion(of: id, takenBackBy: header, &readsLeft) else { return false }
                next = deletion
            } else {
                next = change.revisionBefore
            }
        }
        return next == self.revision
    }

    private func step(
        _ revision: Revision,
        _ id: ObjectID,
        _ session: UInt64,
        _ readsLeft: inout Int
    ) throws(StoreError) -> (JournalHeader, ObjectChange)? {
        guard readsLeft > 0, let transaction = try self.transaction(revision) else { return nil }
        readsLeft -= 1
        // A bulk change of another session is not searched: it counts as one of this slot.
        guard transaction.header.blockCount == 0 || transaction.header.sessionNumber == session else { return nil }
        guard let change = try transaction.change(of: id, &readsLeft) else { return nil }
        return (transaction.header, change)
    }

    /// Returns the revision of an object's last change before the deletion that an undo or redo took back.
    private func deletion(
        of id: ObjectID,
        takenBackBy undo: JournalHeader,
        _ readsLeft: inout Int
    ) throws(StoreError) -> Revision? {
        guard undo.kind == .undo || undo.kind == .redo, let newest = undo.reverted,
            let first = try self.transaction(newest)?.header
        else { return nil }
        // The entry may have several transactions.
        let oldest = first.entry ?? newest
        var revision = newest
        while revision >= oldest, revision > self.revision, readsLeft > 0 {
            if let (header, change) = try self.step(revision, id, undo.sessionNumber, &readsLeft),
                change.kind == .delete,
                header.sessionNumber == undo.sessionNumber
            {
                return change.revisionBefore
            }
            revision = Revision(revision.rawValue - 1)
        }
        return nil
    }
}

extension ObjectGraph {
    /// Whether an undo of the same session has given an object another owner, because its own no longer exists. No
    /// other session has changed the owner since.
    func isRehomed(
        _ slot: Int,
        _ id: ObjectID,
        _ row: ObjectRow,
        _ table: EntityTable,
        _ past: PastTransaction,
        _ plan: RevertPlan
    ) throws(StoreError) -> Bool {
        guard let session = plan.context.session, self.isHierarchy(table, slot) else { return false }
        if plan.context.rehomed.contains(.init(id: id, slot: slot)) { return true }
        return try past.isChanged(
            onlyBy: session,
            slot,
            of: id,
            table.layout,
            from: row.revision,
            &plan.context.journalReadsLeft
        )
    }
}

extension ObjectChange {
    fileprivate func sets(_ slot: Int, _ layout: EntityLayout) -> Bool {
        self.values.contains { $0.slot == slot } || self.placings.contains { layout.placedSlots[$0.place] == slot }
    }
}

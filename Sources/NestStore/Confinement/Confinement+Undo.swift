import NestModel
import NestSchema

/// Limits the undo of a confined client to its session's changes of objects that are still in the token scope.
extension Confinement {
    /// Checks all transactions of an undo entry before the first of them is reverted. The refusal does not reveal
    /// whether an object was deleted or is out of scope. O(changed objects).
    package func check(_ transactions: [PastTransaction], _ options: UndoOptions) throws(StoreError) {
        guard !options.rehomes else {
            throw .refused(.notPermitted, "a confined token cannot rehome: the objects above may be outside its scope")
        }
        var restored: Set<ObjectID> = []
        for transaction in transactions {
            try transaction.forEach { if $0.kind == .delete { restored.insert($0.id) } }
        }
        for transaction in transactions {
            try transaction.forEach { (change) throws(StoreError) in try self.check(change, restored) }
        }
    }

    private func check(_ change: ObjectChange, _ restored: Set<ObjectID>) throws(StoreError) {
        func isThere(_ id: ObjectID) throws(StoreError) -> Bool {
            if restored.contains(id) { return true }
            return try self.contains(id)
        }
        guard self.layout.kinds.contains(where: { $0.number == change.entity }), try isThere(change.id) else {
            throw Self.outOfReach
        }
        switch change.kind {
        case .insert:
            guard change.id != self.key.root else { throw Self.outOfReach }
            return try self.checkDelete()
        case .delete:
            guard change.id != self.key.root, try !self.isElsewhere(change.id) else { throw Self.outOfReach }
            try self.checkInsert(change.entity)
        case .update:
            break
        }
        var isOwned = change.kind == .update
        for value in change.values {
            let property = self.layout.properties[value.slot]
            guard self.isRelationship(property) || self.isUnique(value.slot) else { continue }
            guard value.slot == self.key.slot, change.id != self.key.root, let owner = value.before.referenceValue,
                try isThere(owner)
            else { throw Self.outOfReach }
            isOwned = true
        }
        for placing in change.placings {
            guard self.layout.placedSlots[placing.place] == self.key.slot, change.id != self.key.root,
                let owner = placing.before?.owner, try isThere(owner)
            else { throw Self.outOfReach }
            isOwned = true
        }
        guard isOwned else { throw Self.outOfReach }
    }

    /// Whether a deleted object exists again out of scope: a conflict would reveal it.
    private func isElsewhere(_ id: ObjectID) throws(StoreError) -> Bool {
        guard try self.exists(id) else { return false }
        return try !self.contains(id)
    }

    private func isUnique(_ slot: Int) -> Bool { self.layout.uniquenesses.contains { $0.slots.contains(slot) } }

    private static let outOfReach = StoreError.refused(
        .undoConflict,
        "part of this entry was deleted or is outside the token's scope"
    )
}

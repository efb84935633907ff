import NestModel
import NestSchema

/// Reads rows and the journal for the plan of a revert, and builds its messages.
extension ObjectGraph {
    /// Whether an object is still where a placement put it. Compares the stamp of the placement, not the neighbours.
    func isPlaced(_ row: ObjectRow, _ layout: EntityLayout, _ place: Int, by record: PlaceRecord?) -> Bool {
        guard row.values.reference(layout.placedSlots[place]) == record?.owner else { return false }
        guard let record, !record.isOfNoOrder else { return true }
        return row.places[place].stamp == record.place.stamp
    }

    func ownerTable(_ table: EntityTable, _ place: Int) throws(StoreError) -> EntityTable {
        guard case .toOne(let relationship, _) = table.layout.slots[table.layout.placedSlots[place]] else {
            preconditionFailure("a placed slot is a to-one relationship")
        }
        return try self.table(relationship.destination)
    }

    /// Returns the row with which a deleted object is restored.
    func deletedRow(_ change: ObjectChange, _ table: EntityTable, _ plan: RevertPlan) -> ObjectRow {
        var row = change.restoredRow(table.layout, revision: self.revision, time: self.time)
        for (slot, value) in plan.replaced[change.id] ?? [:] {
            row.values[slot] = value
            let place = table.layout.placeOfSlot[slot]
            if place >= 0 { row.places[place] = .none }
        }
        return row
    }

    /// Returns a slot of an inserted object whose value has changed since. Positions are compared separately.
    func editedSlot(
        _ change: ObjectChange,
        _ row: ObjectRow,
        _ table: EntityTable,
        _ past: PastTransaction,
        _ plan: RevertPlan
    ) throws(StoreError) -> Int? {
        for slot in row.values.indices {
            let place = table.layout.placeOfSlot[slot]
            let isEdited =
                place < 0
                ? row.values[slot] != change.values.first { $0.slot == slot }?.after ?? .null
                : !row.values.isNull(slot) && !change.placings.contains { $0.place == place }
            if isEdited, try !self.isRehomed(slot, change.id, row, table, past, plan) { return slot }
        }
        return nil
    }

    // MARK: Missing owners

    /// Returns the owner under which a deleted object is restored if its old owner no longer exists. `nil`: it gets no
    /// owner, or it cannot be restored, which the plan then reports.
    func ownerInstead(
        of gone: ObjectID,
        _ change: ObjectChange,
        _ table: EntityTable,
        _ slot: Int,
        _ past: PastTransaction,
        _ plan: inout RevertPlan
    ) throws(StoreError) -> ObjectID? {
        if let owner = try self.livingOwner(insteadOf: gone, table, slot, past, plan) { return owner }
        guard case .toOne(let relationship, _) = table.layout.slots[slot] else { return nil }
        // The destination of a one-way relationship does not own the object: the reference becomes null.
        let mayBeNull = plan.context.options.rehomes || self.layout.model.isOneWay(relationship)
        if plan.orphan == nil, !mayBeNull || !relationship.isOptional {
            let label = self.label(change, table.layout)
            let name = label.isEmpty ? "the object \(change.id)" : "\(Self.quote(label)) (\(change.id))"
            plan.orphan = (change.id, gone, name)
        }
        return nil
    }

    /// Returns the nearest object above one that no longer exists, in the same relationship, that exists and that the
    /// undo keeps.
    func livingOwner(
        insteadOf gone: ObjectID,
        _ table: EntityTable,
        _ slot: Int,
        _ past: PastTransaction,
        _ plan: RevertPlan
    ) throws(StoreError) -> ObjectID? {
        guard plan.context.options.rehomes, self.isHierarchy(table, slot) else { return nil }
        return try self.owner(above: gone, table, slot, past) { (above) throws(StoreError) in
            if try plan.returning.contains(above) { return true }
            guard try table.exists(above), try !plan.inserted.contains(above) else { return false }
            return try !plan.goes(above)
        }
    }

    /// Returns the nearest object above another, in the same relationship, that the undo keeps. The owner of a deleted
    /// object is the one that it had when it was deleted.
    func owner(
        above id: ObjectID,
        _ table: EntityTable,
        _ slot: Int,
        _ past: PastTransaction,
        _ stays: (ObjectID) throws(StoreError) -> Bool
    ) throws(StoreError) -> ObjectID? {
        func owner(_ id: ObjectID) throws(StoreError) -> ObjectID? {
            if let row = try table.row(id) { return row.values.reference(slot) }
            return try past.formerOwner(of: id, table.layout, slot: slot)
        }
        var seen: Set<ObjectID> = []
        var current = id
        while seen.insert(current).inserted, let above = try owner(current) {
            if try stays(above) { return above }
            current = above
        }
        guard let root = table.layout.root, table.layout.slot(of: root.relationship) == slot else { return nil }
        return root.object
    }

    // MARK: Messages

    func conflict(
        _ reason: UndoConflict.Reason,
        _ id: ObjectID,
        _ row: ObjectRow,
        _ table: EntityTable,
        slot: Int
    ) throws(StoreError) -> UndoConflict {
        if table.layout.isJoin { return try self.conflict(reason, pair: row, table, slot: slot) }
        return UndoConflict(
            reason: reason,
            entity: row.entity,
            object: id,
            property: table.layout.properties[slot],
            // A change by an earlier part of the same undo is not the conflicting change.
            revision: self.recorder.changedObject(id)?.before?.revision ?? row.revision,
            label: self.label(row, table.layout)
        )
    }

    /// Returns the conflict of a pair, reported as a relationship of the object to which `slot` refers.
    func conflict(
        _ reason: UndoConflict.Reason,
        pair row: ObjectRow,
        _ table: EntityTable,
        slot: Int
    ) throws(StoreError) -> UndoConflict {
        let owner = row.values.reference(slot) ?? ObjectID(0)
        for owners in self.tables {
            // A relationship that is its own inverse uses both slots.
            for pairs in owners.layout.manyToMany
            where pairs.join == table.layout.number && (pairs.ownerSlot == slot || pairs.isSymmetric) {
                let ownerRow = try owners.row(owner)
                return UndoConflict(
                    reason: reason,
                    entity: ownerRow?.entity ?? owners.layout.number,
                    object: owner,
                    property: pairs.relationship.number,
                    revision: row.revision == self.revision ? nil : row.revision,
                    label: ownerRow.map { self.label($0, owners.layout) } ?? ""
                )
            }
        }
        preconditionFailure("each slot of a pair belongs to a relationship")
    }

    /// Returns the message of a strict undo about a conflict.
    static func describe(_ conflict: UndoConflict, _ layout: ModelLayout) -> String {
        let name =
            conflict.label.isEmpty
            ? "the object \(conflict.object)" : "\(Self.quote(conflict.label)) (\(conflict.object))"
        let property = conflict.property.flatMap { layout[conflict.entity]?.propertyName($0) }
        let what = property.map { " (\($0))" } ?? ""
        return switch conflict.reason {
        case .edited: "\(name) has been edited since\(what)"
        case .moved: "\(name) has been moved since\(what)"
        case .deleted: "\(name) has been deleted since"
        case .present: "\(name) exists again"
        case .ownerGone: "the object to which \(name) referred no longer exists\(what)"
        case .rehomed: "\(name) would get another owner\(what)"
        case .overwritten: "\(name) would lose its newer value\(what)"
        case .lost: "\(name) would be deleted"
        case .other: "\(name) is in conflict\(what)"
        }
    }

    func describe(_ id: ObjectID, _ row: ObjectRow, _ table: EntityTable) -> String {
        let label = self.label(row, table.layout)
        return label.isEmpty ? "the object \(id)" : "\(Self.quote(label)) (\(id))"
    }

    func name(_ table: EntityTable, _ slot: Int) -> String {
        table.layout.propertyName(table.layout.properties[slot]) ?? ""
    }

    func label(_ row: ObjectRow, _ layout: EntityLayout) -> String {
        guard let slot = layout.kind(row.entity).labelSlot else { return "" }
        return Self.shortened(row.values[slot].stringValue ?? "")
    }

    /// Returns the label of an inserted or deleted object.
    func label(_ change: ObjectChange, _ layout: EntityLayout) -> String {
        let slot = layout.kind(change.entity).labelSlot
        guard let value = change.values.first(where: { $0.slot == slot }) else { return "" }
        return Self.shortened((change.kind == .insert ? value.after : value.before).stringValue ?? "")
    }
}

import NestModel
import NestSchema

/// Carries out the plan of a revert.
extension ObjectGraph {
    /// Reverts one transaction, as a new change. To revert several, call `prepare` before the first.
    ///
    /// The options decide whether values that later transactions changed are left, are overwritten, or refuse the whole
    /// undo; the context collects these conflicts. Restored objects have their old ids. The objects of one owner are
    /// restored from left to right: after their old left neighbour if that is still there (at the front if they had
    /// none), else before their old right neighbour, else at their old sparse position. Takes O(objects) time, and
    /// memory for the conflicts and for objects that the transaction changed without inserting or deleting them.
    package func revert(_ past: PastTransaction, _ context: UndoContext) throws(StoreError) {
        if let preparation, try self.apply(preparation, past, context) { return }
        try self.prepare([past], context)
        let plan = try self.plan(past, context)
        let losses = RevertLosses(plan)
        try plan.refuseIfPrevented()
        self.emptied += plan.emptied
        // Objects whose owner is restored too get their old positions, because the owner has no other objects.
        let tops = plan.restorations.returning
        try past.forEach { (change) throws(StoreError) in
            guard change.kind == .delete, try !tops.contains(change.id), try !plan.left.contains(change.id) else {
                return
            }
            let table = try self.table(change.entity)
            try self.restoreRow(table, change.id, self.deletedRow(change, table, plan), isBulk: true)
        }
        for (table, id, row) in plan.partly { try self.restoreRow(table, id, row, isBulk: false) }
        if plan.isForced { try self.partOthers(plan, losses) }
        for (change, table) in plan.updates { try self.restoreValues(change, table) }
        try plan.restorations.forEach(of: self) { (restoration) throws(StoreError) in
            if restoration.row != nil, try plan.left.contains(restoration.id) { return }
            try self.restorePlace(restoration)
        }
        // Cycles are checked at the end: before that an object may be inside another object that must still move back.
        try plan.restorations.forEach(of: self) { (restoration) throws(StoreError) in
            let slot = restoration.table.layout.placedSlots[restoration.place]
            try self.refuseCircle(.init(table: restoration.table, id: restoration.id, slot: slot))
        }
        for climb in plan.climbs { try self.refuseCircle(climb) }
        try self.takeBackInserted(past, plan, losses)
        try self.report(losses, plan)
        try plan.discard()
    }

    /// Applies the prepared revert of a transaction. Returns `false` if another was prepared, or if the request has
    /// streamed other objects.
    private func apply(_ preparation: Preparation, _ past: PastTransaction, _ context: UndoContext)
        throws(StoreError) -> Bool
    {
        guard self.recorder.canAdopt else { return false }
        switch preparation.write {
        case let removal as PreparedRemoval where removal.past?.revision == past.revision:
            try self.remove(removal, preparation)
        case let restore as PreparedRestore where restore.past.revision == past.revision:
            try self.restore(restore, preparation, context)
        default:
            return false
        }
        return true
    }

    /// Separates objects that a forced undo joins from their current partners, unless the undo does that anyway.
    private func partOthers(_ plan: RevertPlan, _ losses: RevertLosses) throws(StoreError) {
        for (change, table) in plan.updates {
            for value in change.values where table.layout.partnerSlots[value.slot] >= 0 {
                guard let partner = value.after.referenceValue,
                    case .toOne(let relationship, _) = table.layout.slots[value.slot]
                else { continue }
                let partners = try self.table(relationship.destination)
                let slot = table.layout.partnerSlots[value.slot]
                // A slot that the transaction itself changed is reported when that change is reverted.
                let isItsOwn = plan.partners.contains(.init(id: partner, slot: slot))
                try self.part(partners, partner, slot, from: change.id, isItsOwn ? nil : losses)
            }
        }
    }

    private func takeBackInserted(_ past: PastTransaction, _ plan: RevertPlan, _ losses: RevertLosses)
        throws(StoreError)
    {
        for pair in plan.insertedPairs where try pair.table.exists(pair.id) { try self.deletePair(pair.table, pair.id) }
        if plan.hasMorePairs {
            try self.forEachInserted(past) { (table, id) throws(StoreError) in
                guard table.layout.isJoin, let row = try table.row(id), !plan.keptPairs.contains(self.ends(row, table))
                else { return }
                try self.deletePair(table, id)
            }
        }
        var forced: [ObjectID] = []
        for id in Set(plan.forced).sorted() where try self.find(id) != nil { forced.append(id) }
        if !forced.isEmpty { try self.delete(forced, going: plan.inserted, losses) }
        for (table, id) in plan.insertedTops where try table.exists(id) { try self.takeBack(id, losses) }
        // With one ordered relationship all objects are below the tops; with several, objects may be below each other.
        // Objects below one that was deleted by its delete rules may still exist.
        guard plan.placesInside.count > 1 || !forced.isEmpty || plan.hasMoreTops else { return }
        try self.forEachInserted(past) { (table, id) throws(StoreError) in
            if !table.layout.isJoin, try table.exists(id) { try self.takeBack(id, losses) }
        }
    }

    private func forEachInserted(_ past: PastTransaction, _ body: (EntityTable, ObjectID) throws(StoreError) -> Void)
        throws(StoreError)
    {
        try past.forEach { (change) throws(StoreError) in
            if change.kind == .insert { try body(self.table(change.entity), change.id) }
        }
    }

    private func restoreRow(_ table: EntityTable, _ id: ObjectID, _ row: ObjectRow, isBulk: Bool) throws(StoreError) {
        try self.insertRestored(table, id, row)
        try self.recorder.record(row.entity, id, before: nil, after: row, isBulk: isBulk)
        for (place, slot) in table.layout.placedSlots.enumerated() {
            guard let owner = row.values.reference(slot) else { continue }
            self.recorder.notePlaced(table.layout.number, id, owner: owner, place: place)
        }
    }

    private func restoreValues(_ change: ObjectChange, _ table: EntityTable) throws(StoreError) {
        guard let old = try table.row(change.id) else { return }
        var new = old
        for value in change.values { new.values[value.slot] = value.before }
        for placing in change.placings where placing.before == nil {
            // The object had no owner: it leaves its current one.
            try self.leave(table, change.id, old, place: placing.place)
            new.values[table.layout.placedSlots[placing.place]] = .null
            new.places[placing.place] = .none
        }
        guard new != old else { return }
        try self.write(table, change.id, from: old, to: new)
        self.flushDepartures(change.id)
    }

    private func restorePlace(_ restoration: RevertPlan.Restoration) throws(StoreError) {
        let table = restoration.table
        let slot = table.layout.placedSlots[restoration.place]
        let record = restoration.record
        let order = SparseOrder(table: table, place: restoration.place, owner: record.owner, recorder: self.recorder)
        let left =
            restoration.isRehomed
            ? try order.neighbour(before: nil, excluding: restoration.id)
            : try self.leftNeighbour(restoration, order, slot)
        let old = try table.row(restoration.id)
        if let old, !old.values.isNull(slot) {
            try self.leave(table, restoration.id, old, place: restoration.place)
        }
        let position = try order.position(
            after: left?.id,
            leftPosition: left?.position,
            excluding: restoration.id,
            preferred: restoration.isRehomed || record.isOfNoOrder ? nil : record.place.position
        )
        guard var new = old ?? restoration.row else {
            preconditionFailure("a moved object exists, and a deleted one has a row in the plan")
        }
        new.values[slot] = .reference(record.owner)
        let stamp = record.isOfNoOrder ? self.revision.rawValue : record.place.stamp
        new.places[restoration.place] = SparsePlace(position: position, stamp: stamp)
        if let old {
            try self.write(table, restoration.id, from: old, to: new)
            self.flushDepartures(restoration.id)
        } else {
            try self.insertRestored(table, restoration.id, new)
            try self.recorder.record(new.entity, restoration.id, before: nil, after: new, isBulk: restoration.isOnly)
        }
        self.recorder.notePlaced(table.layout.number, restoration.id, owner: record.owner, place: restoration.place)
    }

    /// Refuses a cycle: walks up from a restored object, to the root or around a cycle. A cycle is found when the walk
    /// meets a mark that is set at growing distances (Brent, 1980). O(depth), O(1) for an object with nothing below it.
    private func refuseCircle(_ climb: RevertPlan.Climb) throws(StoreError) {
        guard self.isHierarchy(climb.table, climb.slot),
            try climb.table.hasObject(ofOwner: climb.id, slot: climb.slot)
        else { return }
        var mark = climb.id
        var current = mark
        var (steps, distance) = (0, 1)
        while let above = try climb.table.row(current)?.values.reference(climb.slot) {
            guard above != mark else {
                throw .refused(
                    .cycle,
                    "the object \(climb.id) would be restored inside an object that is now inside it",
                    object: climb.id
                )
            }
            current = above
            steps += 1
            if steps == distance { (mark, steps, distance) = (current, 0, distance * 2) }
        }
    }

    private func leftNeighbour(
        _ restoration: RevertPlan.Restoration,
        _ order: SparseOrder,
        _ slot: Int
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        let record = restoration.record
        func sibling(_ id: ObjectID) throws(StoreError) -> (id: ObjectID, position: Int64)? {
            guard let row = try restoration.table.row(id), row.values.reference(slot) == record.owner else {
                return nil
            }
            return (id, row.places[restoration.place].position)
        }
        if let neighbours = record.neighbours {
            guard let leftID = neighbours.left else { return nil }
            if let left = try sibling(leftID) { return left }
            if let rightID = neighbours.right, let right = try sibling(rightID) {
                return try order.neighbour(before: right.position, excluding: restoration.id)
            }
        }
        return try order.neighbour(before: record.place.position, excluding: restoration.id)
    }
}

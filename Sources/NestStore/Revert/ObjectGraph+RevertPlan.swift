import NestModel
import NestSchema

/// Compares what a transaction did with the current state, and decides what its revert does.
extension ObjectGraph {
    func plan(_ past: PastTransaction, _ context: UndoContext) throws(StoreError) -> RevertPlan {
        var plan = RevertPlan(past.revision, context, self.memory)
        try past.forEach { (change) throws(StoreError) in try self.survey(change, &plan) }
        try past.forEach { (change) throws(StoreError) in
            switch change.kind {
            case .insert: try self.planInsert(change, past, &plan)
            case .update: try self.planUpdate(change, past, &plan)
            case .delete: try self.planDelete(change, past, &plan)
            }
        }
        for strangers in plan.strangers {
            let count = strangers.count - (plan.movedInto[strangers.inside] ?? 0)
            guard count > 0, let row = try strangers.table.row(strangers.inside.owner) else { continue }
            let owner = strangers.inside.owner
            self.prevent("has \(count) of \(strangers.name) added since", owner, row, strangers.table, &plan)
        }
        try plan.keepMovedPairs()
        return plan
    }

    private func survey(_ change: ObjectChange, _ plan: inout RevertPlan) throws(StoreError) {
        let table = try self.table(change.entity)
        switch change.kind {
        case .insert:
            try plan.inserted.insert(change.id)
        case .delete:
            if !table.layout.isJoin, try !table.exists(change.id) { try plan.returning.insert(change.id) }
        case .update:
            for value in change.values where table.layout.partnerSlots[value.slot] >= 0 {
                guard let current = try table.row(change.id)?.values[value.slot] else { continue }
                let key = RevertPlan.SlotKey(id: change.id, slot: value.slot)
                if plan.isForced || current == value.after && !plan.context.hasLeft(key) { plan.partners.insert(key) }
            }
        }
    }

    // MARK: Inserted

    private func planInsert(_ change: ObjectChange, _ past: PastTransaction, _ plan: inout RevertPlan)
        throws(StoreError)
    {
        let table = try self.table(change.entity)
        let layout = table.layout
        if layout.isJoin { return try self.planInsertedPair(change, table, &plan) }
        guard let row = try table.row(change.id) else {
            return plan.report(
                UndoConflict(
                    reason: .deleted,
                    entity: change.entity,
                    object: change.id,
                    label: self.label(change, layout)
                )
            )
        }
        if row.revision != plan.revision, let edited = try self.editedSlot(change, row, table, past, plan) {
            let isHidden = plan.context.confinement?.isRelationship(layout.properties[edited]) ?? false
            let what = isHidden ? "" : " (\(self.name(table, edited)))"
            self.prevent("has been edited since\(what)", change.id, row, table, &plan)
            if plan.isForced { plan.report(self.lost(change.id, row, table)) }
        }
        // A later transaction has set its partner, and the undo leaves that, even if it is the partner that the object
        // was inserted with.
        let isJoined = layout.slots.indices.contains { slot in
            layout.partnerSlots[slot] >= 0 && plan.context.hasLeft(.init(id: change.id, slot: slot))
        }
        if isJoined, !plan.isForced { self.prevent("has another partner since", change.id, row, table, &plan) }
        if plan.isForced {
            for slot in self.reassigned(change, row, layout) {
                plan.reassigned.insert(.init(id: change.id, slot: slot))
            }
        }
        var isTop = true
        for placing in change.placings {
            let isPlaced = self.isPlaced(row, layout, placing.place, by: placing.after)
            let slot = layout.placedSlots[placing.place]
            var isRehomed = false
            if !isPlaced { isRehomed = try self.isRehomed(slot, change.id, row, table, past, plan) }
            if !isPlaced, !isRehomed {
                self.prevent("has been moved since", change.id, row, table, &plan)
                if plan.isForced { plan.report(self.lost(change.id, row, table)) }
            }
            if !isRehomed, let owner = placing.after?.owner, try plan.inserted.contains(owner) {
                isTop = false
                plan.placesInside.insert(.init(table: layout.number, place: placing.place))
            }
        }
        for toMany in layout.toMany {
            let destination = try self.table(toMany.destination)
            var count = 0
            try destination.forEach(ofOwner: change.id, slot: toMany.inverseSlot) { (id, _) throws(StoreError) in
                if try !plan.inserted.contains(id) { count += 1 }
            }
            guard count > 0 else { continue }
            // `plan` subtracts the objects that this transaction itself moved here: they are moved back first.
            let inside = RevertPlan.Inside(
                owner: change.id,
                table: destination.layout.number,
                slot: toMany.inverseSlot
            )
            plan.strangers.append(.init(inside: inside, name: toMany.relationship.name, count: count, table: table))
        }
        for pairs in layout.manyToMany {
            var count = 0
            try self.table(pairs.join).forEach(ofOwner: change.id, slot: pairs.ownerSlot) {
                (id, _) throws(StoreError) in
                if try !plan.inserted.contains(id) { count += 1 }
            }
            guard count > 0 else { continue }
            self.prevent("has \(count) of \(pairs.relationship.name) added since", change.id, row, table, &plan)
        }
        if isTop { plan.addTop(table, change.id) }
    }

    /// Notes that a later change prevents the deletion of an inserted object. A forced undo deletes the object anyway,
    /// any other undo is refused.
    private func prevent(
        _ text: String,
        _ id: ObjectID,
        _ row: ObjectRow,
        _ table: EntityTable,
        _ plan: inout RevertPlan
    ) {
        if plan.isForced {
            plan.forced.append(id)
        } else {
            plan.refuse("\(self.describe(id, row, table)) \(text)")
        }
    }

    /// Returns the slots of an inserted object that have a delete rule, and whose target has changed since. Delete
    /// rules then follow the new target, not the one that the object was inserted with.
    func reassigned(_ change: ObjectChange, _ row: ObjectRow, _ layout: EntityLayout) -> [Int] {
        layout.slots.indices.filter { slot in
            guard case .toOne(let relationship, _) = layout.slots[slot], relationship.deleteRule != .nullify else {
                return false
            }
            let place = layout.placeOfSlot[slot]
            let given =
                place < 0
                ? change.values.first { $0.slot == slot }?.after.referenceValue
                : change.placings.first { $0.place == place }?.after?.owner
            return row.values.reference(slot) != given
        }
    }

    private func planInsertedPair(_ change: ObjectChange, _ table: EntityTable, _ plan: inout RevertPlan)
        throws(StoreError)
    {
        // A pair that no longer exists needs no revert.
        guard let row = try table.row(change.id) else { return }
        let ends = self.ends(row, table)
        let moved = change.placings.first { !self.isPlaced(row, table.layout, $0.place, by: $0.after) }
        if let moved, !plan.isForced {
            plan.keptPairs.insert(ends)
            let slot = table.layout.placedSlots[moved.place]
            plan.report(try self.conflict(.moved, pair: row, table, slot: slot))
        } else {
            if let moved {
                let slot = table.layout.placedSlots[moved.place]
                plan.report(try self.conflict(.overwritten, pair: row, table, slot: slot))
            }
            plan.addPair(table, change.id, ends)
        }
    }

    func ends(_ row: ObjectRow, _ table: EntityTable) -> RevertPlan.Ends {
        .init(table: table.layout.number, objects: Set(row.values.ends))
    }

    // MARK: Updated

    private func planUpdate(_ change: ObjectChange, _ past: PastTransaction, _ plan: inout RevertPlan)
        throws(StoreError)
    {
        let table = try self.table(change.entity)
        let layout = table.layout
        guard let row = try table.row(change.id) else {
            guard !layout.isJoin else { return }
            return plan.report(UndoConflict(reason: .deleted, entity: change.entity, object: change.id))
        }
        // The undo deletes the object, so it need not change it first.
        if layout.isJoin {
            let ends = row.values.ends
            for end in ends where try plan.goes(end, withPair: change.id) { return }
        } else if try plan.goesToo(change.id) {
            return
        }
        var taken = change
        taken.values = []
        taken.placings = []
        for value in change.values {
            let key = RevertPlan.SlotKey(id: change.id, slot: value.slot)
            let current = row.values[value.slot]
            if plan.context.isLeft(key, before: .value(value.before), after: .value(value.after)) { continue }
            // The undo leaves both sides of a one-to-one relationship, or neither.
            let isPartnerLeft = self.partner(in: value.slot, current, layout).map { plan.context.hasLeft($0) } ?? false
            var isExpected = current == value.after && !isPartnerLeft
            if !isExpected { isExpected = try self.isRehomed(value.slot, change.id, row, table, past, plan) }
            guard isExpected || plan.isForced else {
                plan.context.leave(
                    key,
                    wanted: .value(value.before),
                    found: .value(current),
                    try self.conflict(.edited, change.id, row, table, slot: value.slot),
                    after: plan.revision
                )
                continue
            }
            guard current != value.before, let before = try self.valueBefore(value, change.id, row, table, past, &plan)
            else { continue }
            guard before != current else { continue }
            if let fault = layout.patternFault(value.slot, before) {
                // The model has got the expression since.
                plan.refuse("\(self.describe(change.id, row, table)): \(self.name(table, value.slot)) \(fault.text)")
                continue
            }
            if !isExpected, current != value.after {
                plan.report(try self.conflict(.overwritten, change.id, row, table, slot: value.slot))
            }
            taken.values.append(.init(slot: value.slot, before: before, after: current))
            self.noteMovedBack(current, table, value.slot, &plan)
        }
        for placing in change.placings {
            let slot = layout.placedSlots[placing.place]
            let key = RevertPlan.SlotKey(id: change.id, slot: slot)
            if plan.context.isLeft(key, before: .place(placing.before), after: .place(placing.after)) { continue }
            var isExpected = self.isPlaced(row, layout, placing.place, by: placing.after)
            if !isExpected { isExpected = try self.isRehomed(slot, change.id, row, table, past, plan) }
            guard isExpected || plan.isForced else {
                let found = row.values.reference(slot).map {
                    PlaceRecord(owner: $0, place: row.places[placing.place])
                }
                plan.context.leave(
                    key,
                    wanted: .place(placing.before),
                    found: .place(found),
                    try self.conflict(.moved, change.id, row, table, slot: slot),
                    after: plan.revision
                )
                continue
            }
            guard !self.isPlaced(row, layout, placing.place, by: placing.before) else { continue }
            if let record = placing.before {
                guard let restoration = try self.restoration(change.id, row, table, placing.place, record, past, &plan)
                else { continue }
                try plan.restorations.append(restoration)
            } else {
                taken.placings.append(placing)
            }
            if !isExpected { plan.report(try self.conflict(.overwritten, change.id, row, table, slot: slot)) }
            self.noteMovedBack(row.values[slot], table, slot, &plan)
        }
        if !taken.values.isEmpty || !taken.placings.isEmpty { plan.updates.append((taken, table)) }
    }

    /// Returns the other side of a one-to-one relationship.
    private func partner(in slot: Int, _ value: AttributeValue, _ layout: EntityLayout) -> RevertPlan.SlotKey? {
        guard layout.partnerSlots[slot] >= 0, let partner = value.referenceValue else { return nil }
        return .init(id: partner, slot: layout.partnerSlots[slot])
    }

    private func noteMovedBack(_ owner: AttributeValue, _ table: EntityTable, _ slot: Int, _ plan: inout RevertPlan) {
        guard let owner = owner.referenceValue else { return }
        plan.movedInto[.init(owner: owner, table: table.layout.number, slot: slot), default: 0] += 1
    }

    /// Returns the value that the revert gives to a slot of an existing object; `nil` if the revert leaves the slot.
    private func valueBefore(
        _ value: ObjectChange.Value,
        _ id: ObjectID,
        _ row: ObjectRow,
        _ table: EntityTable,
        _ past: PastTransaction,
        _ plan: inout RevertPlan
    ) throws(StoreError) -> AttributeValue? {
        guard let target = value.before.referenceValue,
            case .toOne(let relationship, _) = table.layout.slots[value.slot]
        else { return value.before }
        if table.layout.partnerSlots[value.slot] >= 0 {
            // The undo deletes both objects, perhaps the target first, so it does not join them again before.
            if try plan.goesToo(target), try plan.context.deletions?.inserted.contains(id) ?? false { return .null }
            guard let reason = try self.whyApart(id, target, relationship, table, value.slot, plan) else {
                return value.before
            }
            plan.report(try self.conflict(reason, id, row, table, slot: value.slot))
            return .null
        }
        if try plan.returning.contains(target) { return value.before }
        if try self.table(relationship.destination).exists(target), try !plan.goes(target, with: id, value.slot) {
            if self.isHierarchy(table, value.slot) { plan.climbs.append(.init(table: table, id: id, slot: value.slot)) }
            return value.before
        }
        if let owner = try self.livingOwner(insteadOf: target, table, value.slot, past, plan) {
            plan.climbs.append(.init(table: table, id: id, slot: value.slot))
            plan.context.rehomed.insert(.init(id: id, slot: value.slot))
            plan.report(try self.conflict(.rehomed, id, row, table, slot: value.slot))
            return .reference(owner)
        }
        plan.report(try self.conflict(.ownerGone, id, row, table, slot: value.slot))
        return nil
    }

    /// Returns why two objects of a one-to-one relationship cannot be joined again; `nil` if they can.
    private func whyApart(
        _ id: ObjectID,
        _ target: ObjectID,
        _ relationship: RelationshipDescription,
        _ table: EntityTable,
        _ slot: Int,
        _ plan: RevertPlan
    ) throws(StoreError) -> UndoConflict.Reason? {
        if try plan.returning.contains(target) { return nil }
        if try plan.goes(target, with: id, slot) { return .ownerGone }
        if plan.partners.contains(.init(id: target, slot: table.layout.partnerSlots[slot])) { return nil }
        return try self.table(relationship.destination).exists(target) ? .edited : .ownerGone
    }

    /// Returns how an existing object goes back to its old position; `nil` if the revert leaves it.
    private func restoration(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ table: EntityTable,
        _ place: Int,
        _ record: PlaceRecord,
        _ past: PastTransaction,
        _ plan: inout RevertPlan
    ) throws(StoreError) -> RevertPlan.Restoration? {
        var restoration = RevertPlan.Restoration(table: table, id: id, place: place, record: record)
        let slot = table.layout.placedSlots[place]
        if try plan.returning.contains(record.owner) { return restoration }
        if try self.ownerTable(table, place).exists(record.owner), try !plan.goes(record.owner, with: id, slot) {
            return restoration
        }
        guard let owner = try self.livingOwner(insteadOf: record.owner, table, slot, past, plan) else {
            plan.report(try self.conflict(.ownerGone, id, row, table, slot: slot))
            return nil
        }
        plan.context.rehomed.insert(.init(id: id, slot: slot))
        plan.report(try self.conflict(.rehomed, id, row, table, slot: slot))
        restoration.record = PlaceRecord(owner: owner, place: .none)
        restoration.isRehomed = true
        return restoration
    }

    // MARK: Deleted

    private func planDelete(_ change: ObjectChange, _ past: PastTransaction, _ plan: inout RevertPlan)
        throws(StoreError)
    {
        let table = try self.table(change.entity)
        let layout = table.layout
        if layout.isJoin { return try self.planDeletedPair(change, table, &plan) }
        let label = self.label(change, layout)
        func conflict(_ reason: UndoConflict.Reason, slot: Int?) -> UndoConflict {
            let property = slot.map { layout.properties[$0] }
            return UndoConflict(
                reason: reason,
                entity: change.entity,
                object: change.id,
                property: property,
                label: label
            )
        }
        guard try plan.returning.contains(change.id) else {
            try plan.left.insert(change.id)
            return plan.report(conflict(.present, slot: nil))
        }
        let kind = layout.kind(change.entity)
        if kind.entity.isAbstract { return plan.refuse("\(kind.entity.name) is abstract now") }
        for value in change.values {
            guard let fault = layout.patternFault(value.slot, value.before) else { continue }
            return plan.refuse("the deleted object \(change.id): \(self.name(table, value.slot)) \(fault.text)")
        }
        for value in change.values {
            guard let target = value.before.referenceValue,
                case .toOne(let relationship, _) = layout.slots[value.slot], try !plan.returning.contains(target)
            else { continue }
            if layout.partnerSlots[value.slot] >= 0 {
                guard let reason = try self.whyApart(change.id, target, relationship, table, value.slot, plan) else {
                    continue
                }
                plan.replaced[change.id, default: [:]][value.slot] = .null
                plan.emptied.append((table, change.id))
                plan.report(conflict(reason, slot: value.slot))
            } else if try self.table(relationship.destination).exists(target),
                try !plan.goes(target, with: change.id, value.slot)
            {
                if self.isHierarchy(table, value.slot) {
                    plan.climbs.append(.init(table: table, id: change.id, slot: value.slot))
                }
            } else {
                let owner = try self.ownerInstead(of: target, change, table, value.slot, past, &plan)
                plan.replaced[change.id, default: [:]][value.slot] = owner.map { .reference($0) } ?? .null
                plan.report(conflict(owner == nil ? .ownerGone : .rehomed, slot: value.slot))
                if owner != nil {
                    plan.climbs.append(.init(table: table, id: change.id, slot: value.slot))
                    plan.context.rehomed.insert(.init(id: change.id, slot: value.slot))
                }
            }
        }
        var alive: [RevertPlan.Restoration] = []
        var isInside = false
        for placing in change.placings {
            guard let record = placing.before else { continue }
            var restoration = RevertPlan.Restoration(
                table: table,
                id: change.id,
                place: placing.place,
                record: record
            )
            let slot = layout.placedSlots[placing.place]
            if try plan.returning.contains(record.owner) {
                isInside = true
            } else if try self.ownerTable(table, placing.place).exists(record.owner),
                try !plan.goes(record.owner, with: change.id, slot)
            {
                alive.append(restoration)
            } else if let owner = try self.ownerInstead(of: record.owner, change, table, slot, past, &plan) {
                restoration.record = PlaceRecord(owner: owner, place: .none)
                restoration.isRehomed = true
                plan.context.rehomed.insert(.init(id: change.id, slot: slot))
                plan.report(conflict(.rehomed, slot: slot))
                alive.append(restoration)
            } else {
                plan.replaced[change.id, default: [:]][slot] = .null
                plan.report(conflict(.ownerGone, slot: slot))
            }
        }
        try self.giveBack(change, self.deletedRow(change, table, plan), alive, isInside: isInside, &plan)
    }

    private func planDeletedPair(_ change: ObjectChange, _ table: EntityTable, _ plan: inout RevertPlan)
        throws(StoreError)
    {
        let row = self.deletedRow(change, table, plan)
        // A pair that exists again needs no revert, unless this revert deletes it.
        let pair = try table.objects(where: [0, 1], equal: row.values.decoded).first
        if let pair, try !plan.inserted.contains(pair) {
            try plan.left.insert(change.id)
            return
        }
        for slot in 0..<2 {
            guard let end = row.values.reference(slot),
                case .toOne(let relationship, _) = table.layout.slots[slot],
                try !plan.returning.contains(end)
            else { continue }
            if try self.table(relationship.destination).exists(end), try !plan.goes(end, withPair: change.id) {
                continue
            }
            try plan.left.insert(change.id)
            // Reports the other end, which may still exist.
            return plan.report(try self.conflict(.ownerGone, pair: row, table, slot: 1 - slot))
        }
        if pair != nil { plan.deletedPairs.append((change.id, self.ends(row, table))) }
        let placings = change.placings.filter { $0.before != nil }
        var alive: [RevertPlan.Restoration] = []
        for placing in placings {
            guard let record = placing.before, try !plan.returning.contains(record.owner) else { continue }
            alive.append(RevertPlan.Restoration(table: table, id: change.id, place: placing.place, record: record))
        }
        try self.giveBack(change, row, alive, isInside: alive.count < placings.count, &plan)
    }

    /// Plans to restore a deleted object under existing owners. `isInside`: it also has owners that are restored
    /// themselves.
    private func giveBack(
        _ change: ObjectChange,
        _ row: ObjectRow,
        _ alive: [RevertPlan.Restoration],
        isInside: Bool,
        _ plan: inout RevertPlan
    ) throws(StoreError) {
        guard let table = alive.first?.table else { return }
        var row = row
        for restoration in alive {
            row.values[table.layout.placedSlots[restoration.place]] = .null
            row.places[restoration.place] = .none
        }
        if isInside { plan.partly.append((table, change.id, row)) }
        for restoration in alive {
            var restoration = restoration
            restoration.row = row
            restoration.isOnly = alive.count == 1
            try plan.restorations.append(restoration)
        }
    }
}

extension EncodedValues {
    /// The two objects of a pair, as far as it refers to them.
    fileprivate var ends: [ObjectID] { [0, 1].compactMap { self.reference($0) } }
}

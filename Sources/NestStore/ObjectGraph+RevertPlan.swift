import NestModel

/// What a revert has to do, found by looking at every object of an entry before anything is written.
struct RevertPlan {
    struct Restoration {
        var table: EntityTable
        var id: ObjectID
        var place: Int
        var record: PlaceRecord
        /// The whole object, when it was deleted and comes back, without the owners that are alive; `nil` for one that was
        /// moved.
        var row: ObjectRow?
        /// It goes back under no other owner that is alive.
        var isOnly = true
    }

    /// The objects of one relationship of an owner.
    struct Inside: Hashable {
        var owner: ObjectID
        /// The table of the objects, and their slot that points to the owner.
        var table: EntityNumber
        var slot: Int
    }

    struct PlaceInside: Hashable {
        var table: EntityNumber
        var place: Int
    }

    /// An object that is to be under another again, in a relationship that must not close a circle.
    struct Climb {
        var table: EntityTable
        var id: ObjectID
        var slot: Int
    }

    /// Objects that go back under an owner that is alive, from left to right.
    var restorations: [Restoration] = []
    /// Deleted objects under owners of which some are alive and some come back too, without the former. They are there
    /// before anything is put in its place: others go back next to them.
    var partly: [(table: EntityTable, id: ObjectID, row: ObjectRow)] = []
    var updates: [ObjectChange] = []
    /// Inserted objects that are under no other of them.
    var insertedTops: [(table: EntityTable, id: ObjectID)] = []
    /// The places by which others are under one of them.
    var placesInside: Set<PlaceInside> = []
    /// Deleted pairs of objects that are related again by now: nothing to bring back.
    var satisfied: Set<ObjectID> = []
    /// Objects that others are to lead to and that are not alive: they must come back with this revert.
    var missingOwners: Set<ObjectID> = []
    /// Under which objects that are alive something comes back without having a place there.
    var climbs: [Climb] = []
    /// Inserted objects under which others are now, and how many.
    var strangers: [(inside: Inside, name: String, count: Int, text: String)] = []
    /// How many objects this entry itself moved under each owner: they go back before it is deleted.
    var movedInto: [Inside: Int] = [:]
    var conflicts: [String] = []
    var conflictCount = 0

    mutating func conflict(_ text: String) {
        self.conflictCount += 1
        if self.conflicts.count < Limits.faultsPerErrorMax { self.conflicts.append(text) }
    }
}

extension ObjectGraph {
    func planInsert(
        _ change: ObjectChange,
        _ revision: Revision,
        _ inserted: Set<ObjectID>,
        _ plan: inout RevertPlan
    ) throws {
        let table = try self.table(change.entity)
        let layout = table.layout
        guard let row = try table.row(change.id) else {
            return plan.conflict(
                layout.isJoin
                    ? "a pair of \(layout.name) has been taken away since"
                    : "the object \(change.id) has been deleted since"
            )
        }
        if row.revision != revision { self.refuseEdits(change, row, table, &plan) }
        var isTop = true
        for placing in change.placings {
            self.checkPlace(change.id, row, table, placing, &plan)
            if let owner = placing.after?.owner, inserted.contains(owner), !layout.isJoin {
                isTop = false
                plan.placesInside.insert(.init(table: layout.number, place: placing.place))
            }
        }
        for toMany in layout.toMany {
            let destination = try self.table(toMany.destination)
            var strangers = 0
            try destination.forEach(ofOwner: change.id, slot: toMany.inverseSlot) { id, _ in
                if !inserted.contains(id) { strangers += 1 }
            }
            // What this entry itself has moved in is moved back before.
            if strangers > 0 {
                let text = self.describe(change.id, row, table)
                let inside = RevertPlan.Inside(
                    owner: change.id,
                    table: destination.layout.number,
                    slot: toMany.inverseSlot
                )
                plan.strangers.append((inside, toMany.relationship.name, strangers, text))
            }
        }
        for pairs in layout.manyToMany {
            var strangers = 0
            try self.table(pairs.join).forEach(ofOwner: change.id, slot: pairs.ownerSlot) { id, _ in
                if !inserted.contains(id) { strangers += 1 }
            }
            if strangers > 0 {
                plan.conflict(
                    "\(self.describe(change.id, row, table)) has \(strangers) of \(pairs.relationship.name) that came since"
                )
            }
        }
        if isTop { plan.insertedTops.append((table, change.id)) }
    }

    /// An object inserted by the entry holds other values by now than it was inserted with.
    private func refuseEdits(_ change: ObjectChange, _ row: ObjectRow, _ table: EntityTable, _ plan: inout RevertPlan) {
        for slot in row.values.indices {
            let isEdited: Bool
            let place = table.layout.placeOfSlot[slot]
            if place >= 0 {
                // One that was placed is looked at by its place.
                isEdited = !row.values[slot].isNull && !change.placings.contains { $0.place == place }
            } else {
                let after = change.values.first { $0.slot == slot }?.after ?? .null
                isEdited = row.values[slot] != after
            }
            if isEdited {
                plan.conflict(
                    "\(self.describe(change.id, row, table)) has been edited since (\(self.name(table, slot)))"
                )
            }
        }
    }

    func planUpdate(_ change: ObjectChange, _ plan: inout RevertPlan) throws {
        let table = try self.table(change.entity)
        guard let row = try table.row(change.id) else {
            return plan.conflict("the object \(change.id) has been deleted since")
        }
        for value in change.values where row.values[value.slot] != value.after {
            plan.conflict(
                "\(self.describe(change.id, row, table)) has been edited since (\(self.name(table, value.slot)))"
            )
        }
        for value in change.values {
            try self.planReference(value.before, RevertPlan.Climb(table: table, id: change.id, slot: value.slot), &plan)
            if let owner = value.after.referenceValue {
                plan.movedInto[.init(owner: owner, table: table.layout.number, slot: value.slot), default: 0] += 1
            }
        }
        for placing in change.placings {
            self.checkPlace(change.id, row, table, placing, &plan)
            if let record = placing.before {
                if try !self.table(self.ownerEntity(table, placing.place)).exists(record.owner) {
                    plan.missingOwners.insert(record.owner)
                }
                plan.restorations.append(.init(table: table, id: change.id, place: placing.place, record: record))
            }
            if let owner = placing.after?.owner {
                let slot = table.layout.placedSlots[placing.place]
                plan.movedInto[.init(owner: owner, table: table.layout.number, slot: slot), default: 0] += 1
            }
        }
        plan.updates.append(change)
    }

    /// A reference that comes back: what it leads to must be there, or come back too.
    private func planReference(_ value: AttributeValue, _ climb: RevertPlan.Climb, _ plan: inout RevertPlan) throws {
        guard let target = value.referenceValue,
            case .toOne(let relationship, _) = climb.table.layout.slots[climb.slot]
        else { return }
        guard try self.table(relationship.destination).exists(target) else {
            plan.missingOwners.insert(target)
            return
        }
        if self.isHierarchy(climb.table, climb.slot) { plan.climbs.append(climb) }
    }

    func planDelete(_ change: ObjectChange, _ inserted: Set<ObjectID>, _ plan: inout RevertPlan) throws {
        let table = try self.table(change.entity)
        if try table.exists(change.id) { return plan.conflict("there is an object \(change.id) again") }
        if !table.layout.isJoin, table.layout.kind(change.entity).entity.isAbstract {
            return plan.conflict("\(table.layout.kind(change.entity).entity.name) is abstract by now")
        }
        if table.layout.isJoin {
            let deleted = self.deletedRow(change, table)
            // Not one that this revert takes back.
            let pair = try table.objects(where: [0, 1], equal: deleted.values).first
            if let pair, !inserted.contains(pair) {
                plan.satisfied.insert(change.id)
                return
            }
        }
        var alive: [(place: Int, record: PlaceRecord)] = []
        for placing in change.placings {
            guard let record = placing.before else { continue }
            if try self.table(self.ownerEntity(table, placing.place)).exists(record.owner) {
                alive.append((placing.place, record))
            } else {
                plan.missingOwners.insert(record.owner)
            }
        }
        if !alive.isEmpty {
            var row = self.deletedRow(change, table)
            for (place, _) in alive {
                row.values[table.layout.placedSlots[place]] = .null
                row.places[place] = .none
            }
            let isPartly = change.placings.contains { $0.before != nil && !alive.map(\.place).contains($0.place) }
            if isPartly { plan.partly.append((table, change.id, row)) }
            for (place, record) in alive {
                plan.restorations.append(
                    .init(table: table, id: change.id, place: place, record: record, row: row, isOnly: alive.count == 1)
                )
            }
        }
        for value in change.values {
            try self.planReference(value.before, RevertPlan.Climb(table: table, id: change.id, slot: value.slot), &plan)
        }
    }

    /// Someone has placed the object since: not by new neighbours, but by another placement of it.
    private func checkPlace(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ table: EntityTable,
        _ placing: ObjectChange.Placing,
        _ plan: inout RevertPlan
    ) {
        let owner = row.values[table.layout.placedSlots[placing.place]].referenceValue
        let isSame =
            owner == placing.after?.owner
            && (placing.after.map { $0.isOfNoOrder || row.places[placing.place].stamp == $0.place.stamp } ?? true)
        if !isSame { plan.conflict("\(self.describe(id, row, table)) has been moved since") }
    }

    func ownerEntity(_ table: EntityTable, _ place: Int) -> EntityNumber {
        guard case .toOne(let relationship, _) = table.layout.slots[table.layout.placedSlots[place]] else {
            preconditionFailure("a placed slot is a to-one relationship")
        }
        return relationship.destination
    }

    private func name(_ table: EntityTable, _ slot: Int) -> String {
        table.layout.propertyName(table.layout.properties[slot]) ?? ""
    }

    private func describe(_ id: ObjectID, _ row: ObjectRow, _ table: EntityTable) -> String {
        if table.layout.isJoin { return "a pair of \(table.layout.name)" }
        let label = table.layout.kind(row.entity).labelSlot.flatMap { row.values[$0].stringValue } ?? ""
        return label.isEmpty ? "the object \(id)" : "\(Self.quote(label)) (\(id))"
    }

    func deletedRow(_ change: ObjectChange, _ table: EntityTable) -> ObjectRow {
        // A deletion holds the whole object.
        var row = change.touched(table.layout, revision: self.revision).before!
        row.revision = self.revision
        // It may have been deleted before a later version of the model gave it a property.
        let kind = table.layout.kind(change.entity)
        for slot in kind.requiredSlots where row.values[slot].isNull {
            row.values[slot] = kind.nowSlots.contains(slot) ? .date(self.time) : kind.defaultValues[slot]
        }
        for placing in change.placings where placing.before?.isOfNoOrder == true {
            row.places[placing.place].stamp = self.revision.rawValue
        }
        return row
    }
}

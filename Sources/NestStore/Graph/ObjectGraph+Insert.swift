import NestModel
import NestSchema

/// Inserts, updates, and finds or creates objects.
extension ObjectGraph {
    /// Inserts an object. `reserved`: its id, which the session has reserved; `nil`: the next one.
    func insert(
        _ entity: EntityNumber,
        as reserved: ObjectID? = nil,
        values: [PropertyAssignment],
        placements: [Placement]
    ) throws(StoreError) {
        let table = try self.table(entity)
        let kind = try self.concreteKind(entity, table)
        var assigned = try self.assignments(table.layout, kind, for: .insert, values: values, placements: placements)
        self.addResult(try self.insert(table, kind, as: reserved, &assigned), isFound: false)
        assigned.clear()
        swap(&assigned, &self.spareAssignments)
    }

    private func concreteKind(_ entity: EntityNumber, _ table: EntityTable) throws(StoreError) -> EntityLayout.Kind {
        guard !table.layout.isJoin else {
            throw .refused(.unknownEntity, "the model has no entity number \(entity.rawValue)")
        }
        let kind = table.layout.kind(entity)
        guard !kind.entity.isAbstract else {
            let below = self.layout.model.kinds(of: entity).filter { !$0.isAbstract }.map(\.name)
            throw .refused(
                .invalid,
                "\(kind.entity.name) is abstract"
                    + (below.isEmpty ? "" : ": insert one of \(below.joined(separator: ", "))")
            )
        }
        return kind
    }

    private func insert(
        _ table: EntityTable,
        _ kind: EntityLayout.Kind,
        as reserved: ObjectID? = nil,
        _ assigned: inout Assignments
    ) throws(StoreError) -> ObjectID {
        let layout = table.layout
        let entity = kind.number
        if let root = layout.root { try self.putUnder(root, layout, &assigned) }
        var row = ObjectRow(
            entity: entity,
            revision: self.revision,
            values: self.newValues(layout, kind, &assigned),
            places: SparsePlaces(count: layout.placedSlots.count)
        )
        if !self.reportsMissingAtEnd { try self.refuseMissing(layout, kind, row, placements: assigned.placements) }
        let id = if let reserved { try self.useReserved(reserved) } else { try self.newObjectID() }
        for placement in assigned.placements {
            row.places[placement.place] = try self.place(
                table,
                place: placement.place,
                owner: placement.owner,
                at: placement.at,
                moving: nil
            )
        }
        try table.insert(id, row)
        self.recorder.recordInsert(id, consume row)
        for placement in assigned.placements {
            self.recorder.notePlaced(table.layout.number, id, owner: placement.owner, place: placement.place)
        }
        try self.joinPartners(table, id, assigned)
        return id
    }

    /// Returns the values of a new object. One-to-one partners are not among them: they are joined after the object has
    /// been inserted.
    private func newValues(
        _ layout: EntityLayout,
        _ kind: EntityLayout.Kind,
        _ assigned: inout Assignments
    ) -> EncodedValues {
        kind.defaultValues.withSlots { defaults in
            withUnsafeTemporaryAllocation(of: Int.self, capacity: defaults.count) { sources in
                // 0: the default; above: the number of a value, counted from 1; below: that of a placement.
                sources.initialize(repeating: 0)
                let now = Int.max
                for slot in kind.nowSlots { sources[slot] = now }
                var max =
                    defaults.whole.count + (1 + SmallBytes.varintMax)
                    * (assigned.placements.count + kind.nowSlots.count)
                // By index: an iterator would copy each value.
                for index in assigned.values.indices where layout.partnerSlots[assigned.values[index].slot] < 0 {
                    sources[assigned.values[index].slot] = index + 1
                    max += assigned.values[index].value.encodedMax
                }
                for index in assigned.placements.indices {
                    sources[layout.placedSlots[assigned.placements[index].place]] = -1 - index
                }
                return EncodedValues(count: defaults.count, atMost: max) { slot, bytes in
                    let source = sources[slot]
                    if source == 0 {
                        bytes.write(raw: defaults[slot].bytes)
                    } else if source == now {
                        bytes.write(value: .date(self.time))
                    } else if source > 0 {
                        bytes.write(value: assigned.values[source - 1].value)
                    } else {
                        bytes.write(byte: ValueTag.reference)
                        bytes.write(objectID: assigned.placements[-1 - source].owner)
                    }
                }
            }
        }
    }

    /// Puts an object that is inserted without an owner under the root, as the last one.
    private func putUnder(
        _ root: RootDescription,
        _ layout: EntityLayout,
        _ assigned: inout Assignments
    ) throws(StoreError) {
        guard let slot = layout.slot(of: root.relationship) else { return }
        if let above = assigned.values.first(where: { $0.slot == slot }) {
            guard !above.value.isNull else { throw Self.refusal([Self.rootless(layout, root, nil)]) }
            return
        }
        if let place = layout.placedSlots.firstIndex(of: slot) {
            guard !assigned.placements.contains(where: { $0.place == place }) else { return }
            assigned.placements.append((place, root.object, .last))
        } else {
            assigned.values.append((slot, .reference(root.object)))
        }
    }

    static func rootless(_ layout: EntityLayout, _ root: RootDescription, _ object: ObjectID?) -> ValidationFault {
        let name = layout.entity.propertyName(root.relationship) ?? ""
        return ValidationFault(
            entity: layout.number,
            property: root.relationship,
            object: object,
            reason: .required,
            message: "\(layout.name).\(name) cannot be null: every object must be under the root object \(root.object)"
        )
    }

    func update(_ id: ObjectID, values: [PropertyAssignment]) throws(StoreError) {
        let (table, old) = try self.require(id)
        let layout = table.layout
        let assigned = try self.assignments(layout, layout.kind(old.entity), for: .update(id), values: values)
        var new = old
        for (slot, value) in assigned.values where layout.partnerSlots[slot] < 0 {
            new.values[slot] = value
            guard case .toOne(_, let place) = layout.slots[slot] else { continue }
            if let root = layout.root, root.object == id, layout.slot(of: root.relationship) == slot {
                throw Self.isRoot(id, "moved")
            }
            if let owner = value.referenceValue { try self.refuseCycle(id, under: owner, slot, table) }
            if let place, !old.values.isNull(slot) {
                try self.leave(table, id, old, place: place)
                new.places[place] = .none
            }
        }
        if new.values != old.values {
            try self.write(table, id, from: old, to: new)
            self.flushDepartures(id)
        }
        try self.joinPartners(table, id, assigned)
        for placement in assigned.placements {
            try self.move(table, id, place: placement.place, owner: placement.owner, at: placement.at)
        }
    }

    static func isRoot(_ id: ObjectID, _ done: String) -> StoreError {
        .refused(.rootObject, "the root object \(id) cannot be \(done)", object: id)
    }

    // MARK: One-to-one

    /// Sets one-to-one relationships in the order of the request. Both objects of such a relationship refer to each
    /// other.
    private func joinPartners(_ table: EntityTable, _ id: ObjectID, _ assigned: Assignments) throws(StoreError) {
        for (slot, value) in assigned.values where table.layout.partnerSlots[slot] >= 0 {
            try self.joinPartners(table, id, slot, value.referenceValue)
        }
    }

    /// Separates an object and its new partner from their old partners, then joins them.
    private func joinPartners(_ table: EntityTable, _ id: ObjectID, _ slot: Int, _ new: ObjectID?) throws(StoreError) {
        guard case .toOne(let relationship, _) = table.layout.slots[slot] else { return }
        let partners = try self.table(relationship.destination)
        let partnerSlot = table.layout.partnerSlots[slot]
        let old = try table.row(id)?.values.reference(slot)
        guard old != new else { return }
        if let old {
            try self.setReference(table, id, slot, from: old, to: nil)
            try self.setReference(partners, old, partnerSlot, from: id, to: nil)
        }
        guard let new else { return }
        if let previous = try partners.row(new)?.values.reference(partnerSlot) {
            try self.setReference(partners, new, partnerSlot, from: previous, to: nil)
            try self.setReference(table, previous, slot, from: new, to: nil)
        }
        try self.setReference(table, id, slot, from: nil, to: new)
        try self.setReference(partners, new, partnerSlot, from: nil, to: id)
    }

    /// Sets an unordered to-one slot that holds `old`. Does nothing if it holds something else by now.
    func setReference(
        _ table: EntityTable,
        _ id: ObjectID,
        _ slot: Int,
        from old: ObjectID?,
        to new: ObjectID?
    ) throws(StoreError) {
        guard let row = try table.row(id), row.values.reference(slot) == old else { return }
        var changed = row
        changed.values[slot] = new.map { .reference($0) } ?? .null
        try self.write(table, id, from: row, to: changed)
    }

    // MARK: Find or create

    /// Finds the first object by id whose stored properties equal all of `match`, or inserts a new one.
    func findOrCreate(
        _ entity: EntityNumber,
        match: [PropertyAssignment],
        values: [PropertyAssignment],
        placements: [Placement]
    ) throws(StoreError) {
        let table = try self.table(entity)
        let layout = table.layout
        guard !layout.isJoin else {
            throw .refused(.unknownEntity, "the model has no entity number \(entity.rawValue)")
        }
        let kind = layout.kind(entity)
        guard !match.isEmpty else { throw .refused(.invalid, "find-or-create needs at least one property to match") }
        // Values that are needed only to create are checked first too: whether a request is valid must not depend on
        // the existing objects.
        var all = try self.assignments(layout, kind, for: .findOrCreate, values: match + values, placements: placements)
        let wanted = try self.assignments(layout, kind, for: .findOrCreate, values: match)
        var slots = wanted.values.map(\.slot)
        var searched = wanted.values.map(\.value)
        for placement in wanted.placements {
            slots.append(layout.placedSlots[placement.place])
            searched.append(.reference(placement.owner))
        }
        let entities = self.layout.model.kinds(of: entity).map(\.number)
        let kinds = entities.count == layout.kinds.count ? nil : entities
        if let found = try table.objects(where: slots, equal: searched, entities: kinds).first {
            return self.addResult(found, isFound: true)
        }
        _ = try self.concreteKind(entity, table)
        self.addResult(try self.insert(table, kind, &all), isFound: false)
    }
}

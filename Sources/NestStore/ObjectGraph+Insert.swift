import NestModel

extension ObjectGraph {
    func insert(_ entity: EntityNumber, values: [PropertyAssignment], placements: [Placement]) throws {
        let table = try self.table(entity)
        let layout = table.layout
        var assigned = try self.assignments(layout, values: values, placements: placements)
        var row = ObjectRow(
            revision: self.revision,
            values: layout.defaultValues,
            places: [SparsePlace](repeating: .none, count: layout.placedSlots.count)
        )
        for (slot, value) in assigned.values { row.values[slot] = value }
        if let root = layout.root { try self.hangUnder(root, layout, row, &assigned) }
        try self.requireValues(layout, row, placed: assigned.placements.map(\.place))
        let id = try self.newObjectID()
        for placement in assigned.placements {
            row.values[layout.placedSlots[placement.place]] = .reference(placement.owner)
            row.places[placement.place] = try self.place(
                table,
                place: placement.place,
                owner: placement.owner,
                at: placement.at,
                moving: nil
            )
        }
        try table.insert(id, row)
        try self.recorder.record(entity, id, before: nil, after: row)
        for placement in assigned.placements {
            self.recorder.notePlaced(entity, id, owner: placement.owner, place: placement.place)
        }
        self.inserted.append(id)
    }

    /// What is inserted without an owner goes under the root, last.
    private func hangUnder(
        _ root: RootDescription,
        _ layout: EntityLayout,
        _ row: ObjectRow,
        _ assigned: inout Assignments
    ) throws {
        guard let slot = layout.slot(of: root.relationship) else { return }
        if assigned.values.contains(where: { $0.slot == slot && $0.value.isNull }) { throw Self.rootless(layout, root) }
        guard row.values[slot].isNull else { return }
        if let place = layout.placedSlots.firstIndex(of: slot) {
            guard !assigned.placements.contains(where: { $0.place == place }) else { return }
            assigned.placements.append((place, root.object, .last))
        } else {
            assigned.values.append((slot, .reference(root.object)))
        }
    }

    static func rootless(_ layout: EntityLayout, _ root: RootDescription) -> NestError {
        let name = layout.entity.propertyName(root.relationship) ?? ""
        return NestError(
            .validationFailed,
            "\(layout.name).\(name) cannot be null: everything hangs under the root object \(root.object)"
        )
    }

    private func requireValues(_ layout: EntityLayout, _ row: ObjectRow, placed: [Int]) throws {
        var faults: [String] = []
        for slot in layout.columns.indices where row.values[slot].isNull {
            switch layout.slots[slot] {
            case .attribute(let attribute) where !attribute.isOptional:
                faults.append("\(layout.name).\(attribute.name) is required")
            case .toOne(let relationship, let place) where !relationship.isOptional:
                if place == nil || !placed.contains(place!) {
                    faults.append("\(layout.name).\(relationship.name) is required")
                }
            default:
                break
            }
        }
        guard faults.isEmpty else { throw Self.refusal(.validationFailed, faults) }
    }

    func update(_ id: ObjectID, values: [PropertyAssignment]) throws {
        let (table, old) = try self.require(id)
        let layout = table.layout
        let assigned = try self.assignments(layout, values: values)
        var new = old
        for (slot, value) in assigned.values {
            new.values[slot] = value
            guard case .toOne(_, let place) = layout.slots[slot] else { continue }
            if let root = layout.root, layout.slot(of: root.relationship) == slot {
                throw id == root.object ? Self.isRoot(id, "moved") : Self.rootless(layout, root)
            }
            if let owner = value.referenceValue { try self.refuseCycle(id, under: owner, slot, table) }
            if let place, !old.values[slot].isNull {
                try self.leave(table, id, old, place: place)
                new.places[place] = .none
            }
        }
        if new.values != old.values {
            try self.write(table, id, from: old, to: new)
            self.flushDepartures(id)
        }
        for placement in assigned.placements {
            try self.move(table, id, place: placement.place, owner: placement.owner, at: placement.at)
        }
    }

    static func isRoot(_ id: ObjectID, _ done: String) -> NestError {
        NestError(.rootObject, "the root object \(id) cannot be \(done)", object: id)
    }
}

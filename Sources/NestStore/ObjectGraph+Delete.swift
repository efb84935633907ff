import NestModel

extension ObjectGraph {
    private struct Doomed {
        var table: EntityTable
        var id: ObjectID
        /// The place by which it was reached, with its neighbours there.
        var reached: (place: Int, neighbours: Neighbours)?
    }

    /// Deletes an object and everything its delete rules reach, at any depth: a list of what is left to do, no recursion.
    func delete(_ id: ObjectID) throws {
        let (table, _) = try self.require(id)
        var doomed = [Doomed(table: table, id: id)]
        /// (what points here, slot, object): must be empty in the end.
        var denials: [(table: EntityTable, slot: Int, id: ObjectID, name: String)] = []
        while let next = doomed.popLast() {
            guard let row = try next.table.row(next.id) else { continue }
            let layout = next.table.layout
            if layout.root?.object == next.id { throw Self.isRoot(next.id, "deleted") }
            for toMany in layout.toMany {
                let destination = try self.table(toMany.destination)
                switch toMany.relationship.deleteRule {
                case .cascade:
                    try self.doom(next.id, toMany, destination, &doomed)
                case .nullify:
                    try self.nullify(next.id, toMany, destination)
                case .deny:
                    denials.append(
                        (destination, toMany.inverseSlot, next.id, "\(layout.name).\(toMany.relationship.name)")
                    )
                }
            }
            for (slot, description) in layout.slots.enumerated() {
                guard case .toOne(let relationship, _) = description, relationship.deleteRule == .cascade,
                    let target = row.values[slot].referenceValue
                else { continue }
                doomed.append(Doomed(table: try self.table(relationship.destination), id: target))
            }
            try self.deleteRow(next, row)
        }
        for denial in denials where try denial.table.hasObject(ofOwner: denial.id, slot: denial.slot) {
            let count = try denial.table.count(ofOwner: denial.id, slot: denial.slot)
            throw NestError(
                .deleteDenied,
                "the object \(denial.id) still has \(count) \(denial.name), which deny its deletion",
                object: denial.id
            )
        }
    }

    private func deleteRow(_ next: Doomed, _ row: ObjectRow) throws {
        let layout = next.table.layout
        var neighbours: [Neighbours?] = []
        for (place, slot) in layout.placedSlots.enumerated() {
            guard !row.values[slot].isNull, !self.recorder.isPlaced(layout.number, next.id, place: place) else {
                neighbours.append(nil)
                continue
            }
            if let reached = next.reached, reached.place == place {
                neighbours.append(reached.neighbours)
            } else {
                neighbours.append(try self.departure(next.table, next.id, row, place: place))
            }
        }
        try next.table.delete(next.id)
        try self.recorder.recordDeletion(layout.number, next.id, before: row, neighbours: neighbours)
    }

    /// Adds the objects of a cascading relationship, so that the first is taken next.
    private func doom(
        _ owner: ObjectID,
        _ toMany: EntityLayout.ToMany,
        _ destination: EntityTable,
        _ doomed: inout [Doomed]
    ) throws {
        var objects: [ObjectID] = []
        try destination.forEach(ofOwner: owner, slot: toMany.inverseSlot) { id, _ in objects.append(id) }
        guard !objects.isEmpty else { return }
        guard let place = toMany.inversePlace,
            self.recorder.isUndisturbed(toMany.destination, owner: owner, place: place)
        else {
            // Neighbours, if any, are looked up one by one, with what this request has moved in mind.
            for id in objects.reversed() { doomed.append(Doomed(table: destination, id: id)) }
            return
        }
        for (index, id) in objects.enumerated().reversed() {
            let neighbours = Neighbours(
                left: index > 0 ? objects[index - 1] : nil,
                right: index + 1 < objects.count ? objects[index + 1] : nil
            )
            doomed.append(Doomed(table: destination, id: id, reached: (place, neighbours)))
        }
    }

    private func nullify(_ owner: ObjectID, _ toMany: EntityLayout.ToMany, _ destination: EntityTable) throws {
        var objects: [ObjectID] = []
        try destination.forEach(ofOwner: owner, slot: toMany.inverseSlot) { id, _ in objects.append(id) }
        guard case .toOne(let relationship, let place) = destination.layout.slots[toMany.inverseSlot] else { return }
        for id in objects {
            guard relationship.isOptional else {
                throw NestError(
                    .validationFailed,
                    "\(destination.layout.name).\(relationship.name) is required: the object \(id) needs \(owner)",
                    object: id
                )
            }
            guard let old = try destination.row(id) else { continue }
            if let place { try self.leave(destination, id, old, place: place) }
            var new = old
            new.values[toMany.inverseSlot] = .null
            if let place { new.places[place] = .none }
            try self.write(destination, id, from: old, to: new)
            self.flushDepartures(id)
        }
    }
}

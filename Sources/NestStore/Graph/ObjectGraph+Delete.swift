import NestModel
import NestSchema

/// Deletes objects, and everything that delete rules reach.
extension ObjectGraph {
    /// A *deny* relationship of an object that is about to be deleted, which is checked after the cascade.
    private struct Denial {
        enum Remaining {
            /// Objects that point back, or pairs.
            case pointing(EntityTable, slot: Int)
            case target(EntityTable, ObjectID)
        }

        var id: ObjectID
        var name: String
        var remaining: Remaining
    }

    /// Deletes an object and everything its delete rules reach, at any depth: with a queue, without recursion.
    func delete(_ id: ObjectID) throws(StoreError) {
        if let preparation, let removal = preparation.write as? PreparedRemoval, removal.past == nil,
            removal.tops == [id]
        {
            return try self.remove(removal, preparation)
        }
        try self.delete([id], isTakenBack: false)
    }

    /// Deletes several objects at once. None of them denies the deletion of another, and neither does an object in
    /// `going`, which is deleted next.
    func delete(_ ids: [ObjectID], going: ObjectIDSet, _ losses: RevertLosses) throws(StoreError) {
        try self.delete(ids, isTakenBack: false, going: going, losses)
    }

    /// Deletes an object whose insertion an undo reverts, with all objects below it. These were inserted with it, and
    /// no other objects are left there. Delete rules are not followed any further.
    func takeBack(_ id: ObjectID, _ losses: RevertLosses) throws(StoreError) {
        try self.delete([id], isTakenBack: true, losses)
    }

    private func delete(
        _ ids: [ObjectID],
        isTakenBack: Bool,
        going: ObjectIDSet? = nil,
        _ losses: RevertLosses? = nil
    ) throws(StoreError) {
        let queue = CascadeQueue(self.memory)
        for id in ids {
            let (table, row) = try self.require(id)
            let label = table.layout.kind(row.entity).labelSlot.flatMap { row.values[$0].stringValue }
            self.deleted = (id, row.entity, label)
            try self.enqueue(id, table, queue)
            if ids.count == 1, self.layout.cascadesAsTree[self.index(of: table)] {
                return try self.deleteTree(id, queue, losses)
            }
        }
        var denials: [Denial] = []
        while let next = try queue.pop() {
            let table = self.tables[next.table]
            guard let row = try table.row(next.id) else { continue }
            let layout = table.layout
            if layout.root?.object == next.id { throw Self.isRoot(next.id, "deleted") }
            if let losses { try self.note(deleted: next.id, row, table, losses) }
            if isTakenBack {
                for toMany in layout.toMany {
                    try self.enqueue(next.id, toMany, try self.table(toMany.destination), queue)
                }
                for pairs in layout.manyToMany { try self.deletePairs(pairs, of: next.id, losses) }
                try self.deleteRow(table, next.id, row, reached: next.reached)
                continue
            }
            for toMany in layout.toMany { try self.follow(toMany, of: next.id, layout, queue, &denials, losses) }
            for pairs in layout.manyToMany { try self.follow(pairs, of: next.id, layout, queue, &denials, losses) }
            for (slot, description) in layout.slots.enumerated() {
                guard case .toOne(let relationship, _) = description, let target = row.values.reference(slot)
                else {
                    continue
                }
                let partners = try self.table(relationship.destination)
                let isGiven = try losses?.isGiven(next.id, slot) ?? false
                switch relationship.deleteRule {
                case _ where isGiven:
                    break
                case .cascade:
                    if try losses?.isPutBack(target) != true { try self.enqueue(target, partners, queue) }
                case .deny:
                    let name = layout.fullName(slot, row.entity)
                    denials.append(Denial(id: next.id, name: name, remaining: .target(partners, target)))
                case .nullify:
                    break
                }
                let partnerSlot = layout.partnerSlots[slot]
                // This is right for a partner that the cascade reaches too: it will be deleted, or the whole request is
                // refused.
                if partnerSlot >= 0, target != next.id {
                    try self.part(partners, target, partnerSlot, from: next.id, losses)
                }
            }
            try self.deleteRow(table, next.id, row, reached: next.reached)
        }
        for denial in denials { try self.check(denial, going) }
    }

    /// Empties a one-to-one slot if it holds `partner`.
    func part(
        _ table: EntityTable,
        _ id: ObjectID,
        _ slot: Int,
        from partner: ObjectID,
        _ losses: RevertLosses?
    ) throws(StoreError) {
        if let losses, try table.row(id)?.values.reference(slot) == partner {
            try self.note(emptied: id, slot, table, losses)
        }
        try self.setReference(table, id, slot, from: partner, to: nil)
    }

    private func check(_ denial: Denial, _ going: ObjectIDSet?) throws(StoreError) {
        func isGoing(_ id: ObjectID) throws(StoreError) -> Bool { try going?.contains(id) ?? false }
        var count = 0
        switch denial.remaining {
        case .pointing(let table, let slot) where going == nil: count = try table.count(ofOwner: denial.id, slot: slot)
        case .pointing(let table, let slot):
            try table.forEach(ofOwner: denial.id, slot: slot) { (id, _) throws(StoreError) in
                count += try isGoing(id) ? 0 : 1
            }
        case .target(let table, let target): if try !isGoing(target), try table.exists(target) { count = 1 }
        }
        guard count > 0 else { return }
        throw .refused(
            .deleteDenied,
            "the object \(denial.id) cannot be deleted while \(denial.name) still refers to "
                + "\(count == 1 ? "1 object" : "\(count) objects")",
            object: denial.id
        )
    }

    private func follow(
        _ toMany: EntityLayout.ToMany,
        of id: ObjectID,
        _ layout: EntityLayout,
        _ queue: CascadeQueue,
        _ denials: inout [Denial],
        _ losses: RevertLosses?
    ) throws(StoreError) {
        let destination = try self.table(toMany.destination)
        switch toMany.relationship.deleteRule {
        case .cascade:
            try self.enqueue(id, toMany, destination, queue)
        case .nullify:
            try self.nullify(id, toMany, destination, losses)
        case .deny:
            let name = layout.relationshipName(toMany.relationship.number)
            denials.append(Denial(id: id, name: name, remaining: .pointing(destination, slot: toMany.inverseSlot)))
        }
    }

    /// Deletes the pairs of an object. The objects at their other ends follow the delete rule.
    private func follow(
        _ pairs: EntityLayout.ManyToMany,
        of id: ObjectID,
        _ layout: EntityLayout,
        _ queue: CascadeQueue,
        _ denials: inout [Denial],
        _ losses: RevertLosses?
    ) throws(StoreError) {
        let table = try self.table(pairs.join)
        var ids: [ObjectID] = []
        try table.forEach(ofOwner: id, slot: pairs.ownerSlot) { pair, _ in ids.append(pair) }
        if pairs.relationship.deleteRule == .deny {
            for pair in ids {
                guard let target = try table.row(pair)?.values.reference(pairs.targetSlot), target != id else {
                    continue
                }
                let name = layout.relationshipName(pairs.relationship.number)
                denials.append(
                    Denial(id: id, name: name, remaining: .target(try self.table(pairs.destination), target))
                )
            }
        }
        if pairs.relationship.deleteRule == .cascade {
            for pair in ids {
                guard let target = try table.row(pair)?.values.reference(pairs.targetSlot) else { continue }
                try self.enqueue(target, try self.table(pairs.destination), queue)
            }
        }
        try self.deletePairs(pairs, of: id, losses)
    }

    /// Deletes the pairs whose owner is the object. If the relationship is its own inverse, deletes all pairs of the
    /// object.
    private func deletePairs(_ pairs: EntityLayout.ManyToMany, of id: ObjectID, _ losses: RevertLosses?)
        throws(StoreError)
    {
        let table = try self.table(pairs.join)
        for slot in pairs.isSymmetric ? [pairs.ownerSlot, pairs.targetSlot] : [pairs.ownerSlot] {
            var ids: [ObjectID] = []
            try table.forEach(ofOwner: id, slot: slot) { pair, _ in ids.append(pair) }
            for pair in ids { try self.deletePair(table, pair, losses) }
        }
    }

    func deleteRow(
        _ table: EntityTable,
        _ id: ObjectID,
        _ row: ObjectRow,
        reached: (place: Int, neighbours: Neighbours)?
    ) throws(StoreError) {
        let neighbours = try self.departingNeighbours(table, id, row, reached: reached)
        try table.delete(id)
        try self.recorder.recordDeletion(row.entity, id, before: row, neighbours: neighbours)
    }

    /// Returns the neighbours of an object about to be deleted, by place. Calls `willRead` before it reads any of them.
    func departingNeighbours(
        _ table: EntityTable,
        _ id: ObjectID,
        _ row: ObjectRow,
        reached: (place: Int, neighbours: Neighbours)?,
        willRead: () throws(StoreError) -> Void = {}
    ) throws(StoreError) -> [Neighbours?] {
        let layout = table.layout
        var neighbours: [Neighbours?] = []
        neighbours.reserveCapacity(layout.placedSlots.count)
        for (place, slot) in layout.placedSlots.enumerated() {
            guard !row.values.isNull(slot), !self.recorder.isPlaced(layout.number, id, place: place) else {
                neighbours.append(nil)
                continue
            }
            if let reached, reached.place == place {
                neighbours.append(reached.neighbours)
            } else {
                try willRead()
                neighbours.append(try self.departure(table, id, row, place: place))
            }
        }
        return neighbours
    }

    /// Deletes a tree that has no relationships to other objects, in runs. Deletes the row of the top last: while it
    /// exists, SQLite need not look up the owners of its children.
    private func deleteTree(_ top: ObjectID, _ queue: CascadeQueue, _ losses: RevertLosses?) throws(StoreError) {
        var topTable: EntityTable?
        let runs = CascadeRuns(self.tables, self.layout)
        while let next = try queue.pop() {
            let table = self.tables[next.table]
            let layout = table.layout
            if layout.root?.object == next.id { throw Self.isRoot(next.id, "deleted") }
            guard let row = try runs.row(next.id, table) else { continue }
            if let losses { try self.note(deleted: next.id, row, table, losses) }
            for (index, toMany) in layout.toMany.enumerated() {
                let children = runs.children(of: next.id, index)
                try self.enqueue(next.id, toMany, try self.table(toMany.destination), queue, known: children)
            }
            let neighbours = try self.departingNeighbours(
                table,
                next.id,
                row,
                reached: next.reached,
                willRead: runs.flush
            )
            if next.id == top { topTable = table } else { try runs.delete(next.id, table) }
            try self.recorder.recordDeletion(row.entity, next.id, before: row, neighbours: neighbours)
        }
        try runs.flush()
        try topTable?.delete(top)
    }

    private func enqueue(_ id: ObjectID, _ table: EntityTable, _ queue: CascadeQueue) throws(StoreError) {
        try queue.push(id, table: self.index(of: table))
    }

    /// Adds the objects of a cascading relationship to the queue, so that the first of them is next. `known`: the
    /// objects, if they have been read.
    private func enqueue(
        _ owner: ObjectID,
        _ toMany: EntityLayout.ToMany,
        _ destination: EntityTable,
        _ queue: CascadeQueue,
        known: ArraySlice<ObjectID>? = nil
    ) throws(StoreError) {
        if let known, known.isEmpty { return }
        // `nil`: the request has changed this order, so the neighbours are read one by one, without the objects that it
        // has moved.
        let place = toMany.inversePlace.flatMap { place in
            self.recorder.isUndisturbed(destination.layout.number, owner: owner, place: place) ? place : nil
        }
        try queue.push(table: self.index(of: destination), place: place) { (push) throws(StoreError) in
            if let known {
                for id in known.reversed() { try push(id) }
            } else {
                try destination.forEachReversed(ofOwner: owner, slot: toMany.inverseSlot, push)
            }
        }
    }

    private func nullify(
        _ owner: ObjectID,
        _ toMany: EntityLayout.ToMany,
        _ destination: EntityTable,
        _ losses: RevertLosses?
    ) throws(StoreError) {
        var objects: [ObjectID] = []
        try destination.forEach(ofOwner: owner, slot: toMany.inverseSlot) { id, _ in objects.append(id) }
        guard case .toOne(_, let place) = destination.layout.slots[toMany.inverseSlot] else { return }
        for id in objects {
            // A missing required owner is reported at the end of the request, if the object still exists then.
            guard let old = try destination.row(id) else { continue }
            if let losses { try self.note(emptied: id, toMany.inverseSlot, destination, losses) }
            if let place { try self.leave(destination, id, old, place: place) }
            var new = old
            new.values[toMany.inverseSlot] = .null
            if let place { new.places[place] = .none }
            try self.write(destination, id, from: old, to: new)
            self.flushDepartures(id)
        }
    }
}

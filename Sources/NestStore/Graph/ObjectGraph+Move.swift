import NestModel
import NestSchema

/// Moves objects in ordered relationships.
extension ObjectGraph {
    func move(_ id: ObjectID, _ placement: Placement) throws(StoreError) {
        let (table, row) = try self.require(id)
        let kind = table.layout.kind(row.entity)
        let assigned = try self.assignments(table.layout, kind, for: .update(id), values: [], placements: [placement])
        for placement in assigned.placements {
            try self.move(table, id, place: placement.place, owner: placement.owner, at: placement.at)
        }
    }

    /// Puts an object at a position under an owner. Writes nothing if it is there already.
    func move(_ table: EntityTable, _ id: ObjectID, place: Int, owner: ObjectID, at: Place) throws(StoreError) {
        // The row is read again: an earlier step of the same update may have changed it.
        guard let old = try table.row(id) else { throw Self.notFound(id) }
        let slot = table.layout.placedSlots[place]
        if let root = table.layout.root, root.object == id, table.layout.slot(of: root.relationship) == slot {
            throw Self.isRoot(id, "moved")
        }
        let isSameOwner = old.values.reference(slot) == owner
        if !isSameOwner { try self.refuseCycle(id, under: owner, slot, table) }
        let order = SparseOrder(table: table, place: place, owner: owner, recorder: self.recorder)
        let left = try self.leftNeighbour(order, table, place: place, owner: owner, at: at, moving: id)
        if isSameOwner {
            let current = try order.neighbour(before: old.places[place].position, excluding: nil)
            if current?.id == left?.id { return }
        }
        if !old.values.isNull(slot) { try self.leave(table, id, old, place: place) }
        let position = try order.position(after: left?.id, leftPosition: left?.position, excluding: id)
        // Making room may have renumbered other objects, never this one.
        var new = old
        new.values[slot] = .reference(owner)
        new.places[place] = SparsePlace(position: position, stamp: self.revision.rawValue)
        try self.write(table, id, from: old, to: new)
        self.flushDepartures(id)
        self.recorder.notePlaced(table.layout.number, id, owner: owner, place: place)
    }

    /// Returns a position for an object that is not in the owner's order yet.
    func place(_ table: EntityTable, place: Int, owner: ObjectID, at: Place, moving: ObjectID?) throws(StoreError)
        -> SparsePlace
    {
        let order = SparseOrder(table: table, place: place, owner: owner, recorder: self.recorder)
        if case .last = at {
            return SparsePlace(position: try order.positionAtEnd(excluding: moving), stamp: self.revision.rawValue)
        }
        let left = try self.leftNeighbour(order, table, place: place, owner: owner, at: at, moving: moving)
        let position = try order.position(after: left?.id, leftPosition: left?.position, excluding: moving)
        return SparsePlace(position: position, stamp: self.revision.rawValue)
    }

    /// Returns the object to the left of a position; `nil` at the front. Ignores `moving`.
    private func leftNeighbour(
        _ order: SparseOrder,
        _ table: EntityTable,
        place: Int,
        owner: ObjectID,
        at: Place,
        moving: ObjectID?
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        switch at {
        case .first:
            return nil
        case .last:
            return try order.neighbour(before: nil, excluding: moving)
        case .after(let reference):
            return try self.sibling(reference, table, place: place, owner: owner, moving: moving)
        case .before(let reference):
            let sibling = try self.sibling(reference, table, place: place, owner: owner, moving: moving)
            return try order.neighbour(before: sibling.position, excluding: moving)
        case .near(let left, let right):
            let (leftID, rightID) = (try left.map(self.resolve), try right.map(self.resolve))
            if let found = try self.siblingIfAny(leftID, table, place: place, owner: owner, moving: moving) {
                return found
            }
            if let found = try self.siblingIfAny(rightID, table, place: place, owner: owner, moving: moving) {
                return try order.neighbour(before: found.position, excluding: moving)
            }
            return try order.neighbour(before: nil, excluding: moving)
        case .at(let index):
            if index == 0 { return nil }
            // SQLite treats an offset below 0 as 0.
            let found =
                index < 0 ? nil : try table.object(at: index - 1, ofOwner: owner, place: place, excluding: moving)
            guard let found else {
                let slot = table.layout.placedSlots[place]
                var isInside = false
                if let moving { isInside = try table.row(moving)?.values.reference(slot) == owner }
                let count = try table.count(ofOwner: owner, slot: slot) - (isInside ? 1 : 0)
                throw .refused(
                    .indexOutOfRange,
                    count == 0
                        ? "the index \(index) is out of range: there is no other object, so use 0"
                        : "the index \(index) is out of range: there \(count == 1 ? "is 1 other object" : "are \(count) other objects"), so use 0 to \(count)",
                    object: owner
                )
            }
            return found
        }
    }

    /// Returns an object and its position, if it is in the owner's order and is not the one that is placed.
    private func siblingIfAny(
        _ id: ObjectID?,
        _ table: EntityTable,
        place: Int,
        owner: ObjectID,
        moving: ObjectID?
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        guard let id, id != moving, let row = try table.row(id),
            row.values.reference(table.layout.placedSlots[place]) == owner
        else { return nil }
        return (id, row.places[place].position)
    }

    private func sibling(
        _ reference: ObjectReference,
        _ table: EntityTable,
        place: Int,
        owner: ObjectID,
        moving: ObjectID?
    ) throws(StoreError) -> (id: ObjectID, position: Int64) {
        let id = try self.resolve(reference)
        guard id != moving else { throw .refused(.invalid, "an object cannot be placed next to itself", object: id) }
        guard let row = try table.row(id), row.values.reference(table.layout.placedSlots[place]) == owner else {
            throw try self.noSibling(id, owner)
        }
        return (id, row.places[place].position)
    }

    func noSibling(_ id: ObjectID, _ owner: ObjectID) throws(StoreError) -> StoreError {
        guard try self.find(id) != nil else { return Self.notFound(id) }
        return .refused(
            .invalid,
            "the object \(id) is not under \(owner), so nothing can be placed next to it there",
            object: id
        )
    }

    /// Notes the neighbours of an object that is about to leave its position, unless this request put it there.
    ///
    /// The caller records the change of the object next; `flushDepartures` then adds the neighbours to the record.
    func leave(_ table: EntityTable, _ id: ObjectID, _ row: ObjectRow, place: Int) throws(StoreError) {
        let entity = table.layout.number
        guard !self.recorder.isPlaced(entity, id, place: place) else { return }
        let neighbours = try self.departure(table, id, row, place: place)
        self.departures.append((id, place, neighbours))
    }

    func departure(_ table: EntityTable, _ id: ObjectID, _ row: ObjectRow, place: Int) throws(StoreError) -> Neighbours
    {
        let entity = table.layout.number
        guard let owner = row.values.reference(table.layout.placedSlots[place]) else {
            return Neighbours(left: nil, right: nil)
        }
        var left = try table.neighbour(.before, owner: owner, place: place, position: row.places[place].position)
        while let found = left, self.recorder.isPlaced(entity, found.id, place: place) {
            left = try table.neighbour(.before, owner: owner, place: place, position: found.position)
        }
        var right = try table.neighbour(.after, owner: owner, place: place, position: row.places[place].position)
        while let found = right, self.recorder.isPlaced(entity, found.id, place: place) {
            right = try table.neighbour(.after, owner: owner, place: place, position: found.position)
        }
        return self.recorder.departure(entity, id, owner: owner, place: place, left: left?.id, right: right?.id)
    }

    func flushDepartures(_ id: ObjectID) {
        for departure in self.departures where departure.id == id {
            self.recorder.recordNeighbours(id, place: departure.place, departure.neighbours)
        }
        self.departures.removeAll { $0.id == id }
    }

    /// Whether a slot leads to the same table, and its inverse is to-many and not hidden: such a relationship must not
    /// have cycles.
    func isHierarchy(_ table: EntityTable, _ slot: Int) -> Bool {
        guard case .toOne(let relationship, _) = table.layout.slots[slot], table.layout.partnerSlots[slot] < 0 else {
            return false
        }
        return !table.layout.isJoin && self.layout[relationship.destination] === table.layout
            && !self.layout.model.isOneWay(relationship)
    }
}

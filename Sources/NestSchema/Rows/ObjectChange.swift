import NestModel

/// An object's owner and position, as the journal stores them.
package struct PlaceRecord: Hashable, Sendable {
    package var owner: ObjectID
    package var place: SparsePlace
    /// Recorded for positions that the object left.
    package var neighbours: Neighbours?

    package init(owner: ObjectID, place: SparsePlace, neighbours: Neighbours? = nil) {
        self.owner = owner
        self.place = place
        self.neighbours = neighbours
    }

    /// Makes the record of an object whose relationship had no order yet: after all others, in the order of the ids.
    /// Returns `nil` for a value that is not a reference.
    init?(unordered value: AttributeValue, id: ObjectID) {
        guard let owner = value.referenceValue else { return nil }
        self.init(owner: owner, place: SparsePlace(position: (1 << 60) + id.rawValue, stamp: 0))
    }

    /// Whether the time of the placement is unknown, because the relationship had no order then.
    package var isOfNoOrder: Bool { self.place.stamp == 0 }
}

/// One object of a change set as the journal stores it: only the changes.
package struct ObjectChange: Sendable {
    package enum Kind: UInt8, Sendable {
        case insert = 1
        case update = 2
        case delete = 3
    }

    package struct Value: Sendable {
        package var slot: Int
        package var before: AttributeValue
        package var after: AttributeValue

        package init(slot: Int, before: AttributeValue, after: AttributeValue) {
            self.slot = slot
            self.before = before
            self.after = after
        }
    }

    package struct Placing: Sendable {
        /// The index in `EntityLayout.placedSlots`.
        package var place: Int
        package var before: PlaceRecord?
        package var after: PlaceRecord?
    }

    package var kind: Kind
    package var entity: EntityNumber
    package var id: ObjectID
    /// The revision of the object's preceding change; 0 for an insert.
    package var revisionBefore: Revision
    /// For an insert: all values that are not null, with `before` null. For a delete: the other way round. Excludes
    /// to-one relationships with a position, which are in `placings`.
    package var values: [Value]
    package var placings: [Placing]

    package init(kind: Kind, entity: EntityNumber, id: ObjectID, revisionBefore: Revision) {
        self.kind = kind
        self.entity = entity
        self.id = id
        self.revisionBefore = revisionBefore
        self.values = []
        self.placings = []
    }
}

extension ChangedRow {
    /// Returns the change that the journal stores; `nil` if nothing changed.
    package func change(_ layout: EntityLayout) -> ObjectChange? {
        let kind: ObjectChange.Kind
        switch (self.before, self.after) {
        case (nil, nil): return nil
        case (nil, _): kind = .insert
        case (_, nil): kind = .delete
        default: kind = .update
        }
        var change = ObjectChange(
            kind: kind,
            entity: self.entity,
            id: self.id,
            revisionBefore: self.before?.revision ?? Revision(0)
        )
        // An insert has most of its values and positions.
        if kind == .insert {
            change.values.reserveCapacity(layout.columns.count)
            change.placings.reserveCapacity(layout.placedSlots.count)
        }
        for slot in layout.columns.indices {
            let place = layout.placeOfSlot[slot]
            if place < 0, let before = self.before, let after = self.after, before.values.isSame(slot, as: after.values)
            {
                continue
            }
            let before = self.before?.values[slot] ?? .null
            let after = self.after?.values[slot] ?? .null
            if place >= 0 {
                let placing = ObjectChange.Placing(
                    place: place,
                    before: self.record(before, self.before, place, withNeighbours: true),
                    after: self.record(after, self.after, place, withNeighbours: false)
                )
                let isSame =
                    placing.before?.owner == placing.after?.owner
                    && placing.before?.place.stamp == placing.after?.place.stamp
                if !isSame { change.placings.append(placing) }
            } else if before != after {
                change.values.append(.init(slot: slot, before: before, after: after))
            }
        }
        let isNothing = kind == .update && change.values.isEmpty && change.placings.isEmpty
        return isNothing ? nil : change
    }

    private func record(
        _ value: AttributeValue,
        _ row: ObjectRow?,
        _ place: Int,
        withNeighbours: Bool
    ) -> PlaceRecord? {
        guard let row, let owner = value.referenceValue else { return nil }
        let neighbours = withNeighbours && place < self.neighbours.count ? self.neighbours[place] : nil
        return PlaceRecord(owner: owner, place: row.places[place], neighbours: neighbours)
    }
}

extension ObjectChange {
    /// Returns the whole object of an insert or delete, whose changes contain every value.
    package func changedRow(_ layout: EntityLayout, revision: Revision) -> ChangedRow {
        var values = [AttributeValue](repeating: .null, count: layout.slots.count)
        var places = SparsePlaces(count: layout.placedSlots.count)
        let isInsert = self.kind == .insert
        precondition(self.kind != .update, "an update does not hold the whole object")
        for value in self.values { values[value.slot] = isInsert ? value.after : value.before }
        for placing in self.placings {
            guard let record = isInsert ? placing.after : placing.before else { continue }
            values[layout.placedSlots[placing.place]] = .reference(record.owner)
            places[placing.place] = record.place
        }
        let row = ObjectRow(
            entity: self.entity,
            revision: isInsert ? revision : self.revisionBefore,
            values: values,
            places: places
        )
        return ChangedRow(
            entity: self.entity,
            id: self.id,
            before: isInsert ? nil : row,
            after: isInsert ? row : nil
        )
    }
}

import NestModel

/// The byte form of changes in the journal.
extension ByteWriter {
    /// Writes an object of a change set. Slots are written as property numbers, which are never reused.
    package mutating func write(change: ObjectChange, layout: EntityLayout) {
        self.write(byte: change.kind.rawValue)
        self.write(count: Int(change.entity.rawValue))
        self.write(objectID: change.id)
        self.write(revision: change.revisionBefore)
        self.write(count: change.values.count)
        for value in change.values {
            self.write(count: Int(layout.properties[value.slot].rawValue))
            if change.kind != .insert { self.write(value: value.before) }
            if change.kind != .delete { self.write(value: value.after) }
        }
        self.write(count: change.placings.count)
        for placing in change.placings {
            self.write(count: Int(layout.properties[layout.placedSlots[placing.place]].rawValue))
            self.write(placeRecord: placing.before)
            self.write(placeRecord: placing.after)
        }
    }

    /// Writes the change of an object. Returns `nil` and writes nothing if nothing changed. Writes the same bytes as
    /// for its `change`, but without making one for inserted and deleted objects, which are most.
    package mutating func write(change object: ChangedRow, layout: EntityLayout) -> ObjectChange.Kind? {
        if object.before == nil, let after = object.after {
            self.write(insertOf: object.entity, object.id, after.values, after.places, layout)
            return .insert
        }
        if object.after == nil, let before = object.before {
            before.values.withSlots { values in
                self.write(
                    whole: values,
                    before.places,
                    of: object.entity,
                    object.id,
                    .delete,
                    before.revision,
                    object.neighbours,
                    layout
                )
            }
            return .delete
        }
        guard let change = object.change(layout) else { return nil }
        self.write(change: change, layout: layout)
        return change.kind
    }

    /// Writes the change of an inserted object.
    package mutating func write(
        insertOf entity: EntityNumber,
        _ id: ObjectID,
        _ values: EncodedValues,
        _ places: SparsePlaces,
        _ layout: EntityLayout
    ) {
        values.withSlots { self.write(whole: $0, places, of: entity, id, .insert, Revision(0), [], layout) }
    }

    /// `neighbours`: of a deleted object.
    private mutating func write(
        whole values: EncodedValues.Slots,
        _ places: SparsePlaces,
        of entity: EntityNumber,
        _ id: ObjectID,
        _ kind: ObjectChange.Kind,
        _ revisionBefore: Revision,
        _ neighbours: [Neighbours?],
        _ layout: EntityLayout
    ) {
        var valueCount = 0
        var placingCount = 0
        let placeOfSlot = layout.placeOfSlot
        values.forEach { slot, value in
            if value.isNull { return }
            if placeOfSlot[slot] < 0 { valueCount += 1 } else { placingCount += 1 }
        }
        // Memory is reserved once for all of them.
        let max = (4 + valueCount) * SmallBytes.varintMax + 1 + values.whole.count
        self.write(atMost: max) { bytes in
            bytes.write(byte: kind.rawValue)
            bytes.write(count: Int(entity.rawValue))
            bytes.write(objectID: id)
            bytes.write(revision: revisionBefore)
            bytes.write(count: valueCount)
            let properties = layout.properties
            values.forEach { slot, value in
                if value.isNull || placeOfSlot[slot] >= 0 { return }
                bytes.write(count: Int(properties[slot].rawValue))
                bytes.write(raw: value.bytes)
            }
        }
        if kind == .insert, placingCount == 1, let slot = layout.placedSlots.first(where: { !values[$0].isNull }),
            let owner = values[slot].reference
        {
            // Most inserts: the same bytes as below, for which memory is reserved once.
            self.write(atMost: 7 * SmallBytes.varintMax + 1) { bytes in
                bytes.write(count: 1)
                bytes.write(count: Int(layout.properties[slot].rawValue))
                bytes.write(byte: 0)
                bytes.write(PlaceRecord(owner: owner, place: places[layout.placeOfSlot[slot]]))
            }
            return
        }
        self.write(count: placingCount)
        for slot in 0..<values.count where placeOfSlot[slot] >= 0 {
            guard let owner = values[slot].reference else { continue }
            let place = placeOfSlot[slot]
            self.write(count: Int(layout.properties[slot].rawValue))
            // An insert has no position before, a delete none after.
            if kind == .insert { self.write(placeRecord: nil) }
            let hasNeighbours = kind == .delete && place < neighbours.count
            self.write(
                placeRecord: PlaceRecord(
                    owner: owner,
                    place: places[place],
                    neighbours: hasNeighbours ? neighbours[place] : nil
                )
            )
            if kind == .delete { self.write(placeRecord: nil) }
        }
    }

    private mutating func write(placeRecord: PlaceRecord?) {
        guard let record = placeRecord else { return self.write(count: 0) }
        self.write(atMost: 5 * SmallBytes.varintMax) { $0.write(record) }
    }

    package mutating func write(reposition: Reposition) {
        self.write(count: Int(reposition.entity.rawValue))
        self.write(count: Int(reposition.property.rawValue))
        self.write(objectID: reposition.owner)
        self.write(objectID: reposition.id)
        self.write(integer: reposition.oldPosition)
        self.write(integer: reposition.newPosition)
    }
}

extension SmallBytes {
    /// Writes at most five numbers.
    @inline(__always)
    fileprivate mutating func write(_ record: PlaceRecord) {
        self.write(objectID: record.owner)
        self.write(integer: record.place.position)
        self.write(varint: record.place.stamp)
        self.write(varint: UInt64(clamping: record.neighbours?.left?.rawValue ?? 0))
        self.write(varint: UInt64(clamping: record.neighbours?.right?.rawValue ?? 0))
    }
}

extension ByteReader {
    package mutating func change(_ layout: ModelLayout) throws(DecodingFailure) -> ObjectChange {
        guard let kind = ObjectChange.Kind(rawValue: try self.byte("change kind")) else {
            throw DecodingFailure(.unsupported, "change kind")
        }
        let entity = try self.entityNumber("change entity")
        guard let entityLayout = layout[entity] else { throw DecodingFailure(.unsupported, "change entity") }
        var change = ObjectChange(
            kind: kind,
            entity: entity,
            id: try self.objectID("change id"),
            revisionBefore: try self.revision("change revision")
        )
        for _ in 0..<(try self.count("change values", max: Limits.propertiesPerEntityMax, bytesEach: 2)) {
            guard let slot = entityLayout.slot(of: try self.propertyNumber("change property")) else {
                throw DecodingFailure(.unsupported, "change property")
            }
            let before = kind == .insert ? .null : try self.value("value before")
            let after = kind == .delete ? .null : try self.value("value after")
            let place = entityLayout.placeOfSlot[slot]
            if place >= 0 {
                // Written before a migration made the relationship ordered.
                change.placings.append(
                    .init(
                        place: place,
                        before: PlaceRecord(unordered: before, id: change.id),
                        after: PlaceRecord(unordered: after, id: change.id)
                    )
                )
            } else {
                change.values.append(.init(slot: slot, before: before, after: after))
            }
        }
        for _ in 0..<(try self.count("change places", max: Limits.propertiesPerEntityMax, bytesEach: 3)) {
            guard let slot = entityLayout.slot(of: try self.propertyNumber("place property")),
                let place = entityLayout.placedSlots.firstIndex(of: slot)
            else { throw DecodingFailure(.unsupported, "place property") }
            change.placings.append(.init(place: place, before: try self.placeRecord(), after: try self.placeRecord()))
        }
        return change
    }

    private mutating func placeRecord() throws(DecodingFailure) -> PlaceRecord? {
        let owner = try self.varint("owner")
        guard owner != 0 else { return nil }
        let place = SparsePlace(
            position: try self.integer(Int64.self, "position"),
            stamp: try self.varint("stamp")
        )
        let left = try self.varint("left neighbour")
        let right = try self.varint("right neighbour")
        return PlaceRecord(
            owner: ObjectID(Int64(owner)),
            place: place,
            neighbours: Neighbours(
                left: left == 0 ? nil : ObjectID(Int64(left)),
                right: right == 0 ? nil : ObjectID(Int64(right))
            )
        )
    }

    package mutating func reposition() throws(DecodingFailure) -> Reposition {
        Reposition(
            entity: try self.entityNumber("reposition entity"),
            property: try self.propertyNumber("reposition property"),
            owner: try self.objectID("reposition owner"),
            id: try self.objectID("reposition id"),
            oldPosition: try self.integer(Int64.self, "old position"),
            newPosition: try self.integer(Int64.self, "new position")
        )
    }
}

import NestModel
import NestProtocol
import NestSchema

/// Reads one object from whichever table has it.
extension ObjectReader {
    /// Returns the entity and row of an object, or `nil`.
    package func object(_ id: ObjectID) throws(StoreError) -> (layout: EntityLayout, row: ObjectRow)? {
        for table in self.tables where !table.layout.isJoin {
            if let row = try table.row(id) { return (table.layout, row) }
        }
        return nil
    }

    /// Returns all values and relationship counts of one object. `known` returns the size of a to-many relationship;
    /// its `read` counts the objects, in O(size).
    func detail(
        _ id: ObjectID,
        known: (OwnedCounts.Key, _ read: () throws(StoreError) -> Int) throws(StoreError) -> Int
    ) throws(StoreError) -> ObjectDetail? {
        guard let (layout, row) = try self.object(id) else { return nil }
        let kind = layout.kind(row.entity)
        var values: [(property: PropertyNumber, value: AttributeValue)] = []
        values.reserveCapacity(row.values.count)
        for slot in row.values.indices where kind.slots.contains(slot) {
            values.append((layout.properties[slot], row.values[slot]))
        }
        let counts = try self.counts(of: id, kind, layout, known: known)
        return ObjectDetail(entity: row.entity, id: id, revision: row.revision, values: values, counts: counts)
    }

    /// Returns the same as the body of OBJECT, without decoding a value.
    func body(
        _ id: ObjectID,
        known: (OwnedCounts.Key, _ read: () throws(StoreError) -> Int) throws(StoreError) -> Int
    ) throws(StoreError) -> ObjectBody? {
        var writer = ByteWriter(capacity: 128)
        for table in self.tables where !table.layout.isJoin {
            guard let kind = try table.write(object: id, into: &writer) else { continue }
            let counts = try self.counts(of: id, kind, table.layout, known: known)
            writer.write(count: counts.count)
            for (property, count) in counts {
                writer.write(count: Int(property.rawValue))
                writer.write(count: count)
            }
            return ObjectBody(bytes: writer.bytes)
        }
        return nil
    }

    private func counts(
        of id: ObjectID,
        _ kind: EntityLayout.Kind,
        _ layout: EntityLayout,
        known: (OwnedCounts.Key, _ read: () throws(StoreError) -> Int) throws(StoreError) -> Int
    ) throws(StoreError) -> [(property: PropertyNumber, count: Int)] {
        var counts: [(property: PropertyNumber, count: Int)] = []
        counts.reserveCapacity(kind.entity.relationships.count)
        func append(_ property: PropertyNumber, _ table: EntityTable, slot: Int) throws(StoreError) {
            let key = OwnedCounts.Key(table: table.layout.number, slot: slot, owner: id)
            counts.append(
                (property, try known(key) { () throws(StoreError) in try table.count(ofOwner: id, slot: slot) })
            )
        }
        for relationship in kind.entity.relationships where relationship.isToMany {
            if let toMany = layout.toMany(relationship.number) {
                try append(relationship.number, self.table(toMany.destination), slot: toMany.inverseSlot)
            } else if let pairs = layout.manyToMany(relationship.number) {
                try append(relationship.number, self.table(pairs.join), slot: pairs.ownerSlot)
            }
        }
        return counts
    }
}

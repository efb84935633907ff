import NestModel

/// The parts of an inserted object in the journal, for a writer that has no row of it.
extension ByteWriter {
    /// Writes an insertion up to its values. They follow, each after the number of its property, and then the place.
    package mutating func write(insertOf entity: EntityNumber, _ id: ObjectID, valueCount: Int) {
        self.write(atMost: 4 * SmallBytes.varintMax + 1) { bytes in
            bytes.write(byte: ObjectChange.Kind.insert.rawValue)
            bytes.write(count: Int(entity.rawValue))
            bytes.write(objectID: id)
            bytes.write(revision: Revision(0))
            bytes.write(count: valueCount)
        }
    }

    /// Writes the only place of an inserted object.
    package mutating func write(placed property: PropertyNumber, below owner: ObjectID, at place: SparsePlace) {
        self.write(atMost: 7 * SmallBytes.varintMax + 1) { bytes in
            bytes.write(count: 1)
            bytes.write(count: Int(property.rawValue))
            // No place before, and no neighbours.
            bytes.write(byte: 0)
            bytes.write(objectID: owner)
            bytes.write(integer: place.position)
            bytes.write(varint: place.stamp)
            bytes.write(varint: 0)
            bytes.write(varint: 0)
        }
    }
}

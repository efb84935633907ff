import NestModel
import NestProtocol
import NestSchema

/// Inserts rows of an import from the bytes of their chunk into the table and the journal's blocks, without making
/// objects of them. Only for rows below others, and for values of which only type and size matter. `SubtreeRows` makes
/// and checks the objects of all others, with the same result.
final class PlainRows {
    private enum Source {
        case column(Int)
        case owner
        case constant(AttributeValue)
    }

    /// The place of a new object.
    struct Place {
        let id: ObjectID
        let owner: ObjectID
        let position: Int64
    }

    private let table: EntityTable
    private let entity: EntityNumber
    private let revision: Revision
    private let ownerSlot: Int
    /// By slot.
    private let sources: [Source]
    /// By column of the import.
    private let types: [EntityLayout.Column]
    private let mayBeNull: [Bool]
    private let constantCount: Int
    private let constantByteCount: Int

    /// `nil`: values must be checked, or every row will be refused.
    init?(_ rows: SubtreeRows, _ table: EntityTable) {
        let layout = rows.layout
        let values = rows.blank.values
        guard rows.slots.allSatisfy({ layout.isPlain[$0] }),
            layout.placedSlots.allSatisfy({ values.isNull($0) }),
            rows.kind.requiredSlots.allSatisfy({ slot in
                slot == rows.ownerSlot || rows.slots.contains(slot) || !values.isNull(slot)
            })
        else { return nil }
        self.table = table
        self.entity = rows.kind.number
        self.revision = rows.blank.revision
        self.ownerSlot = rows.ownerSlot
        self.sources = layout.slots.indices.map { slot in
            if slot == rows.ownerSlot { return .owner }
            return rows.slots.firstIndex(of: slot).map { .column($0) } ?? .constant(values[slot])
        }
        self.types = rows.slots.map { layout.columns[$0] }
        self.mayBeNull = rows.slots.map { slot in
            guard case .attribute(let attribute) = layout.slots[slot] else { return false }
            return attribute.isOptional && !rows.kind.requiredSlots.contains(slot)
        }
        let constants = layout.slots.indices.filter { !rows.slots.contains($0) && !values.isNull($0) }
        self.constantCount = constants.count
        self.constantByteCount = constants.reduce(0) { $0 + values[$1].byteCount }
    }

    /// Returns the number of values of the object, without its owner; `nil` if the row must be checked value by value.
    func valueCount(_ index: Int, of chunk: SubtreeColumns) -> Int? {
        var count = self.constantCount
        var byteCount = self.constantByteCount
        for column in self.types.indices {
            switch (chunk[index, column], self.types[column]) {
            case (.null, _):
                guard self.mayBeNull[column] else { return nil }
                continue
            case (.text(_, let bytes), .string), (.data(_, let bytes), .data): byteCount += bytes
            case (.boolean, .boolean), (.integer, .integer), (.date, .date), (.uuid, .uuid): break
            default: return nil
            }
            count += 1
        }
        return byteCount <= Limits.objectBytesMax ? count : nil
    }

    /// Inserts a row. `valueCount`: what the function of this name has returned for it.
    func insert(
        _ index: Int,
        of chunk: SubtreeColumns,
        _ valueCount: Int,
        at place: Place,
        _ blocks: inout PreparedBlocks
    ) throws(StoreError) {
        let layout = self.table.layout
        let inserts = try self.table.beginInsert(place.id, self.revision, self.entity)
        chunk.chunk.withUnsafeBytes { bytes in
            for source in self.sources {
                switch source {
                case .column(let column): inserts.append(chunk[index, column], of: bytes)
                case .owner: inserts.append(place.owner.rawValue)
                case .constant(let value): inserts.append(value)
                }
            }
        }
        for slot in layout.placedSlots {
            if slot == self.ownerSlot {
                inserts.append(place.position)
                inserts.append(Int64(self.revision.rawValue))
            } else {
                inserts.appendNull()
                inserts.appendNull()
            }
        }
        try self.table.endInsert(inserts)
        try blocks.append(insertOf: self.entity) { writer in
            // The same bytes as those of `write(insertOf:)` for the object.
            writer.write(insertOf: self.entity, place.id, valueCount: valueCount)
            self.write(index, of: chunk, into: &writer)
            writer.write(
                placed: layout.properties[self.ownerSlot],
                below: place.owner,
                at: SparsePlace(position: place.position, stamp: self.revision.rawValue)
            )
        }
    }

    /// Writes the values that are not null, each after the number of its property.
    private func write(_ index: Int, of chunk: SubtreeColumns, into writer: inout ByteWriter) {
        let properties = self.table.layout.properties
        chunk.chunk.withUnsafeBytes { bytes in
            for (slot, source) in self.sources.enumerated() {
                switch source {
                case .owner: continue
                case .column(let column):
                    let cell = chunk[index, column]
                    if case .null = cell { continue }
                    writer.write(count: Int(properties[slot].rawValue))
                    writer.write(cell: cell, of: bytes)
                case .constant(let value):
                    if value.isNull { continue }
                    writer.write(count: Int(properties[slot].rawValue))
                    writer.write(value: value)
                }
            }
        }
    }
}

import NestModel
import NestSchema

extension Statement {
    /// Returns columns in the byte form of values. `first`: the column of the first one.
    ///
    /// What a damaged file has in place of a text or an id is repaired: the journal and clients must be able to read
    /// it.
    func values(_ first: Int32, _ columns: [EntityLayout.Column]) -> EncodedValues {
        var repaired: [Int: AttributeValue] = [:]
        // Texts and data first: they say how much memory the values need. `nil`: null, or a column of another type.
        return withUnsafeTemporaryAllocation(of: UnsafeRawBufferPointer?.self, capacity: columns.count) { texts in
            var max = AttributeValue.encodedNumberMax * columns.count
            for slot in columns.indices {
                let column = first + Int32(slot)
                let hasBytes = columns[slot] == .string || columns[slot] == .data
                let bytes = hasBytes && !self.isNull(column) ? self.withBytes(column) { $0 } : nil
                texts.initializeElement(at: slot, to: bytes)
                max += bytes?.count ?? 0
                if columns[slot] == .string, let bytes, !ByteReader.isText(bytes) {
                    let text = AttributeValue.string(Self.repaired(bytes))
                    repaired[slot] = text
                    max += text.encodedMax
                }
            }
            return EncodedValues(count: columns.count, atMost: max) { slot, bytes in
                let column = first + Int32(slot)
                switch columns[slot] {
                case .string:
                    guard let text = texts[slot] else { return bytes.write(byte: ValueTag.null) }
                    if repaired.isEmpty { return bytes.write(textValue: text) }
                    if let text = repaired[slot] { bytes.write(value: text) } else { bytes.write(textValue: text) }
                case .data:
                    if let data = texts[slot] { bytes.write(dataValue: data) } else { bytes.write(byte: ValueTag.null) }
                case .reference where !self.isNull(column):
                    bytes.write(byte: ValueTag.reference)
                    bytes.write(objectID: Self.readable(self.objectID(column)))
                default: bytes.write(value: self.value(column, columns[slot]))
                }
            }
        }
    }

    private static func repaired(_ bytes: UnsafeRawBufferPointer) -> String {
        String(
            String.UnicodeScalarView(
                String(decoding: bytes, as: UTF8.self).unicodeScalars.map { $0 == "\0" ? "\u{FFFD}" : $0 }
            )
        )
    }

    /// A damaged file may have references that are no ids, which the journal and clients could not read. The largest id
    /// stands for them.
    static func readable(_ id: ObjectID) -> ObjectID {
        (1...Limits.objectIDMax).contains(id.rawValue) ? id : ObjectID(Limits.objectIDMax)
    }
}

import NestModel

/// Numbered fields, each with its length. A receiver skips fields that it does not know; a sender omits fields without
/// a value. Encoded as a count, then (number, length, bytes) with strictly increasing numbers.
package struct TaggedFields: Sendable {
    private var fields: [(tag: UInt64, bytes: [UInt8])] = []
    private static let countMax = 64

    package init() {}

    /// Tags must be added in increasing order.
    package mutating func add(_ tag: UInt64, _ write: (inout ByteWriter) -> Void) {
        precondition(self.fields.last.map { $0.tag < tag } ?? true, "tags increase")
        var writer = ByteWriter()
        write(&writer)
        self.fields.append((tag, writer.bytes))
    }

    package func encode(into writer: inout ByteWriter) {
        writer.write(count: self.fields.count)
        for field in self.fields {
            writer.write(varint: field.tag)
            writer.write(lengthPrefixed: field.bytes)
        }
    }

    /// Calls `body` for each field with a reader of its bytes.
    package static func read(
        from reader: inout ByteReader,
        _ body: (UInt64, inout ByteReader) throws(DecodingFailure) -> Void
    ) throws(DecodingFailure) {
        var previous: UInt64?
        for _ in 0..<(try reader.count("fields", max: Self.countMax, bytesEach: 2)) {
            let tag = try reader.varint("field number")
            if let previous, tag <= previous { throw DecodingFailure(.invalidValue, "field number") }
            previous = tag
            let count = try reader.count("field length")
            var field = ByteReader(try reader.raw(count: count, "field"))
            try body(tag, &field)
        }
    }
}

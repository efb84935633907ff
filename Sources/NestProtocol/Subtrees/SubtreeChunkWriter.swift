import NestModel

/// Encodes chunks of a sub-tree stream, column by column: the changes of depth, the ids, then each property.
///
/// Depth and id are differences from the preceding row. Depth continues from chunk to chunk; ids start at 0 in each. A
/// property has first the heads of all values (tag, number, length), then the bytes of all strings and data. Similar
/// bytes are next to each other, which makes compression effective.
package struct SubtreeChunkWriter: Sendable {
    private struct Column: Sendable {
        var heads = ByteWriter()
        var bodies = ByteWriter()

        var byteCount: Int { self.heads.count + self.bodies.count }
    }

    private var depths = ByteWriter()
    private var ids = ByteWriter()
    private var columns: [Column]
    private var depth = 0
    private var lastID: Int64 = 0
    private let hasIDs: Bool
    package private(set) var rowCount = 0
    /// Bytes of the rows since the last `take`.
    package private(set) var byteCount = 0

    /// `hasIDs`: all rows have an id; otherwise none has.
    package init(valueCount: Int, hasIDs: Bool) {
        self.columns = [Column](repeating: Column(), count: valueCount)
        self.hasIDs = hasIDs
    }

    /// Whether the next row should begin a new chunk.
    package var isFull: Bool { self.byteCount >= Limits.chunkBytes || self.rowCount >= Limits.chunkRowsMax }

    package mutating func append(_ row: SubtreeRow) {
        precondition(row.values.count == self.columns.count, "a row has a value for each property")
        self.begin(depth: row.depth, id: row.id)
        for (index, value) in row.values.enumerated() {
            let before = self.columns[index].byteCount
            switch value {
            case .string(var text):
                text.withUTF8 { utf8 in
                    self.columns[index].heads.write(textHead: utf8.count)
                    self.columns[index].bodies.write(raw: utf8)
                }
            case .data(let data):
                self.columns[index].heads.write(byte: ValueTag.data)
                self.columns[index].heads.write(count: data.count)
                self.columns[index].bodies.write(raw: data)
            default:
                self.columns[index].heads.write(value: value)
            }
            self.byteCount += self.columns[index].byteCount - before
        }
    }

    /// Appends a row whose values are already encoded, one after the other.
    package mutating func append(depth: Int, id: ObjectID?, encodedValues: [UInt8]) throws(DecodingFailure) {
        self.begin(depth: depth, id: id)
        try ByteReader.read(encodedValues) { (reader) throws(DecodingFailure) in
            for column in self.columns.indices {
                let start = encodedValues.count - reader.remaining
                let head = try reader.valueHead("value")
                let middle = encodedValues.count - reader.remaining
                self.columns[column].heads.write(raw: encodedValues[start..<middle])
                self.columns[column].bodies.write(raw: try reader.raw(count: head.byteCount, "value"))
            }
        }
        self.byteCount += encodedValues.count
    }

    private mutating func begin(depth: Int, id: ObjectID?) {
        let before = self.depths.count + self.ids.count
        self.depths.write(zigzag: Int64(depth - self.depth))
        self.depth = depth
        if self.hasIDs, let id {
            self.ids.write(zigzag: id.rawValue - self.lastID)
            self.lastID = id.rawValue
        }
        self.rowCount += 1
        self.byteCount += self.depths.count + self.ids.count - before
    }

    /// Returns an uncompressed chunk with the rows since the last call.
    package mutating func take() -> [UInt8] {
        var chunk = ByteWriter(capacity: self.byteCount + 8)
        chunk.write(count: self.rowCount)
        chunk.write(byte: self.hasIDs ? 1 : 0)
        chunk.write(raw: self.depths.bytes)
        chunk.write(raw: self.ids.bytes)
        self.depths.bytes.removeAll(keepingCapacity: true)
        self.ids.bytes.removeAll(keepingCapacity: true)
        for index in self.columns.indices {
            chunk.write(raw: self.columns[index].heads.bytes)
            chunk.write(raw: self.columns[index].bodies.bytes)
            self.columns[index].heads.bytes.removeAll(keepingCapacity: true)
            self.columns[index].bodies.bytes.removeAll(keepingCapacity: true)
        }
        self.rowCount = 0
        self.byteCount = 0
        self.lastID = 0
        return chunk.bytes
    }
}

/// The checksum at the end of a stream: FNV-1a (64 bits) over the bodies of its chunks, in order.
package struct SubtreeChecksum: Sendable {
    package private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    package init() {}

    package mutating func add(_ body: [UInt8]) {
        self.value = fnv1a(body, seed: self.value)
    }
}

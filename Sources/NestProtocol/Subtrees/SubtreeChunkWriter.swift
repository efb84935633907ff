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

/// Decodes chunks in order; remembers the depth from chunk to chunk.
package struct SubtreeChunkReader: Sendable {
    private let valueCount: Int
    private let depthMax: Int
    /// The depth of the preceding row; -1 before the first, which must have depth 0.
    private var depth = -1
    package private(set) var rowCount = 0
    /// The number of rows of depth 0.
    package private(set) var topCount = 0

    package init(valueCount: Int, depthMax: Int = Limits.depthMax) {
        self.valueCount = valueCount
        self.depthMax = depthMax
    }

    /// Decodes the rows of a decompressed chunk. Checks all sizes before it allocates memory for them.
    package mutating func rows(of chunk: [UInt8]) throws(DecodingFailure) -> [SubtreeRow] {
        var next = self
        let rows = try ByteReader.read(chunk) { (reader) throws(DecodingFailure) in try next.read(&reader) }
        self = next
        return rows
    }

    private mutating func read(_ reader: inout ByteReader) throws(DecodingFailure) -> [SubtreeRow] {
        let count = try reader.count("rows", max: Limits.chunkRowsMax)
        let flag = try reader.byte("has ids")
        guard flag <= 1 else { throw DecodingFailure(.unsupported, "has ids") }
        guard count <= reader.remaining / (1 + Int(flag) + self.valueCount) else {
            throw DecodingFailure(.truncated, "rows")
        }
        var rows: [SubtreeRow] = []
        rows.reserveCapacity(count)
        for _ in 0..<count {
            rows.append(SubtreeRow(depth: try self.nextDepth(&reader), id: nil, values: []))
            rows[rows.count - 1].values.reserveCapacity(self.valueCount)
        }
        if flag == 1 { try Self.readIDs(&rows, &reader) }
        for _ in 0..<self.valueCount { try Self.readColumn(&rows, &reader) }
        try reader.finish("chunk")
        self.rowCount += count
        return rows
    }

    private mutating func nextDepth(_ reader: inout ByteReader) throws(DecodingFailure) -> Int {
        let delta = try reader.zigzag("depth")
        let (depth, overflow) = Int64(max(self.depth, 0)).addingReportingOverflow(delta)
        guard !overflow, depth >= 0, depth <= Int64(self.depth + 1) else { throw DecodingFailure(.outOfRange, "depth") }
        guard depth <= Int64(self.depthMax) else { throw DecodingFailure(.limit, "depth") }
        self.depth = Int(depth)
        if depth == 0 { self.topCount += 1 }
        return Int(depth)
    }

    private static func readIDs(_ rows: inout [SubtreeRow], _ reader: inout ByteReader) throws(DecodingFailure) {
        var last: Int64 = 0
        for index in rows.indices {
            let (id, overflow) = last.addingReportingOverflow(try reader.zigzag("id"))
            guard !overflow, id > 0, id <= Limits.objectIDMax else { throw DecodingFailure(.outOfRange, "id") }
            rows[index].id = ObjectID(id)
            last = id
        }
    }

    private static func readColumn(_ rows: inout [SubtreeRow], _ reader: inout ByteReader) throws(DecodingFailure) {
        // Strings and data values, whose bytes follow.
        var pending: [(row: Int, head: ValueHead)] = []
        for index in rows.indices {
            let head = try reader.valueHead("value")
            if case .whole(let value) = head {
                rows[index].values.append(value)
            } else {
                rows[index].values.append(.null)
                pending.append((index, head))
            }
        }
        for (index, head) in pending {
            rows[index].values[rows[index].values.count - 1] = try reader.value(of: head, "value")
        }
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

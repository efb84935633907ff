/// Asks for an object and everything below it along one to-many relationship, in preorder.
public struct SubtreeRequest: Hashable, Sendable {
    public var root: ObjectID
    /// The to-many relationship of `root` that is followed down; its destination is the same entity.
    public var relationship: PropertyNumber
    /// Levels below the root; `nil` for all.
    public var depthLimit: Int?
    /// The properties of each row; empty for all attributes.
    public var properties: [PropertyNumber]

    public init(root: ObjectID, relationship: PropertyNumber, depthLimit: Int? = nil, properties: [PropertyNumber] = [])
    {
        self.root = root
        self.relationship = relationship
        self.depthLimit = depthLimit
        self.properties = properties
    }
}

/// Says where a streamed sub-tree goes; its chunks follow and become visible as one transaction.
public struct SubtreeImport: Hashable, Sendable {
    public var key: Identifier128?
    /// The undo entry's name; made from the first row when `nil`.
    public var name: String?
    public var entity: EntityNumber
    /// Where the rows of depth 0 go, one after the other.
    public var placement: Placement
    /// The properties of each row, in this order.
    public var properties: [PropertyNumber]

    public init(
        key: Identifier128? = nil,
        name: String? = nil,
        entity: EntityNumber,
        placement: Placement,
        properties: [PropertyNumber]
    ) {
        self.key = key
        self.name = name
        self.entity = entity
        self.placement = placement
        self.properties = properties
    }
}

/// One object of a sub-tree stream.
public struct SubtreeRow: Hashable, Sendable {
    /// 0 for the top; at most one more than the row before.
    public var depth: Int
    /// `nil` in an import, where the server gives ids.
    public var id: ObjectID?
    public var values: [AttributeValue]

    public init(depth: Int, id: ObjectID?, values: [AttributeValue]) {
        self.depth = depth
        self.id = id
        self.values = values
    }
}

/// A chunk of a sub-tree stream: a count, then per row the change of depth (zigzag), the id (0 in an import) and the
/// values. Depth goes on from chunk to chunk and starts from 0.
public struct SubtreeChunkWriter: Sendable {
    private var rows = ByteWriter()
    private var depth = 0
    public private(set) var rowCount = 0

    public init() {}

    /// Bytes of the rows since the last `take`.
    public var byteCount: Int { self.rows.count }

    public mutating func append(_ row: SubtreeRow) {
        self.begin(depth: row.depth, id: row.id)
        for value in row.values { self.rows.write(value: value) }
    }

    /// Starts a row whose values `writeValues` writes itself, as bytes that are already in the value form.
    public mutating func append(depth: Int, id: ObjectID?, encodedValues: some Sequence<UInt8>) {
        self.begin(depth: depth, id: id)
        self.rows.write(raw: encodedValues)
    }

    private mutating func begin(depth: Int, id: ObjectID?) {
        self.rows.write(zigzag: Int64(depth - self.depth))
        self.rows.write(varint: UInt64(id?.rawValue ?? 0))
        self.depth = depth
        self.rowCount += 1
    }

    /// The body of a chunk with the rows since the last call.
    public mutating func take() -> [UInt8] {
        var chunk = ByteWriter(capacity: self.rows.count + 4)
        chunk.write(count: self.rowCount)
        chunk.write(raw: self.rows.bytes)
        self.rows.bytes.removeAll(keepingCapacity: true)
        self.rowCount = 0
        return chunk.bytes
    }
}

/// Reads chunks in order; keeps the depth from one to the next.
public struct SubtreeChunkReader: Sendable {
    private let valueCount: Int
    private let depthMax: Int
    /// The depth of the row before; -1 before the first, which must be at depth 0.
    private var depth = -1
    public private(set) var rowCount = 0

    public init(valueCount: Int, depthMax: Int = Limits.depthMax) {
        self.valueCount = valueCount
        self.depthMax = depthMax
    }

    /// Calls `body` with each row of a chunk's body.
    public mutating func read<Failure: Error>(
        _ reader: inout ByteReader,
        _ body: (SubtreeRow) throws(Failure) -> Void
    ) throws(SubtreeReadError<Failure>) {
        let count: Int
        do throws(DecodingFailure) {
            count = try reader.count("rows", bytesEach: 2 + self.valueCount)
        } catch {
            throw .malformed(error)
        }
        for _ in 0..<count {
            let row: SubtreeRow
            do throws(DecodingFailure) {
                row = try self.row(&reader)
            } catch {
                throw .malformed(error)
            }
            do throws(Failure) {
                try body(row)
            } catch {
                throw .body(error)
            }
        }
        do throws(DecodingFailure) {
            try reader.finish("chunk")
        } catch {
            throw .malformed(error)
        }
    }

    private mutating func row(_ reader: inout ByteReader) throws(DecodingFailure) -> SubtreeRow {
        let delta = try reader.zigzag("depth")
        let (depth, overflow) = Int64(max(self.depth, 0)).addingReportingOverflow(delta)
        guard !overflow, depth >= 0, depth <= Int64(self.depth + 1) else { throw DecodingFailure(.outOfRange, "depth") }
        guard depth <= Int64(self.depthMax) else { throw DecodingFailure(.limit, "depth") }
        self.depth = Int(depth)
        let id = try reader.varint("id")
        guard id <= UInt64(Limits.objectIDMax) else { throw DecodingFailure(.outOfRange, "id") }
        var values: [AttributeValue] = []
        values.reserveCapacity(self.valueCount)
        for _ in 0..<self.valueCount { values.append(try reader.value("value")) }
        self.rowCount += 1
        return SubtreeRow(depth: Int(depth), id: id == 0 ? nil : ObjectID(Int64(id)), values: values)
    }
}

/// Why a chunk could not be read, or what the reader's caller threw.
public enum SubtreeReadError<Failure: Error>: Error {
    case malformed(DecodingFailure)
    case body(Failure)
}

/// The checksum at the end of a stream: FNV-1a (64 bits) over the bodies of its chunks, in order.
public struct SubtreeChecksum: Sendable {
    public private(set) var value: UInt64 = 0xcbf2_9ce4_8422_2325

    public init() {}

    public mutating func add(_ body: [UInt8]) {
        self.value = fnv1a(body, seed: self.value)
    }
}

import NestModel
import NestProtocol

/// One record of the log: the result of a group commit, or notes. A store that applies it equals the leader's store in
/// every row.
///
/// Its bytes are encoded once, by its writer. They begin with the length of the head in four bytes; the head follows,
/// then the journal blocks: revision, number, packed bytes.
package struct LogRecord: Sendable {
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// A journal row with at least one revision, and notes.
        case group = 1
        /// Notes only; no revision.
        case notes = 2
        /// A node begins to lead. All later records have at least its epoch.
        case leader = 3
        /// The state behind this record is the snapshot of its position: the model has changed.
        case cut = 4
        /// Every node computes the digest of its tables behind this record.
        case mark = 5
    }

    /// The node that wrote a record, and the epoch in which it led.
    package struct Writer: Hashable, Sendable {
        package var node: Identifier128
        package var epoch: Int64

        package init(node: Identifier128, epoch: Int64) {
            self.node = node
            self.epoch = epoch
        }
    }

    /// A journal row as the store has it.
    package struct Row: Sendable, Equatable {
        package var first: Revision
        package var last: Revision
        package var nextObjectID: Int64
        package var time: Int64
        package var headers: [UInt8]
        /// The inline change sets, packed.
        package var changes: [UInt8]

        /// The number of bytes that it takes in the journal, as `Journal.size` counts them.
        var byteCount: Int { self.headers.count + self.changes.count }

        package init(
            first: Revision,
            last: Revision,
            nextObjectID: Int64,
            time: Int64,
            headers: [UInt8],
            changes: [UInt8]
        ) {
            self.first = first
            self.last = last
            self.nextObjectID = nextObjectID
            self.time = time
            self.headers = headers
            self.changes = changes
        }
    }

    /// A block of a bulk write as the store has it.
    package struct Block: Sendable, Equatable {
        package var revision: Revision
        package var number: Int
        /// Packed.
        package var bytes: [UInt8]

        package init(revision: Revision, number: Int, bytes: [UInt8]) {
            self.revision = revision
            self.number = number
            self.bytes = bytes
        }
    }

    package let kind: Kind
    package let writer: Writer
    /// Microseconds since 1970-01-01 UTC, by the writer's clock, and at least the time of the record before.
    package let time: Int64
    /// The newest revision behind this record.
    package let head: Revision
    /// `nil`: the record has no revision.
    package let row: Row?
    package let notes: [LogNote]
    package let blockCount: Int
    package let bytes: LogBytes
    /// Where the blocks begin in the bytes.
    private let blocksOffset: Int

    private static let version: UInt8 = 1
    private static let lengthBytes = 4

    // MARK: Encoding

    /// Encodes a record. `forEachBlock` calls its argument with every journal block of the row's revisions, in order;
    /// blocks are not held in memory. `directory`: where a large record is spooled.
    package init(
        _ kind: Kind,
        writer: Writer,
        time: Int64,
        head: Revision,
        row: Row? = nil,
        notes: [LogNote] = [],
        blockCount: Int = 0,
        directory: String,
        forEachBlock: ((Block) throws(StoreError) -> Void) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) {
        self.kind = kind
        self.writer = writer
        self.time = time
        self.head = head
        self.row = row
        self.notes = notes
        self.blockCount = blockCount
        var encoded = ByteWriter()
        encoded.write(byte: Self.version)
        encoded.write(byte: kind.rawValue)
        encoded.write(identifier: writer.node)
        encoded.write(varint: UInt64(writer.epoch))
        encoded.write(integer: time)
        encoded.write(revision: head)
        encoded.write(byte: row == nil ? 0 : 1)
        if let row { encoded.write(row: row) }
        encoded.write(count: notes.count)
        for note in notes { encoded.write(note: note) }
        encoded.write(count: blockCount)
        var prefix = ByteWriter()
        prefix.write(integer: UInt32(encoded.count))
        self.blocksOffset = Self.lengthBytes + encoded.count
        var output = LogBytesWriter(directory: directory)
        try output.append(prefix.bytes + encoded.bytes)
        try forEachBlock { (block) throws(StoreError) in
            var bytes = ByteWriter(capacity: block.bytes.count + 16)
            bytes.write(revision: block.revision)
            bytes.write(count: block.number)
            bytes.write(integer: UInt32(block.bytes.count))
            bytes.write(raw: block.bytes)
            try output.append(bytes.bytes)
        }
        guard output.count <= Limits.logRecordBytesMax else {
            throw .refused(
                .limitExceeded,
                "the change takes \(output.count) bytes in the cluster's log, which accepts at most "
                    + "\(Limits.logRecordBytesMax): split it into smaller requests"
            )
        }
        self.bytes = output.finish()
    }

    // MARK: Decoding

    /// A record that is cut short, damaged, or of a newer version.
    package struct Damage: Error, CustomStringConvertible {
        package let description: String

        package init(_ description: String) {
            self.description = description
        }
    }

    /// Decodes a record that was read from the log. Its blocks stay encoded.
    package init(decoding bytes: LogBytes) throws(Damage) {
        do {
            guard bytes.count >= Self.lengthBytes else { throw Damage("it is cut short") }
            let length = try bytes.bytes(0..<Self.lengthBytes).reduce(0) { $0 << 8 | Int($1) }
            guard length <= bytes.count - Self.lengthBytes else { throw Damage("its head is cut short") }
            let head = try bytes.bytes(Self.lengthBytes..<Self.lengthBytes + length)
            self = try ByteReader.read(head) { (reader) throws(DecodingFailure) in
                try LogRecord(from: &reader, bytes, blocksOffset: Self.lengthBytes + length)
            }
        } catch let error as Damage {
            throw error
        } catch {
            throw Damage("\(error)")
        }
    }

    private init(from reader: inout ByteReader, _ bytes: LogBytes, blocksOffset: Int) throws(DecodingFailure) {
        guard try reader.byte("version") == Self.version else {
            throw DecodingFailure(.unsupported, "version: a newer nestd wrote it; install that version here too")
        }
        guard let kind = Kind(rawValue: try reader.byte("kind")) else {
            throw DecodingFailure(.unsupported, "kind: a newer nestd wrote it; install that version here too")
        }
        self.kind = kind
        self.writer = Writer(
            node: try reader.identifier("node"),
            epoch: Int64(clamping: try reader.varint("epoch"))
        )
        self.time = try reader.integer(Int64.self, "time")
        self.head = try reader.revision("head")
        self.row = try reader.byte("row") == 0 ? nil : try reader.row()
        var notes: [LogNote] = []
        for _ in 0..<(try reader.count("notes")) { notes.append(try reader.note()) }
        self.notes = notes
        self.blockCount = try reader.index("blocks")
        try reader.finish("record")
        self.bytes = bytes
        self.blocksOffset = blocksOffset
    }

    /// Calls `body` with every block, in order, one at a time.
    package func forEachBlock(_ body: (Block) throws(StoreError) -> Void) throws(StoreError) {
        var offset = self.blocksOffset
        for _ in 0..<self.blockCount {
            let (block, next) = try self.block(at: offset)
            try body(block)
            offset = next
        }
        guard offset == self.bytes.count else { throw Self.damaged("it does not end after its blocks") }
    }

    private func block(at offset: Int) throws(StoreError) -> (Block, next: Int) {
        let headMax = 8 + 8 + 4
        let head = try self.bytes.bytes(offset..<min(offset + headMax, self.bytes.count))
        do {
            var length = 0
            var used = 0
            var block = try ByteReader.read(head) { (reader) throws(DecodingFailure) in
                let block = Block(
                    revision: try reader.revision("revision"),
                    number: try reader.index("number"),
                    bytes: []
                )
                length = Int(try reader.integer(UInt32.self, "length"))
                used = head.count - reader.remaining
                return block
            }
            let start = offset + used
            guard length <= self.bytes.count - start else { throw DecodingFailure(.truncated, "block") }
            block.bytes = try self.bytes.bytes(start..<start + length)
            return (block, start + length)
        } catch let error as StoreError {
            throw error
        } catch {
            throw Self.damaged("\(error)")
        }
    }

    private static func damaged(_ reason: String) -> StoreError { .logDamaged("a record of the log: \(reason)") }
}

extension ByteWriter {
    fileprivate mutating func write(row: LogRecord.Row) {
        self.write(revision: row.first)
        self.write(revision: row.last)
        self.write(varint: UInt64(row.nextObjectID))
        self.write(integer: row.time)
        self.write(count: row.headers.count)
        self.write(raw: row.headers)
        self.write(count: row.changes.count)
        self.write(raw: row.changes)
    }
}

extension ByteReader {
    fileprivate mutating func row() throws(DecodingFailure) -> LogRecord.Row {
        LogRecord.Row(
            first: try self.revision("first revision"),
            last: try self.revision("last revision"),
            nextObjectID: Int64(clamping: try self.varint("next object id")),
            time: try self.integer(Int64.self, "time"),
            headers: try self.blob("headers"),
            changes: try self.blob("changes")
        )
    }

    mutating func blob(_ field: StaticString) throws(DecodingFailure) -> [UInt8] {
        let count = try self.count(field)
        return Array(try self.raw(count: count, field))
    }
}

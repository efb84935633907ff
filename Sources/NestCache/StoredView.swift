import Foundation
import GRDB
import NestClient
import NestModel
import NestProtocol

/// A row of `view`, and its pieces.
struct StoredView {
    private var id: Int64 = 0
    /// Without frames.
    var head: CachedView
    private var pieceCount = 0
    private var snapshotBytes = 0
    private(set) var byteCount: Int
    let shown: Int

    /// What a view takes besides its frames, about.
    private static let rowBytes = 256
    /// Changes of small views are not rewritten until they have so many bytes.
    private static let changeBytesMin = 16 << 10

    init(_ view: CachedView, shown: Int) {
        self.head = view
        self.head.frames = []
        self.byteCount = view.request.count + Self.rowBytes
        self.shown = shown
    }

    static func find(_ request: [UInt8], _ database: Database) throws -> StoredView? {
        let sql = "SELECT * FROM view WHERE request = ?"
        guard let row = try SQLRow.fetchOne(database, sql: sql, arguments: [request.stored]) else { return nil }
        let history = try ByteReader.read(try row.bytes("historyID")) { reader throws(DecodingFailure) in
            try reader.identifier("history id")
        }
        let head = CachedView(
            request: try row.bytes("request"),
            identity: try row.number("identity"),
            modelHash: try row.number("modelHash"),
            historyID: history,
            revision: Revision(try row.number("revision")),
            digest: try row.number("digest"),
            recording: try row.number("recording"),
            sequence: try row.count("sequence"),
            frames: []
        )
        var stored = StoredView(head, shown: try row.count("shown"))
        stored.id = Int64(bitPattern: try row.number("id"))
        stored.pieceCount = try row.count("pieces")
        stored.snapshotBytes = try row.count("snapshotBytes")
        stored.byteCount = try row.count("bytes")
        guard try row.number("checksum") == stored.checksum, head.request == request,
            (0...Self.pieceCountMax).contains(stored.pieceCount), (1...Self.idMax).contains(stored.id)
        else { throw CacheDamage("a view") }
        return stored
    }

    private static let pieceCountMax = Int(UInt32.max)
    private static let idMax = Int64(Int32.max)

    private var history: [UInt8] {
        var writer = ByteWriter()
        writer.write(identifier: self.head.historyID)
        return writer.bytes
    }

    /// Of everything except `shown`, which may change alone.
    private var checksum: UInt64 {
        var writer = ByteWriter()
        writer.write(raw: self.history)
        let numbers = [
            self.head.identity, self.head.modelHash, self.head.revision.rawValue, self.head.digest, self.head.recording,
            UInt64(bitPattern: Int64(self.head.sequence)), UInt64(bitPattern: Int64(self.pieceCount)),
            UInt64(bitPattern: Int64(self.snapshotBytes)), UInt64(bitPattern: Int64(self.byteCount)),
        ]
        for number in numbers { writer.write(integer: number) }
        return fnv1a(self.head.request, seed: fnv1a(writer.bytes))
    }

    // MARK: The row

    mutating func insert(_ database: Database) throws {
        try database.execute(
            sql: """
                INSERT INTO view (
                    request, identity, modelHash, historyID, revision, digest, recording, sequence, pieces,
                    snapshotBytes, bytes, shown, checksum
                ) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                self.head.request.stored, self.head.identity.stored, self.head.modelHash.stored, self.history.stored,
                self.head.revision.rawValue.stored, self.head.digest.stored, self.head.recording.stored,
                self.head.sequence, self.pieceCount, self.snapshotBytes, self.byteCount, self.shown,
                self.checksum.stored,
            ]
        )
        self.id = database.lastInsertedRowID
    }

    func update(_ database: Database) throws {
        try database.execute(
            sql: """
                UPDATE view SET revision = ?, digest = ?, sequence = ?, pieces = ?, snapshotBytes = ?, bytes = ?,
                    checksum = ? WHERE id = ?
                """,
            arguments: [
                self.head.revision.rawValue.stored, self.head.digest.stored, self.head.sequence, self.pieceCount,
                self.snapshotBytes, self.byteCount, self.checksum.stored, self.id,
            ]
        )
    }

    func delete(_ database: Database) throws {
        try self.deletePieces(database)
        try database.execute(sql: "DELETE FROM view WHERE id = ?", arguments: [self.id])
    }

    // MARK: Pieces

    /// Whether the changes have more bytes than the snapshot.
    var needsRewrite: Bool {
        self.byteCount - self.head.request.count - Self.rowBytes - self.snapshotBytes
            > max(self.snapshotBytes, Self.changeBytesMin)
    }

    private func pieceID(_ number: Int) -> Int64 { self.id << 32 | Int64(number) }

    private func checksum(of frames: [UInt8], _ number: Int) -> UInt64 {
        fnv1a(frames, seed: self.head.recording ^ UInt64(number) &* 0x9e37_79b9_7f4a_7c15)
    }

    private func deletePieces(_ database: Database) throws {
        try database.execute(
            sql: "DELETE FROM piece WHERE id BETWEEN ? AND ?",
            arguments: [self.pieceID(0), self.pieceID(Self.pieceCountMax)]
        )
    }

    /// Adds frames as one piece. The row must be updated then.
    mutating func add(_ frames: [CachedFrame], _ database: Database) throws {
        let bytes = frames.encoded
        try database.execute(
            sql: "INSERT INTO piece (id, frames, checksum) VALUES (?, ?, ?)",
            arguments: [
                self.pieceID(self.pieceCount), bytes.stored, self.checksum(of: bytes, self.pieceCount).stored,
            ]
        )
        self.pieceCount += 1
        self.byteCount += bytes.count
    }

    /// Replaces all pieces by a snapshot, and updates the row.
    mutating func replacePieces(with frames: [CachedFrame], _ database: Database) throws {
        try self.deletePieces(database)
        self.pieceCount = 0
        self.byteCount = self.head.request.count + Self.rowBytes
        try self.add(frames, database)
        self.snapshotBytes = frames.encoded.count
        try self.update(database)
    }

    /// The view with its frames.
    func view(_ database: Database) throws -> CachedView {
        var view = self.head
        let rows = try SQLRow.fetchAll(
            database,
            sql: "SELECT id, frames, checksum FROM piece WHERE id BETWEEN ? AND ? ORDER BY id",
            arguments: [self.pieceID(0), self.pieceID(Self.pieceCountMax)]
        )
        guard rows.count == self.pieceCount else { throw CacheDamage("the number of pieces") }
        for (number, row) in rows.enumerated() {
            let bytes = try row.bytes("frames")
            guard try row.number("id") == UInt64(bitPattern: self.pieceID(number)),
                try row.number("checksum") == self.checksum(of: bytes, number)
            else { throw CacheDamage("a piece") }
            view.frames += try [CachedFrame](encoded: bytes)
        }
        return view
    }
}

extension [CachedFrame] {
    /// Type, number of bytes, and body of each.
    var encoded: [UInt8] {
        var writer = ByteWriter()
        for frame in self {
            writer.write(byte: frame.type)
            writer.write(count: frame.body.count)
            writer.write(raw: frame.body)
        }
        return writer.bytes
    }

    init(encoded bytes: [UInt8]) throws(DecodingFailure) {
        self = try ByteReader.read(bytes) { reader throws(DecodingFailure) in
            var frames: [CachedFrame] = []
            while reader.remaining > 0 {
                let type = try reader.byte("type")
                let count = try reader.count("bytes")
                frames.append(CachedFrame(type: type, body: [UInt8](try reader.raw(count: count, "body"))))
            }
            return frames
        }
    }
}

extension CachedModel {
    private var numbers: [UInt8] {
        var writer = ByteWriter()
        for number in [self.identity, self.hash] { writer.write(integer: number) }
        return writer.bytes
    }

    var checksum: UInt64 { fnv1a(self.bytes, seed: fnv1a(self.numbers)) }
}

// MARK: Values of SQLite

/// A row of a table; `Row` is one of a list.
typealias SQLRow = GRDB.Row

extension UInt64 {
    var stored: Int64 { Int64(bitPattern: self) }
}

extension [UInt8] {
    var stored: DatabaseValue { Data(self).databaseValue }
}

extension SQLRow {
    func bytes(_ column: String) throws -> [UInt8] {
        guard let value = self[column] as DatabaseValue?, case .blob(let data) = value.storage else {
            throw CacheDamage("the column \(column)")
        }
        return [UInt8](data)
    }

    func number(_ column: String) throws -> UInt64 {
        guard let value = self[column] as DatabaseValue?, case .int64(let number) = value.storage else {
            throw CacheDamage("the column \(column)")
        }
        return UInt64(bitPattern: number)
    }

    func count(_ column: String) throws -> Int { Int(Int64(bitPattern: try self.number(column))) }
}

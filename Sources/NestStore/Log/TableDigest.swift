import GRDBSQLite
import NestModel

/// The digest of all tables of a store of a cluster at one position of its log. Equal stores have equal digests.
///
/// Sendable without a lock: the engine's thread begins the read, hands the value over and keeps no reference.
package final class TableDigest: @unchecked Sendable {
    /// The position whose state is hashed.
    package let position: LogPosition
    private let connection: Connection

    fileprivate init(path: String) throws(StoreError) {
        let connection = try Connection(path: path, role: .reader)
        self.connection = connection
        self.position = try connection.access { () throws(StoreError) in
            try connection.execute("BEGIN")
            // SQLite takes its snapshot at the first read.
            guard let state = try LogTable.read(connection, path: path) else {
                preconditionFailure("a store of a cluster")
            }
            return state.position
        }
    }

    deinit {
        try? self.connection.close()
    }

    /// Reads all tables. Blocks: call it once, on a thread that may block.
    package func compute(deadline: ReadDeadline = .none) throws(StoreError) -> Identifier128 {
        try self.connection.limited(by: deadline, "verify when the cluster is less busy") { () throws(StoreError) in
            try self.connection.access { () throws(StoreError) in
                defer { try? self.connection.execute("ROLLBACK") }
                return try TableHash(self.connection).compute()
            }
        }
    }
}

/// Hashes all tables as SQLite stores them, each in the order of its key.
struct TableHash {
    private let connection: Connection
    private static let pieceBytes = 64 << 10

    init(_ connection: Connection) {
        self.connection = connection
    }

    /// Call it in a read transaction.
    func compute() throws(StoreError) -> Identifier128 {
        var hash = RunningHash()
        var piece = ByteWriter(capacity: Self.pieceBytes)
        for table in try self.tables() { try self.add(table, &piece, &hash) }
        hash.update(piece.bytes)
        return hash.finish()
    }

    private struct Table {
        var name: String
        var columns: [String]
        var key: [String]
    }

    /// The tables by name, each with its columns in the order of the table.
    private func tables() throws(StoreError) -> [Table] {
        var tables: [Table] = []
        let names = try self.connection.statement(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_stat%' ORDER BY name"
        )
        while try names.step() { tables.append(Table(name: names.text(0), columns: [], key: [])) }
        names.reset()
        for index in tables.indices {
            let columns = try self.connection.statement("SELECT name, pk FROM pragma_table_info(?1) ORDER BY cid")
            columns.bind(1, text: tables[index].name)
            var key: [(Int64, String)] = []
            while try columns.step() {
                let name = columns.text(0)
                if columns.integer(1) > 0 { key.append((columns.integer(1), name)) }
                // Each node keeps its own.
                if tables[index].name == "nest_token", name == "last_used" { continue }
                tables[index].columns.append(name)
            }
            columns.reset()
            tables[index].key = key.isEmpty ? tables[index].columns : key.sorted { $0.0 < $1.0 }.map(\.1)
        }
        return tables
    }

    private func add(_ table: Table, _ piece: inout ByteWriter, _ hash: inout RunningHash) throws(StoreError) {
        let columns = table.columns.map { EntitySQL.quoted($0) }.joined(separator: ", ")
        let key = table.key.map { EntitySQL.quoted($0) }.joined(separator: ", ")
        let rows = try self.connection.statement(
            "SELECT \(columns) FROM \(EntitySQL.quoted(table.name)) ORDER BY \(key)"
        )
        defer { rows.reset() }
        // A node of a version without the table has the same state.
        if table.name == "nest_reserved", try !ReservedIDs.areThere(self.connection) { return }
        piece.write(string: table.name)
        while try rows.step() {
            for column in table.columns.indices { rows.writeExactly(Int32(column), into: &piece) }
            guard piece.count >= Self.pieceBytes else { continue }
            hash.update(piece.bytes)
            piece.bytes.removeAll(keepingCapacity: true)
        }
        // No type of a value.
        piece.write(byte: 0xff)
    }
}

extension Statement {
    /// Writes a column as SQLite stores it: its type, then its value.
    fileprivate func writeExactly(_ column: Int32, into writer: inout ByteWriter) {
        let type = sqlite3_column_type(self.handle, column)
        writer.write(byte: UInt8(type))
        switch type {
        case SQLITE_INTEGER: writer.write(integer: self.integer(column))
        case SQLITE_FLOAT: writer.write(integer: sqlite3_column_double(self.handle, column).bitPattern)
        case SQLITE_TEXT, SQLITE_BLOB:
            self.withBytes(column) { bytes in
                writer.write(count: bytes.count)
                writer.write(raw: bytes)
            }
        default: break
        }
    }
}

extension StoreReader {
    /// Begins to read all tables at the newest position. Behind a mark, call it on the store's thread and outside a
    /// group; compute the digest on another thread.
    package func beginDigest() throws(StoreError) -> TableDigest { try TableDigest(path: self.path) }
}

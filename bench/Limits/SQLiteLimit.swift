import CSQLite
import GRDBSQLite
import Glibc
import NestModel

/// SQLite alone, without a network: it writes the same rows in the same groups to a table like nest's, with WAL and
/// FULL, and optionally a log.
struct SQLiteLimit {
    /// The sizes in bytes of the two parts of a log row. The log has one row for each transaction, like nest's journal.
    struct LogRow {
        var headers: Int
        var changes: Int
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let database: OpaquePointer
    private let path: String

    init(directory: String) throws {
        self.path = "\(directory)/nestbench-limit-\(UInt64.random(in: 0..<UInt64.max)).sqlite"
        var handle: OpaquePointer?
        // As nestd.
        _ = nest_sqlite_without_memory_counts()
        guard sqlite3_open(self.path, &handle) == SQLITE_OK, let handle else {
            throw Failure(description: "SQLite cannot open \(self.path)")
        }
        self.database = handle
        for sql in [
            "PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL",
            """
            CREATE TABLE Item (id INTEGER PRIMARY KEY, nest_revision INTEGER NOT NULL, title TEXT, note TEXT, done INTEGER,
                extra TEXT, parent INTEGER, position INTEGER, placed INTEGER)
            """,
            "CREATE INDEX Item_parent ON Item (parent, position)",
            """
            CREATE TABLE log (last_revision INTEGER PRIMARY KEY, first_revision INTEGER NOT NULL,
                next_object_id INTEGER NOT NULL, time INTEGER NOT NULL, headers BLOB NOT NULL, changes BLOB NOT NULL)
            """,
        ] { try self.run(sql) }
    }

    func close() {
        sqlite3_close(self.database)
        for suffix in ["", "-wal", "-shm"] { _ = remove(self.path + suffix) }
    }

    private func run(_ sql: String) throws {
        guard sqlite3_exec(self.database, sql, nil, nil, nil) == SQLITE_OK else {
            throw Failure(description: String(cString: sqlite3_errmsg(self.database)))
        }
    }

    private func prepare(_ sql: String) throws -> OpaquePointer {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(self.database, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw Failure(description: String(cString: sqlite3_errmsg(self.database)))
        }
        return statement
    }

    /// Inserts `rows` rows, `perTransaction` in a transaction, each with a log row if `log` is given. Returns the rows
    /// per second.
    func insert(
        rows: Int,
        perTransaction: Int,
        log: LogRow? = nil,
        title: (Int) -> String = { _ in Load.title }
    ) throws -> Double {
        let begin = try self.prepare("BEGIN IMMEDIATE")
        let commit = try self.prepare("COMMIT")
        let insert = try self.prepare("INSERT INTO Item VALUES (?1, ?2, ?3, NULL, 0, NULL, 1, ?4, ?2)")
        let append = try self.prepare("INSERT INTO log VALUES (?1, ?2, ?1, ?1, ?3, ?4)")
        defer { for statement in [begin, commit, insert, append] { sqlite3_finalize(statement) } }
        let parts = [log?.headers ?? 0, log?.changes ?? 0].map { [UInt8](repeating: 120, count: $0) }
        let start = ContinuousClock.now
        var next = try self.count() + 1
        let end = next + Int64(rows)
        while next < end {
            try self.step(begin)
            for _ in 0..<perTransaction where next < end {
                sqlite3_bind_int64(insert, 1, next)
                sqlite3_bind_int64(insert, 2, next)
                sqlite3_bind_text(insert, 3, title(Int(next)), -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
                sqlite3_bind_int64(insert, 4, next << 32)
                try self.step(insert)
                next += 1
            }
            if log != nil {
                sqlite3_bind_int64(append, 1, next - 1)
                sqlite3_bind_int64(append, 2, next - Int64(perTransaction))
                for (index, part) in parts.enumerated() {
                    // SQLite copies the bytes.
                    let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
                    sqlite3_bind_blob(append, Int32(index + 3), part, Int32(part.count), copied)
                }
                try self.step(append)
            }
            try self.step(commit)
        }
        return Double(rows) / (ContinuousClock.now - start).seconds
    }

    /// Replaces all rows by a tree of `rows` rows below row 1: a chain, or all of them children of row 1.
    func fill(_ rows: Int, isChain: Bool) throws {
        try self.run("DELETE FROM Item")
        let title = Load.title.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        try self.run(
            """
            WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i <= \(rows))
            INSERT INTO Item SELECT i, i, '\(title)', NULL, 0, NULL,
                CASE WHEN i = 1 THEN 0 WHEN \(isChain ? 1 : 0) THEN i - 1 ELSE 1 END, i << 32, i FROM n
            """
        )
        try self.run("CREATE TEMP TABLE kept AS SELECT * FROM Item")
    }

    /// Deletes the tree that `fill` created, from row 1 down. Returns the seconds.
    func deleteTree() throws -> Double {
        try self.seconds(
            """
            BEGIN IMMEDIATE;
            DELETE FROM Item WHERE id IN (
                WITH RECURSIVE deleted(id) AS (
                    VALUES (1) UNION ALL SELECT Item.id FROM deleted JOIN Item ON Item.parent = deleted.id
                ) SELECT id FROM deleted
            );
            COMMIT
            """
        )
    }

    /// Inserts the deleted tree again. Returns the seconds.
    func insertTree() throws -> Double {
        try self.seconds("BEGIN IMMEDIATE; INSERT INTO Item SELECT * FROM temp.kept; COMMIT")
    }

    private func seconds(_ sql: String) throws -> Double {
        let start = ContinuousClock.now
        try self.run(sql)
        return (ContinuousClock.now - start).seconds
    }

    /// Inserts a tree of `rows` items in one transaction. Returns the seconds.
    func insertTree(_ rows: Int, _ shape: TreeShape) throws -> Double {
        let insert = try self.prepare("INSERT INTO Item VALUES (?1, ?2, ?3, NULL, 0, NULL, ?4, ?5, ?2)")
        defer { sqlite3_finalize(insert) }
        let depths = shape.depths(rows)
        // The last item at each depth.
        var path: [Int64] = []
        let start = ContinuousClock.now
        try self.run("BEGIN IMMEDIATE")
        for (index, depth) in depths.enumerated() {
            let id = Int64(index + 2)
            path.removeSubrange(depth...)
            sqlite3_bind_int64(insert, 1, id)
            sqlite3_bind_int64(insert, 2, 1)
            let title = BenchText.title(index)
            sqlite3_bind_text(insert, 3, title, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
            sqlite3_bind_int64(insert, 4, path.last ?? 1)
            sqlite3_bind_int64(insert, 5, id << 32)
            try self.step(insert)
            path.append(id)
        }
        try self.run("COMMIT")
        return (ContinuousClock.now - start).seconds
    }

    /// Reads the tree in preorder and copies the values that a client would receive. Returns the seconds.
    func readInPreorder() throws -> Double {
        let select = try self.prepare(
            """
            WITH RECURSIVE tree(id, depth, position, title) AS (
                SELECT id, 0, position, title FROM Item WHERE id = 2
                UNION ALL
                SELECT Item.id, tree.depth + 1, Item.position, Item.title
                FROM tree JOIN Item ON Item.parent = tree.id ORDER BY 2 DESC, 3
            ) SELECT depth, id, title FROM tree
            """
        )
        defer { sqlite3_finalize(select) }
        let start = ContinuousClock.now
        var bytes: [UInt8] = []
        while sqlite3_step(select) == SQLITE_ROW {
            for column in 0..<3 as Range<Int32> {
                if let text = sqlite3_column_text(select, column) {
                    let count = Int(sqlite3_column_bytes(select, column))
                    bytes.append(contentsOf: UnsafeBufferPointer(start: text, count: count))
                }
            }
        }
        guard !bytes.isEmpty else { throw Failure(description: "SQLite returned no rows") }
        return (ContinuousClock.now - start).seconds
    }

    /// Reads all children of row 1 in their order and copies the values that a client would receive. Returns the
    /// seconds.
    func readInOrder() throws -> Double {
        let select = try self.prepare(
            "SELECT id, title, note, done, extra, parent FROM Item WHERE parent = 1 ORDER BY position, id"
        )
        defer { sqlite3_finalize(select) }
        let start = ContinuousClock.now
        var bytes: [UInt8] = []
        while sqlite3_step(select) == SQLITE_ROW {
            for column in 0..<6 as Range<Int32> {
                if let text = sqlite3_column_text(select, column) {
                    let count = Int(sqlite3_column_bytes(select, column))
                    bytes.append(contentsOf: UnsafeBufferPointer(start: text, count: count))
                }
            }
        }
        guard !bytes.isEmpty else { throw Failure(description: "SQLite returned no rows") }
        return (ContinuousClock.now - start).seconds
    }

    /// Returns the average size of a transaction in a store's journal. No process may have the store open.
    static func logRow(ofStore path: String) throws -> LogRow {
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        var statement: OpaquePointer?
        let sql = "SELECT avg(length(headers)), avg(length(changes)) FROM nest_journal WHERE last_revision > 1"
        guard sqlite3_open(path, &handle) == SQLITE_OK,
            sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, sqlite3_step(statement) == SQLITE_ROW
        else { throw Failure(description: "SQLite cannot read the journal of \(path)") }
        defer { sqlite3_finalize(statement) }
        return LogRow(headers: Int(sqlite3_column_int(statement, 0)), changes: Int(sqlite3_column_int(statement, 1)))
    }

    private func count() throws -> Int64 {
        let statement = try self.prepare("SELECT ifnull(max(id), 0) FROM Item")
        defer { sqlite3_finalize(statement) }
        sqlite3_step(statement)
        return sqlite3_column_int64(statement, 0)
    }

    private func step(_ statement: OpaquePointer) throws {
        guard sqlite3_step(statement) == SQLITE_DONE else {
            throw Failure(description: String(cString: sqlite3_errmsg(self.database)))
        }
        sqlite3_reset(statement)
    }
}

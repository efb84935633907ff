import GRDBSQLite
import Glibc
import NestModel

/// SQLite alone: the same rows in the same groups, in a table like nest's, WAL and FULL, no journal, no network.
struct SQLiteLimit {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    private let database: OpaquePointer
    private let path: String

    init(directory: String) throws {
        self.path = "\(directory)/nestbench-limit-\(UInt64.random(in: 0..<UInt64.max)).sqlite"
        var handle: OpaquePointer?
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

    /// Rows a second, with so many rows in a transaction.
    func insert(rows: Int, perTransaction: Int) throws -> Double {
        let begin = try self.prepare("BEGIN IMMEDIATE")
        let commit = try self.prepare("COMMIT")
        let insert = try self.prepare("INSERT INTO Item VALUES (?1, ?2, ?3, NULL, 0, NULL, 1, ?4, ?2)")
        defer { for statement in [begin, commit, insert] { sqlite3_finalize(statement) } }
        let start = ContinuousClock.now
        var next = try self.count() + 1
        let end = next + Int64(rows)
        while next < end {
            try self.step(begin)
            for _ in 0..<perTransaction where next < end {
                sqlite3_bind_int64(insert, 1, next)
                sqlite3_bind_int64(insert, 2, next)
                // Static text lives as long as the program: nothing to copy.
                sqlite3_bind_text(insert, 3, Load.title, -1, unsafeBitCast(-1, to: sqlite3_destructor_type.self))
                sqlite3_bind_int64(insert, 4, next << 32)
                try self.step(insert)
                next += 1
            }
            try self.step(commit)
        }
        return Double(rows) / (ContinuousClock.now - start).seconds
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

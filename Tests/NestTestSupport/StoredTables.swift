import GRDBSQLite
import NestModel
import NestSchema

/// A store's tables, read with plain SQL.
package protocol StoredTables {
    /// Calls `body` with each row of a query until it returns `false`.
    func forEachRow(_ sql: String, _ body: (StoredRow) throws -> Bool) throws
}

/// The current row of a statement, valid until the next step.
package struct StoredRow {
    private let statement: OpaquePointer

    package init(_ statement: OpaquePointer) {
        self.statement = statement
    }

    package func integer(_ column: Int) -> Int64 { sqlite3_column_int64(self.statement, Int32(column)) }

    package func text(_ column: Int) -> String { String(decoding: self.bytes(column), as: UTF8.self) }

    package func id(_ column: Int) -> ObjectID { ObjectID(self.integer(column)) }

    package func value(_ column: Int, _ kind: EntityLayout.Column) -> AttributeValue {
        if sqlite3_column_type(self.statement, Int32(column)) == SQLITE_NULL { return .null }
        switch kind {
        case .reference: return .reference(self.id(column))
        case .string: return .string(String(decoding: self.bytes(column), as: UTF8.self))
        case .integer: return .integer(self.integer(column))
        case .double: return .double(sqlite3_column_double(self.statement, Int32(column)))
        case .boolean: return .boolean(self.integer(column) != 0)
        case .date: return .date(self.integer(column))
        case .data: return .data(self.bytes(column))
        case .uuid:
            let halves = self.bytes(column).reduce(into: (high: 0 as UInt64, low: 0 as UInt64)) {
                $0 = ($0.high << 8 | $0.low >> 56, $0.low << 8 | UInt64($1))
            }
            return .uuid(Identifier128(high: halves.high, low: halves.low))
        }
    }

    private func bytes(_ column: Int) -> [UInt8] {
        let base = sqlite3_column_blob(self.statement, Int32(column))
        return [UInt8](
            UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(self.statement, Int32(column))))
        )
    }
}

/// The file of a store, opened read-only. Another process may have it open too; only committed data is visible.
package final class StoredFile: StoredTables {
    package struct Failure: Error {
        package var message: String
    }

    private var database: OpaquePointer?

    package init(_ path: String) throws {
        guard sqlite3_open_v2(path, &self.database, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK else {
            throw self.failure
        }
        sqlite3_busy_timeout(self.database, 10_000)
    }

    deinit {
        sqlite3_close_v2(self.database)
    }

    private var failure: Failure { Failure(message: String(cString: sqlite3_errmsg(self.database))) }

    package func forEachRow(_ sql: String, _ body: (StoredRow) throws -> Bool) throws {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(self.database, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw self.failure
        }
        defer { sqlite3_finalize(statement) }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: if try !body(StoredRow(statement)) { return }
            case SQLITE_DONE: return
            default: throw self.failure
            }
        }
    }
}

extension StoredFile {
    /// Changes a store that no process has open.
    package static func change(_ path: String, _ sql: String) throws {
        var database: OpaquePointer?
        defer { sqlite3_close_v2(database) }
        guard sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, nil) == SQLITE_OK,
            sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK
        else { throw Failure(message: String(cString: sqlite3_errmsg(database))) }
    }
}

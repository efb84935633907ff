import GRDBSQLite
import NestModel

/// An SQLite file that a test writes with SQL.
package final class SQLiteFile {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    private var database: OpaquePointer?

    package init(_ path: String) throws {
        guard sqlite3_open(path, &self.database) == SQLITE_OK else { throw Failure(description: "cannot open \(path)") }
        sqlite3_exec(self.database, "PRAGMA synchronous = OFF", nil, nil, nil)
    }

    deinit { self.close() }

    package func close() {
        sqlite3_close_v2(self.database)
        self.database = nil
    }

    /// Runs one statement with values for its parameters.
    package func run(_ sql: String, _ values: [AttributeValue] = []) throws {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(self.database, sql, -1, &statement, nil) == SQLITE_OK else { throw self.failure(sql) }
        defer { sqlite3_finalize(statement) }
        for (index, value) in values.enumerated() { Self.bind(statement, Int32(index + 1), value) }
        var code = sqlite3_step(statement)
        while code == SQLITE_ROW { code = sqlite3_step(statement) }
        guard code == SQLITE_DONE else { throw self.failure(sql) }
    }

    private func failure(_ sql: String) -> Failure {
        Failure(description: "\(sql): \(String(cString: sqlite3_errmsg(self.database)))")
    }

    private static func bind(_ statement: OpaquePointer?, _ index: Int32, _ value: AttributeValue) {
        let transient = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        switch value {
        case .null: sqlite3_bind_null(statement, index)
        case .boolean(let value): sqlite3_bind_int64(statement, index, value ? 1 : 0)
        case .integer(let value), .date(let value): sqlite3_bind_int64(statement, index, value)
        case .double(let value): sqlite3_bind_double(statement, index, value)
        case .string(let value): sqlite3_bind_text(statement, index, value, Int32(value.utf8.count), transient)
        case .data(let value): sqlite3_bind_blob(statement, index, value, Int32(value.count), transient)
        case .uuid(let value):
            var writer = ByteWriter(capacity: 16)
            writer.write(identifier: value)
            sqlite3_bind_blob(statement, index, writer.bytes, 16, transient)
        case .reference(let value): sqlite3_bind_int64(statement, index, value.rawValue)
        }
    }
}

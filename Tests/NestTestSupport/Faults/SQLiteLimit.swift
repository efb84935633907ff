import GRDBSQLite

/// Lowers limits of one SQLite connection, so that a test can reach them with little data.
public enum SQLiteLimit {
    /// Lowers `SQLITE_LIMIT_LENGTH`, the maximum bytes of a text, blob or row.
    public static func lowerLength(_ connection: OpaquePointer?, to bytes: Int32) {
        sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, bytes)
    }
}

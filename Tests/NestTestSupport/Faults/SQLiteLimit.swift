import GRDBSQLite

/// Limits of one SQLite connection, lowered so that a test need not be as large as they are.
public enum SQLiteLimit {
    /// Lowers `SQLITE_LIMIT_LENGTH`: no text, blob or row may have more bytes.
    public static func lowerLength(_ connection: OpaquePointer?, to bytes: Int32) {
        sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, bytes)
    }
}

import GRDBSQLite

/// The rows of a query of a store of Core Data. A failure names that store, not the one that is made of it.
final class SourceRows {
    private let statement: Statement
    private let path: String

    init(_ statement: Statement, _ path: String) {
        self.statement = statement
        self.path = path
    }

    static func failure(_ error: StoreError, _ path: String) -> AdoptFailure {
        guard case .sqlite(let code, let message) = error else { return AdoptFailure(.damaged, "\(path): \(error)") }
        switch code & 0xff {
        case SQLITE_NOTADB: return AdoptFailure(.damaged, "\(path) is not an SQLite file")
        case SQLITE_IOERR, SQLITE_CANTOPEN, SQLITE_NOMEM, SQLITE_FULL:
            return AdoptFailure(.unreadable, "cannot read \(path): \(message)")
        default: return AdoptFailure(.damaged, "\(path) is damaged: \(message)")
        }
    }

    func next() throws -> Bool {
        do {
            return try self.statement.step()
        } catch {
            throw Self.failure(error, self.path)
        }
    }

    func isNull(_ column: Int32) -> Bool { self.statement.isNull(column) }

    func integer(_ column: Int32) -> Int64 { self.statement.integer(column) }

    /// The text of a column, or what can be read of it.
    func text(_ column: Int32) -> String {
        self.cell(column).withText { String(decoding: $0, as: UTF8.self) }
    }

    /// A column of the current row.
    func cell(_ column: Int32) -> SourceCell { SourceCell(statement: self.statement.handle, column: column) }
}

/// A column of the current row. Valid until the next row.
struct SourceCell {
    enum Storage {
        case null, integer, real, text, blob
    }

    let statement: OpaquePointer
    let column: Int32

    var storage: Storage {
        switch sqlite3_column_type(self.statement, self.column) {
        case SQLITE_INTEGER: .integer
        case SQLITE_FLOAT: .real
        case SQLITE_TEXT: .text
        case SQLITE_BLOB: .blob
        default: .null
        }
    }

    var integer: Int64 { sqlite3_column_int64(self.statement, self.column) }
    var real: Double { sqlite3_column_double(self.statement, self.column) }

    /// Calls `body` with the text as UTF-8, whatever the encoding of the file is.
    func withText<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
        let base = sqlite3_column_text(self.statement, self.column)
        return body(UnsafeBufferPointer(start: base, count: base == nil ? 0 : self.byteCount))
    }

    func withBlob<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let base = sqlite3_column_blob(self.statement, self.column)
        return body(UnsafeRawBufferPointer(start: base, count: base == nil ? 0 : self.byteCount))
    }

    private var byteCount: Int { Int(sqlite3_column_bytes(self.statement, self.column)) }
}

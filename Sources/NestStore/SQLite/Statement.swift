import GRDBSQLite
import NestModel
import NestSchema

/// A prepared statement, used with plain `sqlite3_*` calls.
///
/// Bind by number from 1, step, read columns by number from 0, reset. Not Sendable: it stays with its connection.
final class Statement {
    let handle: OpaquePointer
    private let meter: WorkMeter
    private let pendingInserts: PendingInserts
    /// SQLite has refused a value, and the parameter is NULL instead: the next step throws `failedBind`.
    private var hasFailedBind = false
    private var failedBind: StoreError?

    init(
        _ database: OpaquePointer?,
        _ sql: String,
        _ meter: WorkMeter,
        _ pendingInserts: PendingInserts
    ) throws(StoreError) {
        self.meter = meter
        self.pendingInserts = pendingInserts
        var handle: OpaquePointer?
        // SQLite's small pool of memory is for what lives shortly, such as cursors: a kept statement must not take it.
        let code = sqlite3_prepare_v3(database, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &handle, nil)
        guard code == SQLITE_OK, let handle else { throw StoreError(database: database, code: code) }
        self.handle = handle
    }

    private var isFinalized = false

    /// A connection that is dropped without being closed, because opening its store has failed, ends with its
    /// statements.
    deinit { self.finalize() }

    /// Finalizes the statement; it must not be used any more.
    func finalize() {
        guard !self.isFinalized else { return }
        self.isFinalized = true
        sqlite3_finalize(self.handle)
    }

    func bind(_ index: Int32, _ value: Int64) {
        self.check(sqlite3_bind_int64(self.handle, index, value))
    }

    func bind(_ index: Int32, _ id: ObjectID?) {
        if let id { self.bind(index, id.rawValue) } else { self.bindNull(index) }
    }

    func bind(_ index: Int32, double value: Double) {
        self.check(sqlite3_bind_double(self.handle, index, value))
    }

    func bindNull(_ index: Int32) {
        self.check(sqlite3_bind_null(self.handle, index))
    }

    /// Copies the bytes.
    func bind(_ index: Int32, blob bytes: [UInt8]) {
        bytes.withUnsafeBytes { buffer in
            // A nil pointer would bind NULL instead of an empty value.
            self.check(
                sqlite3_bind_blob64(
                    self.handle,
                    index,
                    buffer.baseAddress ?? UnsafeRawPointer(self.handle),
                    UInt64(buffer.count),
                    Self.transient
                )
            )
        }
    }

    /// Does not copy the bytes, which must stay until `forgetBindings`.
    func bind(_ index: Int32, uncopiedData bytes: UnsafeRawBufferPointer) {
        let base = bytes.baseAddress ?? UnsafeRawPointer(self.handle)
        self.check(sqlite3_bind_blob64(self.handle, index, base, UInt64(bytes.count), nil))
    }

    func bind(_ index: Int32, uncopiedText utf8: UnsafeRawBufferPointer) {
        self.bind(index, utf8, nil)
    }

    private func bind(_ index: Int32, _ utf8: UnsafeRawBufferPointer, _ destructor: sqlite3_destructor_type?) {
        let base = utf8.baseAddress ?? UnsafeRawPointer(self.handle)
        let text = base.assumingMemoryBound(to: CChar.self)
        self.check(
            sqlite3_bind_text64(self.handle, index, text, UInt64(utf8.count), destructor, UInt8(SQLITE_UTF8))
        )
    }

    /// Makes all parameters NULL.
    func forgetBindings() {
        sqlite3_clear_bindings(self.handle)
    }

    func bind(_ index: Int32, text: String) {
        var text = text
        text.withUTF8 { self.bind(index, UnsafeRawBufferPointer($0), Self.transient) }
    }

    func bind(_ index: Int32, _ value: AttributeValue) {
        switch value {
        case .null: self.bindNull(index)
        case .boolean(let value): self.bind(index, value ? 1 : 0)
        case .integer(let value), .date(let value): self.bind(index, value)
        case .double(let value): self.bind(index, double: value)
        case .string(let value): self.bind(index, text: value)
        case .data(let value): self.bind(index, blob: value)
        case .uuid(let value):
            var writer = ByteWriter(capacity: 16)
            writer.write(identifier: value)
            self.bind(index, blob: writer.bytes)
        case .reference(let value): self.bind(index, value.rawValue)
        }
    }

    /// Checks the result code of a bind. SQLite does not bind a value that is too long, or for which there is no
    /// memory.
    @inline(__always)
    private func check(_ code: Int32) {
        if code != SQLITE_OK { self.noteFailedBind(code) }
    }

    /// Keeps the first error, with its message: the next call to SQLite may replace it.
    @inline(never)
    private func noteFailedBind(_ code: Int32) {
        guard !self.hasFailedBind else { return }
        self.failedBind = StoreError(database: sqlite3_db_handle(self.handle), code: code)
        self.hasFailedBind = true
    }

    @inline(never)
    private func takeFailedBind() -> StoreError {
        guard let error = self.failedBind else { preconditionFailure("a failed bind leaves its error") }
        self.failedBind = nil
        self.hasFailedBind = false
        sqlite3_reset(self.handle)
        return error
    }

    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    /// Steps to the next row, and returns whether there is one. Throws the error of a value that could not be bound.
    func step() throws(StoreError) -> Bool {
        // Checked first: the error must not wait for the statement's next use.
        if self.hasFailedBind { throw self.takeFailedBind() }
        if !self.pendingInserts.isEmpty { try self.pendingInserts.write() }
        try self.meter.step()
        return try self.advance()
    }

    private func advance() throws(StoreError) -> Bool {
        let code = sqlite3_step(self.handle)
        if code == SQLITE_ROW { return true }
        if code == SQLITE_DONE { return false }
        let error = StoreError(database: sqlite3_db_handle(self.handle), code: code)
        sqlite3_reset(self.handle)
        throw error
    }

    /// Call it when no more rows are needed, whether or not they were read to the end.
    func reset() {
        sqlite3_reset(self.handle)
    }

    /// Runs a statement that returns no rows.
    func run() throws(StoreError) {
        defer { self.reset() }
        while try self.step() {}
    }

    /// Writes inserts that have waited: their steps were counted before.
    func runPending() throws(StoreError) {
        defer { self.reset() }
        if self.hasFailedBind { throw self.takeFailedBind() }
        _ = try self.advance()
    }

    func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(self.handle, column) == SQLITE_NULL
    }

    func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(self.handle, column)
    }

    func objectID(_ column: Int32) -> ObjectID {
        ObjectID(self.integer(column))
    }

    /// Valid until the statement steps or resets.
    func withBytes<Result>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let base = sqlite3_column_blob(self.handle, column)
        return body(UnsafeRawBufferPointer(start: base, count: Int(sqlite3_column_bytes(self.handle, column))))
    }

    func blob(_ column: Int32) -> [UInt8] {
        self.withBytes(column) { [UInt8]($0) }
    }

    func text(_ column: Int32) -> String {
        self.withBytes(column) { String(decoding: $0, as: UTF8.self) }
    }

    func value(_ column: Int32, _ kind: EntityLayout.Column) -> AttributeValue {
        if self.isNull(column) { return .null }
        switch kind {
        case .reference: return .reference(self.objectID(column))
        case .string: return .string(self.text(column))
        case .integer: return .integer(self.integer(column))
        case .double: return .double(sqlite3_column_double(self.handle, column))
        case .boolean: return .boolean(self.integer(column) != 0)
        case .date: return .date(self.integer(column))
        case .data: return .data(self.blob(column))
        case .uuid:
            let id = self.withBytes(column) { bytes -> Identifier128? in
                guard bytes.count == 16 else { return nil }
                return Identifier128(
                    high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
                    low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
                )
            }
            return id.map { .uuid($0) } ?? .null
        }
    }

    /// Writes a column in the byte form of values, without creating a value.
    func write(_ column: Int32, _ kind: EntityLayout.Column, into writer: inout ByteWriter) {
        guard !self.isNull(column) else { return writer.write(byte: ValueTag.null) }
        switch kind {
        case .reference:
            writer.write(byte: ValueTag.reference)
            writer.write(objectID: Statement.readable(self.objectID(column)))
        case .string: self.withBytes(column) { writer.write(textValue: $0) }
        case .integer: writer.write(integerValue: self.integer(column))
        case .boolean: writer.write(byte: self.integer(column) != 0 ? ValueTag.yes : ValueTag.no)
        default: writer.write(value: self.value(column, kind))
        }
    }
}

extension StoreError {
    init(database: OpaquePointer?, code: Int32) {
        let message = sqlite3_errmsg(database).map { String(cString: $0) } ?? "unknown error"
        let extended = sqlite3_extended_errcode(database)
        self = .sqlite(code: extended & 0xff == code & 0xff ? extended : code, message: message)
    }
}

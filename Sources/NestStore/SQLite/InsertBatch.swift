import GRDBSQLite
import NestModel
import NestProtocol
import NestSchema

/// Inserts into one table that wait, so that one statement writes many of them.
///
/// A statement opens the table and its indexes, searches each of them from the root, and closes them. For a row this
/// costs two thirds as much as writing it. Only a connection's `PendingInserts` decides when a batch is written.
final class InsertBatch {
    /// The rows of the largest statement. Twice as many would save another 2 % of SQLite's instructions.
    static let rowsMax = 16
    /// The bytes of texts and data after which a batch is full.
    private static let bytesMax = 64 << 10

    /// A column of a waiting row. Texts and data are ranges of `bytes`.
    private enum Cell {
        case null
        case integer(Int64)
        case double(Double)
        case text(start: Int, count: Int)
        case data(start: Int, count: Int)
    }

    /// By the power of two of its rows.
    private let statements: [LazyStatement]
    private let width: Int
    /// Memory for the cells of `rowsMax` rows, of which `cellCount` are used. Not an array: each of the many appends
    /// would check whether it is shared and whether it must grow.
    private let cells: UnsafeMutableBufferPointer<Cell>
    private var cellCount = 0
    private var bytes: [UInt8] = []
    private(set) var rowCount = 0

    var isFull: Bool { self.rowCount == Self.rowsMax || self.bytes.count > Self.bytesMax }

    /// `width`: the number of columns, with the id.
    init(_ connection: Connection, _ sql: EntitySQL) {
        self.width = sql.allColumns.count + 1
        self.statements = (0...Self.rowsMax.trailingZeroBitCount).map { LazyStatement(connection, sql.insert(1 << $0)) }
        self.cells = .allocate(capacity: Self.rowsMax * self.width)
    }

    /// The cells are of a trivial type.
    deinit { self.cells.deallocate() }

    /// Appends a cell. Precondition: the row has a column for it, which is checked when the batch is written, and the
    /// memory has room, which is checked here.
    @inline(__always)
    private func append(cell: Cell) {
        precondition(self.cellCount < self.cells.count, "a row has no more values than columns")
        self.cells.initializeElement(at: self.cellCount, to: cell)
        self.cellCount += 1
    }

    /// Appends a row: its columns follow in the order of the table. Precondition: the batch is not full.
    func beginRow() { self.rowCount += 1 }

    func append(_ value: Int64) { self.append(cell: .integer(value)) }

    func appendNull() { self.append(cell: .null) }

    /// Appends the values of a row's slots.
    @inline(__always)
    func append(_ values: EncodedValues) {
        values.withSlots { slots in slots.forEach { self.append($1) } }
    }

    @inline(__always)
    private func append(_ value: EncodedValue) {
        switch value.content {
        case .null: self.append(cell: .null)
        case .boolean(let value): self.append(cell: .integer(value ? 1 : 0))
        case .integer(let value), .date(let value): self.append(cell: .integer(value))
        case .double(let value): self.append(cell: .double(value))
        case .reference(let id): self.append(cell: .integer(id.rawValue))
        case .text(let utf8):
            self.append(cell: .text(start: self.bytes.count, count: utf8.count))
            self.bytes.append(contentsOf: utf8)
        case .data(let data):
            self.append(cell: .data(start: self.bytes.count, count: data.count))
            self.bytes.append(contentsOf: data)
        case .uuid(let id): self.append(.uuid(id))
        }
    }

    func append(_ value: borrowing AttributeValue) {
        switch copy value {
        case .null: self.append(cell: .null)
        case .boolean(let value): self.append(cell: .integer(value ? 1 : 0))
        case .integer(let value), .date(let value): self.append(cell: .integer(value))
        case .double(let value): self.append(cell: .double(value))
        case .reference(let id): self.append(cell: .integer(id.rawValue))
        case .string(var value):
            let start = self.bytes.count
            value.withUTF8 { self.bytes.append(contentsOf: $0) }
            self.append(cell: .text(start: start, count: self.bytes.count - start))
        case .data(let value):
            self.append(cell: .data(start: self.bytes.count, count: value.count))
            self.bytes.append(contentsOf: value)
        case .uuid(let value):
            let start = self.bytes.count
            withUnsafeBytes(of: value.high.bigEndian) { self.bytes.append(contentsOf: $0) }
            withUnsafeBytes(of: value.low.bigEndian) { self.bytes.append(contentsOf: $0) }
            self.append(cell: .data(start: start, count: self.bytes.count - start))
        }
    }

    /// Appends a value of an import. `chunk`: the bytes of its chunk.
    func append(_ cell: SubtreeColumns.Cell, of chunk: UnsafeRawBufferPointer) {
        switch cell {
        case .null: self.append(cell: .null)
        case .boolean(let value): self.append(cell: .integer(value ? 1 : 0))
        case .integer(let value), .date(let value): self.append(cell: .integer(value))
        case .double(let value): self.append(cell: .double(value))
        case .reference(let id): self.append(cell: .integer(id.rawValue))
        case .uuid(let value): self.append(.uuid(value))
        case .text(let start, let count):
            self.append(cell: .text(start: self.bytes.count, count: count))
            self.bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: chunk[start..<start + count]))
        case .data(let start, let count):
            self.append(cell: .data(start: self.bytes.count, count: count))
            self.bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: chunk[start..<start + count]))
        }
    }

    /// Writes the rows in their order, in statements of as many rows as possible. After an error some of them are
    /// written: the caller rolls back.
    func write() throws(StoreError) {
        defer { self.discard() }
        precondition(self.cellCount == self.rowCount * self.width, "a row has a value for each column")
        var row = 0
        while row < self.rowCount {
            let power = Int.bitWidth - 1 - (self.rowCount - row).leadingZeroBitCount
            try self.write(row * self.width, self.width << power, by: try self.statements[power].get())
            row += 1 << power
        }
    }

    /// SQLite reads texts and data where they are, so the statement runs while the pointers are valid, and forgets them
    /// afterwards.
    private func write(_ first: Int, _ count: Int, by statement: Statement) throws(StoreError) {
        let result = self.bytes.withUnsafeBytes { bytes in
            Result { () throws(StoreError) in
                defer { statement.forgetBindings() }
                self.bind(statement, first, count, bytes)
                try statement.runPending()
            }
        }
        try result.get()
    }

    private func bind(_ statement: Statement, _ first: Int, _ count: Int, _ bytes: UnsafeRawBufferPointer) {
        for index in 0..<count {
            let parameter = Int32(index + 1)
            switch self.cells[first + index] {
            // All parameters are NULL since `forgetBindings`.
            case .null: break
            case .integer(let value): statement.bind(parameter, value)
            case .double(let value): statement.bind(parameter, double: value)
            case .text(let start, let count):
                let text = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
                statement.bind(parameter, uncopiedText: text)
            case .data(let start, let count):
                let data = UnsafeRawBufferPointer(rebasing: bytes[start..<start + count])
                statement.bind(parameter, uncopiedData: data)
            }
        }
    }

    func discard() {
        self.rowCount = 0
        self.cellCount = 0
        // One large value is no reason to keep its memory.
        self.bytes.removeAll(keepingCapacity: self.bytes.capacity <= 4 * Self.bytesMax)
    }
}

/// The inserts of a connection that are not written yet. At most one table has some.
///
/// Every other statement of the connection writes them first, so that no statement runs without them: a read finds
/// them, a savepoint begins after them, and a commit contains them. Only a rollback discards them instead. An error of
/// a waiting insert is an error of the statement that writes it, and of every statement until the rollback: requests
/// whose rows are lost must not be committed. It is `retryIndividually`, as the statement may be of another request.
final class PendingInserts {
    private var batch: InsertBatch?
    private var failure: StoreError?
    /// Whether nothing waits and nothing has failed.
    private(set) var isEmpty = true

    /// Returns the batch of a table for one more row, after what waits for other tables is written.
    @inline(__always)
    func begin(_ batch: InsertBatch) throws(StoreError) {
        if self.batch !== batch {
            try self.write()
            self.batch = batch
            self.isEmpty = false
        }
        batch.beginRow()
    }

    /// Ends a row: writes a full batch.
    @inline(__always)
    func end(_ batch: InsertBatch) throws(StoreError) {
        if batch.isFull { try self.write() }
    }

    func write() throws(StoreError) {
        if let failure { throw failure }
        guard let batch = self.batch else { return }
        self.batch = nil
        do throws(StoreError) {
            try batch.write()
            self.isEmpty = true
        } catch {
            let failure = error.retryingIndividually
            self.failure = failure
            throw failure
        }
    }

    /// Ends with the transaction, or with the savepoint in which they were made.
    func discard() {
        self.batch?.discard()
        (self.batch, self.failure) = (nil, nil)
        self.isEmpty = true
    }
}

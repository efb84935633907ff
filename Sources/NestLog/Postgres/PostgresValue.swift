import CPQ
import NestModel

/// A type of PostgreSQL, by its object id.
enum PostgresType: Oid {
    case bool = 16
    case bytes = 17
    case long = 20
    case short = 21
    case int = 23
    case text = 25
    case uuid = 2950
}

/// A statement that a connection prepares when it first performs it.
struct PostgresStatement: Sendable {
    let name: String
    let sql: String
    let types: [PostgresType]

    init(_ name: String, _ types: [PostgresType], _ sql: String) {
        self.name = name
        self.sql = sql
        self.types = types
    }
}

/// A parameter of a statement.
enum PostgresValue {
    case null
    case bool(Bool)
    case short(Int16)
    case int(Int32)
    case long(Int64)
    case text(String)
    case bytes([UInt8])
    case uuid(Identifier128)
    /// 32 bytes.
    case secret(TokenSecret)

    /// Appends the value in PostgreSQL's binary form; returns `false` for NULL.
    func write(to writer: inout ByteWriter) -> Bool {
        switch self {
        case .null: return false
        case .bool(let value): writer.write(byte: value ? 1 : 0)
        case .short(let value): writer.write(integer: value)
        case .int(let value): writer.write(integer: value)
        case .long(let value): writer.write(integer: value)
        case .text(let value): writer.write(raw: value.utf8)
        case .bytes(let value): writer.write(raw: value)
        case .uuid(let value): writer.write(identifier: value)
        case .secret(let value):
            writer.write(identifier: value.high)
            writer.write(identifier: value.low)
        }
        return true
    }

    /// An upper bound of its bytes.
    var size: Int {
        switch self {
        case .text(let value): value.utf8.count
        case .bytes(let value): value.count
        case .secret: 32
        default: 16
        }
    }
}

/// A row of a result, in binary form.
struct PostgresRow: Sendable {
    let fields: [[UInt8]?]

    func isNull(_ column: Int) -> Bool { self.fields[column] == nil }

    func long(_ column: Int) throws(PostgresFailure) -> Int64 { try self.integer(column) }
    func int(_ column: Int) throws(PostgresFailure) -> Int32 { try self.integer(column) }
    func bool(_ column: Int) throws(PostgresFailure) -> Bool { try self.value(column, count: 1)[0] != 0 }

    func uuid(_ column: Int) throws(PostgresFailure) -> Identifier128 {
        Self.identifier(try self.value(column, count: 16)[...])
    }

    func secret(_ column: Int) throws(PostgresFailure) -> TokenSecret {
        let bytes = try self.value(column, count: 32)
        return TokenSecret(high: Self.identifier(bytes[..<16]), low: Self.identifier(bytes[16...]))
    }

    private static func identifier(_ bytes: ArraySlice<UInt8>) -> Identifier128 {
        func word(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return Identifier128(high: word(bytes.prefix(8)), low: word(bytes.dropFirst(8)))
    }

    func bytes(_ column: Int) throws(PostgresFailure) -> [UInt8] {
        guard let bytes = self.fields[column] else { throw .damaged("a column without a value") }
        return bytes
    }

    func text(_ column: Int) throws(PostgresFailure) -> String {
        String(decoding: try self.bytes(column), as: UTF8.self)
    }

    private func integer<Value: FixedWidthInteger>(_ column: Int) throws(PostgresFailure) -> Value {
        try self.value(column, count: Value.bitWidth / 8).reduce(0) { $0 << 8 | Value($1) }
    }

    private func value(_ column: Int, count: Int) throws(PostgresFailure) -> [UInt8] {
        let bytes = try self.bytes(column)
        guard bytes.count == count else { throw .damaged("a column of \(bytes.count) bytes instead of \(count)") }
        return bytes
    }
}

/// What a statement returned.
struct PostgresResult: Sendable {
    var rows: [PostgresRow] = []
    /// The number of rows that it inserted, changed, deleted or returned.
    var affected = 0
    /// Such as `COMMIT`, or `ROLLBACK` for a COMMIT of a transaction that has failed.
    var tag = ""
    /// A warning came with it. A commit with a warning may not have reached the standby.
    var hasWarning = false
}

/// The value of an attribute or of a to-one relationship (the id it points to).
///
/// Equality is exact: two strings are equal if their UTF-8 bytes are equal (`==` of `String` uses canonical equivalence
/// instead), two doubles if their bits are equal.
public enum AttributeValue: Sendable {
    case null
    case boolean(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    /// Microseconds since 1970-01-01 UTC.
    case date(Int64)
    case data([UInt8])
    case uuid(Identifier128)
    case reference(ObjectID)

    public var isNull: Bool {
        if case .null = self { true } else { false }
    }

    /// The id that a to-one relationship points to.
    @inlinable
    public var referenceValue: ObjectID? {
        if case .reference(let id) = self { id } else { nil }
    }

    public var stringValue: String? {
        if case .string(let string) = self { string } else { nil }
    }

    /// The name of the case, for error texts.
    public var typeName: String {
        switch self {
        case .null: "null"
        case .boolean: "boolean"
        case .integer: "integer"
        case .double: "double"
        case .string: "string"
        case .date: "date"
        case .data: "data"
        case .uuid: "uuid"
        case .reference: "reference"
        }
    }
}

extension AttributeValue: Hashable {
    public static func == (a: AttributeValue, b: AttributeValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.boolean(let x), .boolean(let y)): x == y
        case (.integer(let x), .integer(let y)): x == y
        case (.double(let x), .double(let y)): x.bitPattern == y.bitPattern
        case (.string(let x), .string(let y)): x.hasSameBytes(as: y)
        case (.date(let x), .date(let y)): x == y
        case (.data(let x), .data(let y)): x == y
        case (.uuid(let x), .uuid(let y)): x == y
        case (.reference(let x), .reference(let y)): x == y
        default: false
        }
    }

    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null:
            hasher.combine(0)
        case .boolean(let value):
            hasher.combine(value)
        case .integer(let value), .date(let value):
            hasher.combine(value)
        case .double(let value):
            hasher.combine(value.bitPattern)
        case .string(let value):
            var value = value
            value.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
        case .data(let value):
            hasher.combine(value)
        case .uuid(let value):
            hasher.combine(value)
        case .reference(let value):
            hasher.combine(value)
        }
    }
}

extension String {
    /// Whether both strings hold the same UTF-8 bytes. The model never uses `==` on strings, which is canonical
    /// equivalence ("é" as one scalar or two).
    public func hasSameBytes(as other: String) -> Bool {
        var a = self
        var b = other
        return a.withUTF8 { a in b.withUTF8 { b in a.count == b.count && a.elementsEqual(b) } }
    }
}

import Foundation

/// Any JSON value, so that the fields of a vector can be compared as written.
public enum JSONValue: Equatable, Sendable, Decodable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([String: JSONValue])

    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Int64.self) {
            self = .integer(value)
        } else if let value = try? container.decode(Double.self) {
            self = .double(value)
        } else if let value = try? container.decode(String.self) {
            self = .string(value)
        } else if let value = try? container.decode([JSONValue].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSONValue].self))
        }
    }

    // Strings are compared by their bytes, as everywhere in nest: "é" has two encodings.
    public static func == (a: JSONValue, b: JSONValue) -> Bool {
        switch (a, b) {
        case (.null, .null): true
        case (.bool(let x), .bool(let y)): x == y
        case (.integer(let x), .integer(let y)): x == y
        case (.double(let x), .double(let y)): x.bitPattern == y.bitPattern
        case (.string(let x), .string(let y)): x.utf8.elementsEqual(y.utf8)
        case (.array(let x), .array(let y)): x == y
        case (.object(let x), .object(let y)): x == y
        default: false
        }
    }
}

/// The error for an invalid vector file.
public struct VectorError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) {
        self.description = description
    }
}

extension JSONValue {
    /// Returns a field of an object.
    public subscript(_ name: String) -> JSONValue {
        get throws {
            guard case .object(let fields) = self, let value = fields[name] else {
                throw VectorError("no field '\(name)' in \(self)")
            }
            return value
        }
    }

    /// Returns a field of an object, or `nil` if it is absent.
    public func optional(_ name: String) -> JSONValue? {
        guard case .object(let fields) = self else { return nil }
        return fields[name]
    }

    public var int: Int {
        get throws {
            guard case .integer(let value) = self else { throw VectorError("not a whole number: \(self)") }
            return Int(value)
        }
    }

    public var text: String {
        get throws {
            guard case .string(let value) = self else { throw VectorError("not a string: \(self)") }
            return value
        }
    }

    public var elements: [JSONValue] {
        get throws {
            guard case .array(let value) = self else { throw VectorError("not a list: \(self)") }
            return value
        }
    }

    public var isTrue: Bool { self == .bool(true) }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(Dictionary(uniqueKeysWithValues: elements))
    }
}

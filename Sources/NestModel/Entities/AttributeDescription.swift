/// The attribute types, as in Core Data.
public enum AttributeType: UInt8, Sendable, CaseIterable {
    case string = 1
    /// 64 bits.
    case integer = 2
    case double = 3
    case boolean = 4
    case date = 5
    case data = 6
    case uuid = 7
    case integer16 = 8
    case integer32 = 9
    /// Stored with 32-bit precision.
    case float = 10
    /// Decimal digits as text, in the canonical form of `DecimalText.canonical`; ordered as numbers.
    case decimal = 11
    /// Text of the characters of RFC 3986.
    case uri = 12
    /// Data of up to `Limits.largeValueBytesMax` bytes, outside the rows: a row has a `LargeValue`.
    case largeData = 13
    /// UTF-8 text of up to `Limits.largeValueBytesMax` bytes, outside the rows: a row has a `LargeValue`.
    case largeText = 14

    /// Whether rows have a `LargeValue` instead of the value, which has no order and is compared with null only.
    public var isLarge: Bool { self == .largeData || self == .largeText }

    /// Whether a value has the right kind for this type. `AttributeDescription.fault` checks its range and form.
    public func admits(_ value: AttributeValue) -> Bool {
        switch (self, value) {
        case (.string, .string), (.integer, .integer), (.double, .double), (.boolean, .boolean), (.date, .date),
            (.data, .data), (.uuid, .uuid), (.integer16, .integer), (.integer32, .integer), (.float, .double),
            (.decimal, .string), (.uri, .string), (.largeData, .data), (.largeText, .data):
            true
        default:
            false
        }
    }

    /// Whether every value of type `other` is also a value of this type, with the same bytes in the store.
    public func holds(_ other: AttributeType) -> Bool {
        switch (other, self) {
        case (.integer16, .integer32), (.integer16, .integer), (.integer32, .integer), (.float, .double),
            (.uri, .string), (.decimal, .string):
            true
        default:
            self == other
        }
    }
}

public struct AttributeDescription: Hashable, Sendable {
    public let number: PropertyNumber
    public let name: String
    public let type: AttributeType
    public let isOptional: Bool
    /// The value for an insert that does not set one.
    public let defaultValue: AttributeValue
    /// Whether an insert that does not set a value gets the time of its commit.
    public let defaultsToNow: Bool
    /// The least value, for text the least number of UTF-16 units; `.null`: no bound.
    public let minimum: AttributeValue
    /// The greatest value, for text the greatest number of UTF-16 units; `.null`: no bound.
    public let maximum: AttributeValue
    /// The regular expression, in the syntax of RE2, that a whole text must match; `nil`: none. Only the server checks
    /// it.
    public internal(set) var pattern: String?
    /// The attribute's name in an earlier version of the model. Clients do not see it.
    public let renamedFrom: String?

    public init(
        number: UInt16,
        name: String,
        type: AttributeType,
        isOptional: Bool = false,
        defaultValue: AttributeValue = .null,
        defaultsToNow: Bool = false,
        minimum: AttributeValue = .null,
        maximum: AttributeValue = .null,
        pattern: String? = nil,
        renamedFrom: String? = nil
    ) {
        self.number = PropertyNumber(number)
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.defaultValue = defaultValue
        self.defaultsToNow = defaultsToNow
        self.minimum = minimum
        self.maximum = maximum
        self.pattern = pattern
        self.renamedFrom = renamedFrom
    }

    /// Returns the value as it is stored: a decimal in canonical form, a float rounded to 32 bits, no negative zero.
    public func kept(_ value: AttributeValue) -> AttributeValue {
        switch (self.type, value) {
        case (.decimal, .string(let text)): .string(DecimalText.canonical(text) ?? text)
        case (.float, .double(let number)): .double(Double(Float(number)) + 0)
        case (.double, .double(let number)): .double(number + 0)
        default: value
        }
    }

    /// Returns what is wrong with a value, in words that follow the attribute's name; `nil` if it may be stored. Null
    /// is allowed if `isOptional`.
    public func fault(_ value: AttributeValue) -> (reason: ValidationFault.Reason, text: String)? {
        if value.isNull { return self.isOptional ? nil : (.required, "is required") }
        guard self.type.admits(value) else { return (.type, "is \(self.type), not \(value.typeName)") }
        let byteCount = value.byteCount
        if byteCount > Limits.valueBytesMax {
            return (.tooLarge, "has \(byteCount) bytes; at most \(Limits.valueBytesMax) are allowed")
        }
        switch (self.type, value) {
        case (.double, .double(let number)) where number.isNaN: return (.text, "is not a number")
        case (.float, .double(let number)) where number.isNaN: return (.text, "is not a number")
        case (.float, .double(let number)) where number.isFinite && !Float(number).isFinite:
            return (.range, "is beyond the range of a float")
        case (.integer16, .integer(let number)) where Int16(exactly: number) == nil:
            return (.range, "is beyond the range of 16 bits")
        case (.integer32, .integer(let number)) where Int32(exactly: number) == nil:
            return (.range, "is beyond the range of 32 bits")
        case (.decimal, .string(let text)) where DecimalText.canonical(text) == nil:
            return (.text, "is not a decimal number of at most \(DecimalText.digitsMax) digits")
        case (.uri, .string(let text)) where !Self.isURI(text):
            return (.text, "is not a URI: use at least one character, and only those of RFC 3986")
        case (.largeData, .data(let bytes)) where LargeValue(bytes) == nil,
            (.largeText, .data(let bytes)) where LargeValue(bytes) == nil:
            return (.type, "is \(self.type): send the bytes with PUT_VALUE, and set what its answer holds")
        case (.string, .string(var text)) where text.withUTF8({ $0.contains(0) }):
            return (.text, "holds a NUL character")
        default: return self.rangeFault(self.kept(value))
        }
    }

    private func rangeFault(_ value: AttributeValue) -> (reason: ValidationFault.Reason, text: String)? {
        guard !(self.minimum.isNull && self.maximum.isNull) else { return nil }
        if self.type == .string || self.type == .uri, case .string(let text) = value {
            let count = Int64(text.utf16.count)
            if case .integer(let least) = self.minimum, count < least {
                return (.range, least == 1 ? "must not be empty" : "must have at least \(least) characters")
            }
            if case .integer(let greatest) = self.maximum, count > greatest {
                return (.range, "must have at most \(greatest) characters")
            }
            return nil
        }
        // Rounds the bound like the values, so that a value equal to the bound is allowed.
        if !self.minimum.isNull, self.isBelow(value, self.kept(self.minimum)) {
            return (.range, "must be at least \(self.minimum.plainText)")
        }
        if !self.maximum.isNull, self.isBelow(self.kept(self.maximum), value) {
            return (.range, "must be at most \(self.maximum.plainText)")
        }
        return nil
    }

    /// Whether every value of the attribute's type may be stored as it is, if it is not too large.
    package var isPlain: Bool {
        guard self.minimum.isNull, self.maximum.isNull, self.pattern == nil else { return false }
        return switch self.type {
        case .string, .integer, .boolean, .date, .data, .uuid: true
        case .double, .float, .decimal, .integer16, .integer32, .uri, .largeData, .largeText: false
        }
    }

    func isBelow(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): a < b
        case (.double(let a), .double(let b)): a < b
        case (.date(let a), .date(let b)): a < b
        case (.string(let a), .string(let b)): DecimalText.isLess(a, b)
        default: false
        }
    }

    /// RFC 3986, section 2: unreserved, reserved, and percent signs.
    private static func isURI(_ text: String) -> Bool {
        !text.isEmpty
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"):
                    true
                default: "-._~:/?#[]@!$&'()*+,;=%".utf8.contains(byte)
                }
            }
    }
}

extension AttributeValue {
    /// The bytes of a text or data value; 0 for the other types.
    public var byteCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let bytes): bytes.count
        default: 0
        }
    }

    /// The value in an error text.
    var plainText: String {
        switch self {
        case .null: "null"
        case .boolean(let value): value ? "yes" : "no"
        case .integer(let value): "\(value)"
        case .double(let value): "\(value)"
        case .string(let value): value
        case .date(let value): "\(value) microseconds after 1970"
        case .data(let value): "\(value.count) bytes"
        case .uuid(let value): value.uuidString
        case .reference(let value): "\(value)"
        }
    }
}

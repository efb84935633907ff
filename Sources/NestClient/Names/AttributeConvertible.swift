import NestModel

/// A type whose values are values of an attribute or of a to-one relationship, in rows and in changes.
///
/// Such types are `String`, `Bool`, integers up to 64 bits, `Double`, `Float`, `[UInt8]`, `ObjectID`, Foundation's
/// `Date`, `Data`, `UUID`, `URL` and `Decimal`, and their Optionals. An enumeration with raw values becomes one by
/// declaring it:
///
///     enum Priority: Int, AttributeConvertible { case low, usual, high }
public protocol AttributeConvertible: MutationValueConvertible {
    /// `nil`: the value is none of this type. Null is a value of Optionals only.
    init?(_ value: AttributeValue)
}

extension AttributeValue: AttributeConvertible {
    public init?(_ value: AttributeValue) { self = value }
}

extension String: AttributeConvertible {
    /// Text, also that of a decimal or a URI.
    public init?(_ value: AttributeValue) {
        guard case .string(let text) = value else { return nil }
        self = text
    }
}

extension Bool: AttributeConvertible {
    public init?(_ value: AttributeValue) {
        guard case .boolean(let flag) = value else { return nil }
        self = flag
    }
}

extension AttributeConvertible where Self: FixedWidthInteger {
    /// `nil` also for a number that this type cannot hold.
    public init?(_ value: AttributeValue) {
        guard case .integer(let number) = value else { return nil }
        self.init(exactly: number)
    }
}

extension Int: AttributeConvertible {}
extension Int64: AttributeConvertible {}
extension Int32: AttributeConvertible {}
extension Int16: AttributeConvertible {}
extension Int8: AttributeConvertible {}
extension UInt: AttributeConvertible {}
extension UInt64: AttributeConvertible {}
extension UInt32: AttributeConvertible {}
extension UInt16: AttributeConvertible {}
extension UInt8: AttributeConvertible {}

extension Double: AttributeConvertible {
    /// A double or an integer that is exactly a double.
    public init?(_ value: AttributeValue) {
        switch value {
        case .double(let number): self = number
        case .integer(let number): self.init(exactly: number)
        default: return nil
        }
    }
}

extension Float: AttributeConvertible {
    /// A double, rounded to 32 bits as a `float` attribute is, or an integer that is exactly a float.
    public init?(_ value: AttributeValue) {
        switch value {
        case .double(let number): self.init(number)
        case .integer(let number): self.init(exactly: number)
        default: return nil
        }
    }
}

extension [UInt8]: MutationValueConvertible, AttributeConvertible {
    public var mutationValue: MutationValue { .value(.data(self)) }

    public init?(_ value: AttributeValue) {
        guard case .data(let bytes) = value else { return nil }
        self = bytes
    }
}

/// What a row has of a large value. The result of ``NestClient/send(_:_:)`` can be set.
extension LargeValue: MutationValueConvertible, AttributeConvertible {
    public var mutationValue: MutationValue { .value(self.value) }
}

extension Identifier128: AttributeConvertible {
    public var mutationValue: MutationValue { .value(.uuid(self)) }

    public init?(_ value: AttributeValue) {
        guard case .uuid(let identifier) = value else { return nil }
        self = identifier
    }
}

extension ObjectID: AttributeConvertible {
    public init?(_ value: AttributeValue) {
        guard case .reference(let id) = value else { return nil }
        self = id
    }
}

extension Optional: MutationValueConvertible where Wrapped: MutationValueConvertible {
    public var mutationValue: MutationValue {
        get throws(NestError) { try self?.mutationValue ?? .value(.null) }
    }
}

extension Optional: AttributeConvertible where Wrapped: AttributeConvertible {
    /// Null is `.some(nil)`; `nil` is a value of another type.
    public init?(_ value: AttributeValue) {
        if value.isNull {
            self = .none
        } else {
            guard let wrapped = Wrapped(value) else { return nil }
            self = .some(wrapped)
        }
    }
}

extension AttributeConvertible where Self: RawRepresentable, RawValue: AttributeConvertible {
    public var mutationValue: MutationValue {
        get throws(NestError) { try self.rawValue.mutationValue }
    }

    /// `nil` also for a raw value that the type does not have.
    public init?(_ value: AttributeValue) {
        guard let rawValue = RawValue(value) else { return nil }
        self.init(rawValue: rawValue)
    }
}

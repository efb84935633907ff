import NestModel

/// A value in changes that are written by name: `["name": "Ann", "number": 3, "born": Date.now, "user": ann]`.
///
/// An object is a value too: the destination of a to-one relationship. Null is `AttributeValue.null`, or an Optional
/// that is `nil`.
public protocol MutationValueConvertible: Sendable {
    /// Throws `validationFailed` for a value that no attribute can hold, such as a date that is not a number.
    var mutationValue: MutationValue { get throws(NestError) }
}

extension MutationValue: MutationValueConvertible {
    public var mutationValue: MutationValue { self }
}

extension AttributeValue: MutationValueConvertible {
    public var mutationValue: MutationValue { .value(self) }
}

extension String: MutationValueConvertible {
    public var mutationValue: MutationValue { .value(.string(self)) }
}

extension MutationValueConvertible where Self: FixedWidthInteger {
    public var mutationValue: MutationValue {
        get throws(NestError) {
            guard let number = Int64(exactly: self) else {
                throw NestError(.validationFailed, "\(self) is beyond the range of 64 bits with a sign")
            }
            return .value(.integer(number))
        }
    }
}

extension Double: MutationValueConvertible {
    public var mutationValue: MutationValue { .value(.double(self)) }
}

extension Float: MutationValueConvertible {
    public var mutationValue: MutationValue { .value(.double(Double(self))) }
}

extension Bool: MutationValueConvertible {
    public var mutationValue: MutationValue { .value(.boolean(self)) }
}

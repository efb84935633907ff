import NestModel

/// A value in changes that are written by name: `["name": "Ann", "number": 3, "user": ann]`.
///
/// Dates, data, UUIDs and null are written as `AttributeValue.date(microseconds)` and so on.
public protocol MutationValueConvertible: Sendable {
    var mutationValue: MutationValue { get }
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

extension Int: MutationValueConvertible {
    public var mutationValue: MutationValue { .value(.integer(Int64(self))) }
}

extension Double: MutationValueConvertible {
    public var mutationValue: MutationValue { .value(.double(self)) }
}

extension Bool: MutationValueConvertible {
    public var mutationValue: MutationValue { .value(.boolean(self)) }
}

extension ObjectReference: MutationValueConvertible {
    public var mutationValue: MutationValue { .reference(self) }
}

extension ObjectID: MutationValueConvertible {
    public var mutationValue: MutationValue { .reference(.object(self)) }
}

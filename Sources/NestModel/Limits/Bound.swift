/// Declares one limit: its value, what happens when it is exceeded, and its meaning.
///
///     @Bound(.refused, "Bytes of one string or data value")
///     public var valueBytesMax = 64 << 10
@propertyWrapper
public struct Bound<Value: BinaryInteger & Sendable>: Sendable {
    public let wrappedValue: Value
    let beyond: Limit.Beyond
    let meaning: StaticString

    public init(wrappedValue: Value, _ beyond: Limit.Beyond, _ meaning: StaticString) {
        self.wrappedValue = wrappedValue
        self.beyond = beyond
        self.meaning = meaning
    }
}

/// A limit of any integer type. ``Limit/list(_:)`` finds the limits of a group by this protocol.
protocol DeclaredLimit {
    func limit(named name: String) -> Limit
}

extension Bound: DeclaredLimit {
    func limit(named name: String) -> Limit {
        Limit(name: name, value: Int64(self.wrappedValue), beyond: self.beyond, what: "\(self.meaning)")
    }
}

/// Declares one limit: its value, what happens beyond it, and what it means.
///
///     @Bound(.refused, "One string or data value")
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

/// A limit whose type of number is not known: what ``Limit/list(_:)`` meets when it goes through a group of limits.
protocol DeclaredLimit {
    func limit(named name: String) -> Limit
}

extension Bound: DeclaredLimit {
    func limit(named name: String) -> Limit {
        Limit(name: name, value: Int64(self.wrappedValue), beyond: self.beyond, what: "\(self.meaning)")
    }
}

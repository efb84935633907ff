/// A counter or gauge of the server, by its stable name.
public struct Statistic: Hashable, Sendable {
    public var name: String
    /// Below 2^62.
    public var value: UInt64

    public init(name: String, value: UInt64) {
        self.name = name
        self.value = value
    }
}

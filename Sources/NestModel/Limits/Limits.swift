/// All limits of nest, by name: `Limits.valueBytesMax`. Each is declared once, in its group, with its value, its
/// meaning and what happens when it is exceeded. `protocol.md` and `nestd --print-limits` list `all`.
@dynamicMemberLookup
public enum Limits {
    public static let model = ModelLimits()

    @inlinable public static subscript<Value>(dynamicMember limit: KeyPath<ModelLimits, Value>) -> Value {
        self.model[keyPath: limit]
    }
}

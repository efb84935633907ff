/// The order of values that sorting, predicates and bounds share.
extension AttributeValue {
    /// Compares two values: below 0, 0, or above 0; `nil` when they cannot be compared, and always for null. Text
    /// compares by the bytes of its folded form, numbers by their exact value.
    public func compared(with other: AttributeValue, folding: TextFolding = []) -> Int? {
        switch (self, other) {
        case (.integer(let a), .integer(let b)), (.date(let a), .date(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.double(let a), .double(let b)): a < b ? -1 : a > b ? 1 : a == b ? 0 : nil
        case (.integer(let a), .double(let b)): Self.compare(a, b)
        case (.double(let a), .integer(let b)): Self.compare(b, a).map { -$0 }
        case (.string(let a), .string(let b)): Self.compare(folding.fold(a), folding.fold(b))
        case (.boolean(let a), .boolean(let b)): a == b ? 0 : a ? 1 : -1
        case (.uuid(let a), .uuid(let b)): a < b ? -1 : a == b ? 0 : 1
        case (.reference(let a), .reference(let b)): a < b ? -1 : a == b ? 0 : 1
        case (.data(let a), .data(let b)): a.lexicographicallyPrecedes(b) ? -1 : a == b ? 0 : 1
        default: nil
        }
    }

    private static func compare(_ a: String, _ b: String) -> Int {
        var a = a
        var b = b
        return a.withUTF8 { a in
            b.withUTF8 { b in
                if a.lexicographicallyPrecedes(b) { return -1 }
                return a.count == b.count && a.elementsEqual(b) ? 0 : 1
            }
        }
    }

    /// Compares an integer with a double, exactly: a 64-bit double cannot hold every `Int64`.
    private static func compare(_ a: Int64, _ b: Double) -> Int? {
        if b.isNaN { return nil }
        if b >= 9_223_372_036_854_775_808 { return -1 }
        if b < -9_223_372_036_854_775_808 { return 1 }
        let whole = Int64(b.rounded(.towardZero))
        if a != whole { return a < whole ? -1 : 1 }
        let rest = b - Double(whole)
        return rest > 0 ? -1 : rest < 0 ? 1 : 0
    }
}

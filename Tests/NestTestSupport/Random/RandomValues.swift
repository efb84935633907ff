import NestModel

/// Random attribute values: few different ones, so that equal values are frequent, in all valid notations.
extension SeededRandom {
    /// Returns a valid value; sometimes null if the attribute is optional.
    package mutating func soundValue(of attribute: AttributeDescription) -> AttributeValue {
        if attribute.isOptional, self.oneIn(6) { return .null }
        for _ in 0..<200 {
            let value = self.triedValue(of: attribute.type)
            if case .kept = NaiveValue(attribute, value) { return value }
        }
        preconditionFailure("\(attribute.name): no valid value found")
    }

    /// Returns a value of the right type, mostly a valid one.
    package mutating func triedValue(of type: AttributeType) -> AttributeValue {
        let small = Int64(self.below(14)) - 1
        switch type {
        case .string: return .string(self.pick(["", "x", "yz", "\u{e9}", "e\u{301}", "\u{1f600}", "abc", "k\(small)"]))
        case .uri: return .string(self.pick(["a", "b:c", "http://x.y/\(small)", "%20", "u\(small)"]))
        case .integer: return .integer(self.oneIn(12) ? self.integer() : small)
        case .integer16: return .integer(self.oneIn(12) ? self.pick([-32_768, 32_767]) : small)
        case .integer32: return .integer(self.oneIn(12) ? self.pick([-2_147_483_648, 2_147_483_647]) : small)
        case .double, .float:
            return .double(self.oneIn(12) ? self.pick([-0.0, 1e-300, -1e30, 0.1]) : Double(small) / 10)
        case .boolean: return .boolean(self.oneIn(2))
        case .date: return .date(small)
        case .data: return .data(self.bytes(self.below(3)).map { $0 & 3 })
        case .largeData, .largeText: return self.keptValue(of: type)
        case .uuid: return .uuid(Identifier128(high: 0, low: UInt64(small + 1)))
        case .decimal: return .string(self.decimal(small))
        }
    }

    /// Returns one of several notations of a number.
    private mutating func decimal(_ number: Int64) -> String {
        self.pick([
            "\(number)", "\(number).0", number < 0 ? "\(number)" : "+00\(number)", "\(number)0e-1", "\(number).50",
            "\(number)e2",
            "0", "-0.00", ".5", "7.", "\(number)e-3",
        ])
    }

    /// Returns a value that the attribute refuses, for a random reason.
    package mutating func wrongValue(of attribute: AttributeDescription) -> AttributeValue {
        let candidates: [AttributeValue] = [
            .null, .boolean(true), .integer(40_000), .integer(3_000_000_000), .integer(99), .integer(-99),
            .double(.nan),
            .double(1e39), .double(-77), .string("a\0b"), .string("no uri or decimal"), .string("1e40"), .string(""),
            .string(String(repeating: "w", count: 70_000)), .string("--1"), .string("1e"), .string("0.1.2"), .data([]),
            .date(99), .uuid(Identifier128(high: 1, low: 1)), .reference(ObjectID(1)),
            .data([UInt8](repeating: 7, count: 65_537)), .string("-99"), .string(String(repeating: "9", count: 39)),
        ]
        for _ in 0..<200 {
            let value = self.pick(candidates)
            if case .refused = NaiveValue(attribute, value) { return value }
        }
        return .reference(ObjectID(1))
    }
}

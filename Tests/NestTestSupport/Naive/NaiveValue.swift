import NestModel

/// A naive check of an attribute value by the contract: its stored form, or the reason for its refusal.
package enum NaiveValue {
    case kept(AttributeValue)
    case refused(ValidationFault.Reason)

    package init(_ attribute: AttributeDescription, _ value: AttributeValue) {
        if case .null = value {
            self = attribute.isOptional ? .kept(.null) : .refused(.required)
            return
        }
        if case .string(let text) = value, [.string, .uri, .decimal].contains(attribute.type), text.utf8.count > 65_536
        {
            self = .refused(.tooLarge)
        } else {
            self = Self.typed(attribute, value)
        }
    }

    private static func typed(_ attribute: AttributeDescription, _ value: AttributeValue) -> NaiveValue {
        switch (attribute.type, value) {
        case (.integer, .integer(let number)): return Self.number(attribute, number, Int64.min...Int64.max)
        case (.integer32, .integer(let number)): return Self.number(attribute, number, -2_147_483_648...2_147_483_647)
        case (.integer16, .integer(let number)): return Self.number(attribute, number, -32_768...32_767)
        case (.double, .double(let number)):
            if number != number { return .refused(.text) }
            return Self.real(attribute, number == 0 ? 0 : number) { $0 }
        case (.float, .double(let number)):
            if number != number { return .refused(.text) }
            if number.magnitude < .infinity, Float(number).magnitude == .infinity { return .refused(.range) }
            return Self.real(attribute, number == 0 ? 0 : Double(Float(number))) { Double(Float($0)) }
        case (.boolean, .boolean), (.uuid, .uuid): return .kept(value)
        case (.date, .date(let time)):
            if case .date(let least) = attribute.minimum, time < least { return .refused(.range) }
            if case .date(let greatest) = attribute.maximum, time > greatest { return .refused(.range) }
            return .kept(value)
        case (.data, .data(let bytes)): return bytes.count > 65_536 ? .refused(.tooLarge) : .kept(value)
        case (.string, .string(let text)):
            return text.utf8.contains(0) ? .refused(.text) : Self.length(attribute, text)
        case (.uri, .string(let text)):
            let others = Set("-._~:/?#[]@!$&'()*+,;=%".utf8)
            let isURI = text.utf8.allSatisfy { byte in
                (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
                    || others.contains(byte)
            }
            return isURI && !text.isEmpty ? Self.length(attribute, text) : .refused(.text)
        case (.decimal, .string(let text)): return Self.decimal(attribute, text)
        default: return .refused(.type)
        }
    }

    private static func number(
        _ attribute: AttributeDescription,
        _ number: Int64,
        _ range: ClosedRange<Int64>
    ) -> NaiveValue {
        if !range.contains(number) { return .refused(.range) }
        if case .integer(let least) = attribute.minimum, number < least { return .refused(.range) }
        if case .integer(let greatest) = attribute.maximum, number > greatest { return .refused(.range) }
        return .kept(.integer(number))
    }

    /// Bounds are rounded to the attribute's precision, so that the bound itself is valid.
    private static func real(
        _ attribute: AttributeDescription,
        _ number: Double,
        _ rounded: (Double) -> Double
    ) -> NaiveValue {
        if case .double(let least) = attribute.minimum, number < rounded(least) { return .refused(.range) }
        if case .double(let greatest) = attribute.maximum, number > rounded(greatest) { return .refused(.range) }
        return .kept(.double(number))
    }

    private static func length(_ attribute: AttributeDescription, _ text: String) -> NaiveValue {
        let count = Int64(Array(text.utf16).count)
        if case .integer(let least) = attribute.minimum, count < least { return .refused(.range) }
        if case .integer(let greatest) = attribute.maximum, count > greatest { return .refused(.range) }
        return .kept(.string(text))
    }

    // MARK: Decimals

    private static func decimal(_ attribute: AttributeDescription, _ text: String) -> NaiveValue {
        guard let number = NaiveDecimal(text), number.digitCount <= 38 else { return .refused(.text) }
        if case .string(let least) = attribute.minimum, number < NaiveDecimal(least)! { return .refused(.range) }
        if case .string(let greatest) = attribute.maximum, NaiveDecimal(greatest)! < number { return .refused(.range) }
        return .kept(.string(number.text))
    }
}

/// A decimal number as its digits before and after the point.
private struct NaiveDecimal {
    private var isNegative = false
    private var whole: [Character] = []
    private var fraction: [Character] = []

    init?(_ text: String) {
        var parts = text.lowercased().split(separator: "e", omittingEmptySubsequences: false).map { Array($0) }
        guard parts.count <= 2, var mantissa = parts.first else { return nil }
        if let sign = mantissa.first, sign == "-" || sign == "+" {
            self.isNegative = sign == "-"
            mantissa.removeFirst()
        }
        let halves = mantissa.split(separator: ".", omittingEmptySubsequences: false)
        guard halves.count <= 2, halves.joined().count > 0, halves.joined().allSatisfy({ "0123456789".contains($0) })
        else {
            return nil
        }
        self.whole = Array(halves[0])
        self.fraction = halves.count == 2 ? Array(halves[1]) : []
        var power = 0
        if parts.count == 2 {
            guard let number = Int(String(parts.removeLast())) else { return nil }
            power = number
        }
        for _ in 0..<power.magnitude {
            if power > 0 {
                self.whole.append(self.fraction.isEmpty ? "0" : self.fraction.removeFirst())
            } else {
                self.fraction.insert(self.whole.isEmpty ? "0" : self.whole.removeLast(), at: 0)
            }
        }
        while self.whole.first == "0" { self.whole.removeFirst() }
        while self.fraction.last == "0" { self.fraction.removeLast() }
        if self.whole.isEmpty, self.fraction.isEmpty { self.isNegative = false }
    }

    var digitCount: Int { self.whole.count + self.fraction.count }

    var text: String {
        (self.isNegative ? "-" : "") + (self.whole.isEmpty ? "0" : String(self.whole))
            + (self.fraction.isEmpty ? "" : "." + String(self.fraction))
    }

    static func < (a: NaiveDecimal, b: NaiveDecimal) -> Bool {
        guard a.isNegative == b.isNegative else { return a.isNegative }
        let (low, high) = a.isNegative ? (b, a) : (a, b)
        if low.whole.count != high.whole.count { return low.whole.count < high.whole.count }
        if low.whole != high.whole { return low.whole.lexicographicallyPrecedes(high.whole) }
        return low.fraction.lexicographicallyPrecedes(high.fraction)
    }
}

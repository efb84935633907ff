import NestModel

/// Aggregate functions, computed naively from all values.
enum NaiveAggregates {
    static func value(
        _ function: AggregateFunction,
        _ all: [AttributeValue],
        _ type: AttributeType
    ) -> AttributeValue {
        let values = all.filter { !$0.isNull }
        switch function {
        case .minimum:
            return values.reduce(.null) { $0.isNull || NaiveResults.precedes($1, $0, type) ? $1 : $0 }
        case .maximum:
            return values.reduce(.null) { $0.isNull || NaiveResults.precedes($0, $1, type) ? $1 : $0 }
        case .sum, .average:
            break
        }
        if function == .average, values.isEmpty { return .null }
        switch type {
        case .double, .float:
            let numbers = values.map { value -> Double in if case .double(let number) = value { number } else { 0 } }
            let sum = Self.sum(numbers)
            return .double(function == .sum ? sum : sum / Double(values.count))
        case .decimal:
            let places = values.map { Self.units($0.stringValue ?? "") }
            return Self.decimal(function, places.reduce(Self.zero) { Self.added($0, $1) }, values.count)
        default:
            let numbers = values.map { value -> Int64 in if case .integer(let number) = value { number } else { 0 } }
            if function == .sum { return .integer(numbers.reduce(0, +)) }
            let places = numbers.map { Self.units("\($0)") }
            return Self.decimal(function, places.reduce(Self.zero) { Self.added($0, $1) }, values.count)
        }
    }

    /// The correctly rounded sum: partial sums that do not overlap (Shewchuk, 1997), of which the greatest is rounded
    /// with the rest.
    static func sum(_ numbers: [Double]) -> Double {
        if let infinity = numbers.first(where: \.isInfinite) { return infinity }
        var parts: [Double] = []
        for number in numbers {
            var number = number
            var kept: [Double] = []
            for part in parts {
                let (large, small) = number.magnitude >= part.magnitude ? (number, part) : (part, number)
                let high = large + small
                let low = small - (high - large)
                if low != 0 { kept.append(low) }
                number = high
            }
            parts = kept + [number]
        }
        guard var high = parts.popLast() else { return 0 }
        var low = 0.0
        while let next = parts.popLast() {
            let large = high
            high = large + next
            low = next - (high - large)
            if low != 0 { break }
        }
        // Half of a unit is rounded by what is below it.
        if let below = parts.last, (low < 0) == (below < 0), low != 0, below != 0 {
            let doubled = low * 2
            let moved = high + doubled
            if doubled == moved - high { high = moved }
        }
        return high
    }

    // MARK: Decimals: signed digits of 10^-38, the lowest first

    private static let zero = [Int](repeating: 0, count: 100)

    private static func units(_ text: String) -> [Int] {
        let isNegative = text.hasPrefix("-")
        let parts = text.drop { $0 == "-" }.split(separator: ".", omittingEmptySubsequences: false)
        let fraction = parts.count > 1 ? parts[1] : ""
        let digits = String(parts[0]) + fraction + String(repeating: "0", count: 38 - fraction.count)
        var units = Self.zero
        for (index, digit) in digits.reversed().enumerated() {
            units[index] = (digit.wholeNumberValue ?? 0) * (isNegative ? -1 : 1)
        }
        return units
    }

    private static func added(_ a: [Int], _ b: [Int]) -> [Int] { zip(a, b).map { $0 + $1 } }

    private static func decimal(_ function: AggregateFunction, _ sum: [Int], _ count: Int) -> AttributeValue {
        var carry = 0
        var digits = sum.map { digit in
            let total = digit + carry
            let low = ((total % 10) + 10) % 10
            carry = (total - low) / 10
            return low
        }
        let isNegative = carry < 0
        if isNegative { return Self.negated(Self.decimal(function, sum.map { -$0 }, count)) }
        var afterPoint = 38
        if function == .average {
            var rest = 0
            digits = digits.reversed().map { digit in
                let whole = rest * 10 + digit
                rest = whole % count
                return whole / count
            }
            let whole = digits.prefix(62).drop { $0 == 0 }.count
            afterPoint = min(18, 38 - whole)
            let kept = Array(digits.prefix(62 + afterPoint))
            let tail = digits.dropFirst(62 + afterPoint) + [rest == 0 ? 0 : 1]
            let half = [5] + [Int](repeating: 0, count: tail.count - 1)
            let isAbove = half.lexicographicallyPrecedes(tail) || (Array(tail) == half && kept.last! % 2 == 1)
            digits = kept.reversed()
            if isAbove {
                var index = 0
                while digits[index] == 9 {
                    digits[index] = 0
                    index += 1
                }
                digits[index] += 1
            }
        }
        let text = digits.reversed().map(String.init).joined()
        let written = text.dropLast(afterPoint) + "." + text.suffix(afterPoint)
        return DecimalText.canonical(String(written)).map { .string($0) } ?? .string("over 38 digits")
    }

    private static func negated(_ value: AttributeValue) -> AttributeValue {
        guard let text = value.stringValue, text != "0" else { return value }
        return .string("-" + text)
    }
}

extension NaiveResults {
    func aggregate(
        _ function: AggregateFunction,
        _ relationship: PropertyNumber,
        _ attribute: PropertyNumber,
        of owner: ObjectID
    ) -> AttributeValue {
        guard let relationship = self.entity(of: owner)?.relationship(relationship),
            let type = self.model.entity(relationship.destination)?.attribute(attribute)?.type
        else { return .null }
        let values = self.related(owner, relationship).map { self.value(attribute, of: $0) }
        return NaiveAggregates.value(function, values, type)
    }
}

extension NaiveResults {
    /// Returns the totals of a request over some of its rows.
    func totals(_ request: ObjectFetchRequest, over ids: [ObjectID]) -> [AttributeValue] {
        request.totals.map { total in
            guard case .function(let function, let path) = total else { return .integer(Int64(ids.count)) }
            let type = self.entity(request.entity).flatMap { path.attributeType(of: $0, in: self.model) } ?? .integer
            return NaiveAggregates.value(function, ids.map { self.value(path, of: $0) }, type)
        }
    }
}

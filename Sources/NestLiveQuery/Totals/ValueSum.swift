import NestModel

/// The exact sum and the number of the values of a numeric type, null excepted. Adding and removing a value is O(1).
package struct ValueSum {
    private enum Sum {
        case integers(Int128)
        case decimals(DecimalSum)
        case doubles(DoubleSum)
    }

    private var sum: Sum
    package private(set) var count = 0

    /// Precondition: the type has a sum.
    package init(of type: AttributeType) {
        switch type {
        case .integer, .integer16, .integer32: self.sum = .integers(0)
        case .decimal: self.sum = .decimals(DecimalSum())
        case .double, .float: self.sum = .doubles(DoubleSum())
        case .string, .boolean, .date, .data, .uuid, .uri, .largeData, .largeText:
            // `AggregateFunction.type(of:)` refuses them.
            preconditionFailure("values of the type \(type) have no sum")
        }
    }

    package mutating func add(_ value: AttributeValue) { self.add(value, 1) }

    /// Removes a value that was added.
    package mutating func remove(_ value: AttributeValue) { self.add(value, -1) }

    private mutating func add(_ value: AttributeValue, _ sign: Int) {
        switch (self.sum, value) {
        case (.integers(let sum), .integer(let number)):
            self.sum = .integers(sum + Int128(sign) * Int128(number))
        case (.decimals(var sum), .string(let text)):
            sum.add(text, Int128(sign))
            self.sum = .decimals(sum)
        case (.doubles(var sum), .double(let number)):
            // Leaves the digits with one owner, so that they change in place.
            self.sum = .integers(0)
            sum.add(number, Int128(sign))
            self.sum = .doubles(sum)
        default:
            return
        }
        self.count += sign
    }

    /// Returns the sum or the average; `nil` if its type cannot hold it.
    package func value(_ function: AggregateFunction) -> AttributeValue? {
        if function == .average, self.count == 0 { return .null }
        let isAverage = function == .average
        switch self.sum {
        case .integers(let sum):
            guard isAverage else { return Int64(exactly: sum).map { .integer($0) } }
            return .string(Self.average(sum, of: self.count))
        case .decimals(let sum):
            return (isAverage ? sum.average(of: self.count) : sum.text).map { .string($0) }
        case .doubles(let sum):
            return sum.value.map { .double((isAverage ? $0 / Double(self.count) : $0) + 0) }
        }
    }

    /// Returns the average of integers as `DecimalSum.average(of:)` does. It has at most 19 digits before the point, so
    /// all those after it fit.
    private static func average(_ sum: Int128, of count: Int) -> String {
        let one = Self.fractionOfOne
        let (whole, rest) = sum.magnitude.quotientAndRemainder(dividingBy: UInt128(count))
        // Below the count times 10^18, which is below 2^123.
        var (fraction, dropped) = (Int128(rest) * one).quotientAndRemainder(dividingBy: Int128(count))
        if 2 * dropped > count || 2 * dropped == count && fraction % 2 == 1 { fraction += 1 }
        let absolute = UInt64(whole) + (fraction == one ? 1 : 0)
        return Self.text(absolute, fraction: fraction == one ? 0 : UInt64(fraction), isNegative: sum < 0)
    }

    /// `fraction`: the digits after the point, as a number.
    private static func text(_ whole: UInt64, fraction: UInt64, isNegative: Bool) -> String {
        guard fraction > 0 else { return isNegative && whole > 0 ? "-\(whole)" : "\(whole)" }
        var (whole, fraction) = (whole, fraction)
        var count = AggregateFunction.averageFractionDigitsMax
        while fraction.isMultiple(of: 10) {
            fraction /= 10
            count -= 1
        }
        var point = isNegative ? 2 : 1
        var larger = whole / 10
        while larger > 0 {
            larger /= 10
            point += 1
        }
        // From the last digit to the first.
        return String(unsafeUninitializedCapacity: point + 1 + count) { text in
            for index in stride(from: point + count, to: point, by: -1) { text[index] = Self.lastDigit(&fraction) }
            text[point] = UInt8(ascii: ".")
            for index in stride(from: point - 1, through: isNegative ? 1 : 0, by: -1) {
                text[index] = Self.lastDigit(&whole)
            }
            if isNegative { text[0] = UInt8(ascii: "-") }
            return point + 1 + count
        }
    }

    /// Takes the last digit off a number.
    private static func lastDigit(_ number: inout UInt64) -> UInt8 {
        let (rest, digit) = number.quotientAndRemainder(dividingBy: 10)
        number = rest
        return UInt8(ascii: "0") + UInt8(digit)
    }

    /// 10 to the power of the digits after the point of an average.
    private static let fractionOfOne: Int128 = (0..<AggregateFunction.averageFractionDigitsMax).reduce(1) { one, _ in
        one * 10
    }

    /// The estimated memory, in bytes.
    package var byteCount: Int {
        if case .doubles(let sum) = self.sum { return 96 + sum.byteCount }
        return 96
    }
}

import NestModel

/// The exact sum of decimal numbers: it does not depend on the order in which they come and go.
///
/// A decimal has at most 38 digits before the point and 38 after it. They are four groups of 19 digits, and each group
/// has a sum of its own, so that adding carries nothing. 2^63 numbers fit.
struct DecimalSum {
    /// The sums of the groups, from the lowest: two after the point, two before it.
    private var groups: (Int128, Int128, Int128, Int128) = (0, 0, 0, 0)

    private static let groupDigits = 19
    private static let base: Int128 = 10_000_000_000_000_000_000
    private static let digitsAfterPoint = 2 * Self.groupDigits

    /// Adds a number in canonical form, or removes one that was added.
    mutating func add(_ text: String, _ sign: Int128) {
        var parts: [Int128] = [0, 0, 0, 0]
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let digits = isNegative ? text.utf8.dropFirst() : text.utf8[...]
        let point = digits.firstIndex(of: UInt8(ascii: ".")) ?? digits.endIndex
        var place = Self.digitsAfterPoint + digits.distance(from: digits.startIndex, to: point)
        for byte in digits where byte != UInt8(ascii: ".") {
            place -= 1
            parts[place / Self.groupDigits] += Int128(byte - UInt8(ascii: "0")) * Self.power(place % Self.groupDigits)
        }
        let sign = isNegative ? -sign : sign
        self.groups.0 += sign * parts[0]
        self.groups.1 += sign * parts[1]
        self.groups.2 += sign * parts[2]
        self.groups.3 += sign * parts[3]
    }

    private static let powers: [Int128] = (0..<Self.groupDigits).reduce(into: [1]) { powers, _ in
        powers.append(powers[powers.count - 1] * 10)
    }

    private static func power(_ exponent: Int) -> Int128 { Self.powers[exponent] }

    /// The sign, and the groups of the absolute value from the lowest, each below the base.
    private var magnitude: (isNegative: Bool, groups: [Int128]) {
        let own = [self.groups.0, self.groups.1, self.groups.2, self.groups.3]
        if let carried = Self.carried(own) { return (false, carried) }
        return (true, Self.carried(own.map { -$0 }) ?? [])
    }

    /// Returns `nil` if the number is below zero.
    private static func carried(_ groups: [Int128]) -> [Int128]? {
        var carry: Int128 = 0
        var carried: [Int128] = []
        for group in groups {
            let (quotient, remainder) = (group + carry).quotientAndRemainder(dividingBy: Self.base)
            carry = remainder < 0 ? quotient - 1 : quotient
            carried.append(remainder < 0 ? remainder + Self.base : remainder)
        }
        return carry < 0 ? nil : carried + [carry]
    }

    /// Returns the digits of groups, the highest first, each 0 to 9.
    private static func digits(_ groups: [Int128]) -> [UInt8] {
        groups.reversed().flatMap { group in
            (0..<Self.groupDigits).reversed().map { UInt8(group / Self.power($0) % 10) }
        }
    }

    private static func text(_ isNegative: Bool, _ digits: [UInt8], afterPoint count: Int) -> String? {
        let characters = digits.map { UInt8(ascii: "0") + $0 }
        let text =
            String(decoding: characters.dropLast(count), as: UTF8.self) + "."
            + String(decoding: characters.suffix(count), as: UTF8.self)
        return DecimalText.canonical((isNegative ? "-" : "") + text)
    }

    /// The canonical text of the sum; `nil` if it has more digits than a decimal may have.
    var text: String? {
        let (isNegative, groups) = self.magnitude
        return Self.text(isNegative, Self.digits(groups), afterPoint: Self.digitsAfterPoint)
    }

    /// Returns the sum divided by the number of values: with `AggregateFunction.averageFractionDigitsMax` digits after
    /// the point, or as many as a decimal still may have, rounded half to even. `nil` if a decimal cannot hold it,
    /// which no average of decimals is.
    func average(of count: Int) -> String? {
        let (isNegative, groups) = self.magnitude
        var remainder: Int128 = 0
        var quotient: [Int128] = []
        for group in groups.reversed() {
            let (whole, rest) = (remainder * Self.base + group).quotientAndRemainder(dividingBy: Int128(count))
            quotient.append(whole)
            remainder = rest
        }
        var digits = Self.digits(quotient.reversed())
        let wholeDigits = digits.dropLast(Self.digitsAfterPoint).drop { $0 == 0 }.count
        let kept = max(0, min(AggregateFunction.averageFractionDigitsMax, DecimalText.digitsMax - wholeDigits))
        let dropped = digits.suffix(Self.digitsAfterPoint - kept)
        digits.removeLast(dropped.count)
        let isExactHalf = dropped.first == 5 && dropped.dropFirst().allSatisfy { $0 == 0 } && remainder == 0
        let isUp = isExactHalf ? digits[digits.count - 1] % 2 == 1 : (dropped.first ?? 0) >= 5
        if isUp { Self.increment(&digits) }
        return Self.text(isNegative, digits, afterPoint: kept)
    }

    /// Adds one to the last digit. The first digits are zeros: the highest group is a carry.
    private static func increment(_ digits: inout [UInt8]) {
        var index = digits.count - 1
        while index > 0, digits[index] == 9 {
            digits[index] = 0
            index -= 1
        }
        digits[index] += 1
    }
}

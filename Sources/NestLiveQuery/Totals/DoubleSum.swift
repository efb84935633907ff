/// The exact sum of doubles, rounded once when it is read: it does not depend on the order in which they come and go.
///
/// Every finite double is a whole multiple of 2^-1074. The multiple is cut into digits of 32 bits, and each digit has a
/// sum of its own, so that adding carries nothing. 2^42 numbers fit. (Kulisch's accumulator, of which only the digits
/// in use are kept.)
struct DoubleSum {
    private struct Digit {
        /// The number of digits below.
        var place: Int
        var sum: Int128
    }

    /// Ascending by place, without zeros.
    private var digits: [Digit] = []
    private var infinities = 0
    private var negativeInfinities = 0

    /// Adds a number, or removes one that was added. Precondition: not NaN.
    mutating func add(_ number: Double, _ sign: Int128) {
        guard number.isFinite else {
            if number > 0 { self.infinities += Int(sign) } else { self.negativeInfinities += Int(sign) }
            return
        }
        guard number != 0 else { return }
        // A subnormal number has the exponent of the least normal one, and no leading bit.
        let exponent = max(Int(number.exponentBitPattern), 1) - 1
        let significand = number.significandBitPattern | (number.isNormal ? 1 << 52 : 0)
        let term = Int128(significand) << Int128(exponent % 32) * (number < 0 ? -sign : sign)
        let place = exponent / 32
        let index = self.digits.firstIndex { $0.place >= place } ?? self.digits.count
        guard index < self.digits.count, self.digits[index].place == place else {
            self.digits.insert(Digit(place: place, sum: term), at: index)
            return
        }
        self.digits[index].sum += term
        if self.digits[index].sum == 0 { self.digits.remove(at: index) }
    }

    /// The sum, rounded to nearest, ties to even; `nil` if it is beyond the greatest double, or of infinities of both
    /// signs.
    var value: Double? {
        if self.infinities > 0 || self.negativeInfinities > 0 {
            if self.infinities > 0, self.negativeInfinities > 0 { return nil }
            return self.infinities > 0 ? .infinity : -.infinity
        }
        if let words = self.words(1) { return Self.rounded(words) }
        return self.words(-1).flatMap(Self.rounded).map { -$0 }
    }

    /// Returns the digits of the sum, or of its negative, after all carries, the lowest first; `nil` if it is below
    /// zero.
    private func words(_ sign: Int128) -> [UInt64]? {
        var words: [UInt64] = []
        var carry: Int128 = 0
        for digit in self.digits {
            while words.count < digit.place { Self.append(&words, &carry, 0) }
            Self.append(&words, &carry, sign * digit.sum)
        }
        while carry != 0, carry != -1 { Self.append(&words, &carry, 0) }
        return carry < 0 ? nil : words
    }

    private static func append(_ words: inout [UInt64], _ carry: inout Int128, _ digit: Int128) {
        let sum = digit + carry
        words.append(UInt64(truncatingIfNeeded: sum) & 0xffff_ffff)
        carry = sum >> 32
    }

    /// Returns the nearest double; `nil` if there is no finite one.
    private static func rounded(_ words: [UInt64]) -> Double? {
        guard let top = words.lastIndex(where: { $0 != 0 }) else { return 0 }
        let bitCount = 32 * top + 64 - words[top].leadingZeroBitCount
        func bit(_ index: Int) -> UInt64 { words[index / 32] >> UInt64(index % 32) & 1 }
        let dropped = max(bitCount - 53, 0)
        // The exponents above are those of infinity, and beyond the 11 bits.
        guard dropped <= 2_045 else { return nil }
        var significand: UInt64 = 0
        for index in (dropped..<bitCount).reversed() { significand = significand << 1 | bit(index) }
        if dropped > 0, bit(dropped - 1) == 1 {
            let isTie = !(0..<dropped - 1).contains { bit($0) == 1 }
            if !isTie || significand & 1 == 1 { significand += 1 }
        }
        // The significand's leading bit raises the exponent by one, and so does a carry out of it.
        let pattern = UInt64(dropped) << 52 + significand
        let value = Double(bitPattern: pattern)
        return value.isFinite ? value : nil
    }

    /// The estimated memory beside the value itself, in bytes.
    var byteCount: Int { self.digits.isEmpty ? 0 : 32 + 32 * self.digits.count }
}

/// Decimal numbers as text: exact, and each number written in one way, so that equal numbers are equal text.
public enum DecimalText {
    /// As many as Core Data's decimal numbers have.
    public static let digitsMax = 38

    /// A number's parts: digits without zeros at either end, and the power of ten of the last of them.
    private struct Parts {
        var isNegative: Bool
        var digits: [UInt8]
        var exponent: Int
    }

    /// The one form of a number: `-12.5`, `0.001`, `1200`; no exponent, no sign before a zero, no zeros that say nothing.
    /// `nil` for what is no number (`[+-]digits[.digits][e[+-]digits]`) or has more than `digitsMax` digits, counting the
    /// zeros that its form needs.
    public static func canonical(_ text: String) -> String? {
        guard let parts = Self.parse(text) else { return nil }
        guard !parts.digits.isEmpty else { return "0" }
        let point = parts.digits.count + parts.exponent
        let written = max(point, 0) + max(-parts.exponent, 0)
        guard written <= Self.digitsMax else { return nil }
        var bytes: [UInt8] = parts.isNegative ? [UInt8(ascii: "-")] : []
        if point <= 0 {
            bytes += Array("0.".utf8) + [UInt8](repeating: UInt8(ascii: "0"), count: -point) + parts.digits
        } else if parts.exponent >= 0 {
            bytes += parts.digits + [UInt8](repeating: UInt8(ascii: "0"), count: parts.exponent)
        } else {
            bytes += parts.digits[..<point] + [UInt8(ascii: ".")] + parts.digits[point...]
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func parse(_ text: String) -> Parts? {
        var bytes = text.utf8[...]
        var parts = Parts(isNegative: false, digits: [], exponent: 0)
        if let sign = bytes.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
            parts.isNegative = sign == UInt8(ascii: "-")
            bytes = bytes.dropFirst()
        }
        var digitCount = 0
        var isAfterPoint = false
        while let byte = bytes.first {
            if byte == UInt8(ascii: "."), !isAfterPoint {
                isAfterPoint = true
            } else if (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) {
                digitCount += 1
                guard digitCount <= 4 * Self.digitsMax else { return nil }
                if !(parts.digits.isEmpty && byte == UInt8(ascii: "0")) { parts.digits.append(byte) }
                if isAfterPoint { parts.exponent -= 1 }
            } else {
                break
            }
            bytes = bytes.dropFirst()
        }
        guard digitCount > 0 else { return nil }
        if let mark = bytes.first {
            guard mark == UInt8(ascii: "e") || mark == UInt8(ascii: "E"), bytes.count <= 6,
                let power = Int(String(Substring(bytes.dropFirst())))
            else { return nil }
            parts.exponent += power
        }
        while parts.digits.last == UInt8(ascii: "0") {
            parts.digits.removeLast()
            parts.exponent += 1
        }
        return parts
    }

    /// Whether one number is below another. Both in the form of `canonical`.
    public static func isLess(_ a: String, _ b: String) -> Bool {
        let x = Self.orderKey(a)
        let y = Self.orderKey(b)
        return x.lexicographicallyPrecedes(y)
    }

    /// Bytes whose order is that of the numbers. Of a number in the form of `canonical`.
    ///
    /// A byte for the sign (0, 1, 2), then the place of the first digit, then the digits; of a negative number all are
    /// turned round, and an end that is above every digit follows.
    public static func orderKey(_ text: String) -> [UInt8] {
        guard let parts = Self.parse(text), !parts.digits.isEmpty else { return [1] }
        let place = parts.digits.count + parts.exponent + 128
        let body = [UInt8(clamping: place)] + parts.digits
        return parts.isNegative ? [0] + body.map { 255 - $0 } + [255] : [2] + body
    }
}

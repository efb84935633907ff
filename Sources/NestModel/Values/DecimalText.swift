/// Exact decimal numbers as text. Each number has exactly one canonical text, so equal numbers are equal text.
public enum DecimalText {
    /// The number of digits of Core Data's decimal numbers.
    public static let digitsMax = 38

    /// The parts of a number: its digits without leading and trailing zeros, and the power of ten of the last digit.
    private struct Parts {
        var isNegative: Bool
        var digits: [UInt8]
        var exponent: Int
    }

    /// Returns the canonical text of a number: `-12.5`, `0.001`, `1200`; no exponent, no sign before a zero, no
    /// redundant zeros. Returns `nil` if the text is not a number (`[+-]digits[.digits][e[+-]digits]`) or needs more
    /// than `digitsMax` digits in canonical form, zeros included.
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

    /// Whether `a` is less than `b`. Both must be canonical.
    public static func isLess(_ a: String, _ b: String) -> Bool {
        let x = Self.orderKey(a)
        let y = Self.orderKey(b)
        return x.lexicographicallyPrecedes(y)
    }

    /// Returns bytes that sort in the order of the numbers. The text must be canonical.
    ///
    /// The bytes are: one for the sign (0, 1, 2), one for the decimal position of the first digit, then the digits. A
    /// negative number inverts all of them and ends with a byte that is greater than every digit.
    public static func orderKey(_ text: String) -> [UInt8] {
        guard let parts = Self.parse(text), !parts.digits.isEmpty else { return [1] }
        let position = parts.digits.count + parts.exponent + 128
        let body = [UInt8(clamping: position)] + parts.digits
        return parts.isNegative ? [0] + body.map { 255 - $0 } + [255] : [2] + body
    }
}

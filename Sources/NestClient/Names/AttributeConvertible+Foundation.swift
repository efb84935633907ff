import NestModel

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

extension Date: AttributeConvertible {
    /// Seconds from 1970 to `Date`'s own origin, the year 2001.
    private static let origin: Int64 = 978_307_200

    /// Rounded to the nearest microsecond. Throws `validationFailed` for a date that 64 bits of microseconds cannot
    /// hold: 292,000 years away, or not a number.
    public var mutationValue: MutationValue {
        get throws(NestError) {
            let seconds = self.timeIntervalSinceReferenceDate.rounded(.down)
            let rest = ((self.timeIntervalSinceReferenceDate - seconds) * 1e6).rounded()
            guard seconds.magnitude < 9e12, let whole = Int64(exactly: seconds) else {
                throw NestError(.validationFailed, "a date cannot be stored: it is \(seconds) seconds from 2001")
            }
            return .value(.date((whole + Self.origin) * 1_000_000 + Int64(rest)))
        }
    }

    /// Exact to the microsecond from 1730 to 2270. A `Date` is a `Double`: it has fewer digits the farther it is from
    /// 2001.
    public init?(_ value: AttributeValue) {
        guard case .date(let microseconds) = value else { return nil }
        let (seconds, rest) = microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        self.init(timeIntervalSinceReferenceDate: Double(seconds - Self.origin) + Double(rest) / 1e6)
    }
}

extension Data: AttributeConvertible {
    public var mutationValue: MutationValue { .value(.data([UInt8](self))) }

    public init?(_ value: AttributeValue) {
        guard case .data(let bytes) = value else { return nil }
        self.init(bytes)
    }
}

extension UUID: AttributeConvertible {
    public var mutationValue: MutationValue {
        let bytes = self.uuid
        func number(_ bytes: UInt8...) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return .value(
            .uuid(
                Identifier128(
                    high: number(bytes.0, bytes.1, bytes.2, bytes.3, bytes.4, bytes.5, bytes.6, bytes.7),
                    low: number(bytes.8, bytes.9, bytes.10, bytes.11, bytes.12, bytes.13, bytes.14, bytes.15)
                )
            )
        )
    }

    public init?(_ value: AttributeValue) {
        guard case .uuid(let identifier) = value else { return nil }
        func byte(_ index: Int) -> UInt8 {
            UInt8(truncatingIfNeeded: (index < 8 ? identifier.high : identifier.low) >> (56 - index % 8 * 8))
        }
        self.init(
            uuid: (
                byte(0), byte(1), byte(2), byte(3), byte(4), byte(5), byte(6), byte(7), byte(8), byte(9), byte(10),
                byte(11), byte(12), byte(13), byte(14), byte(15)
            )
        )
    }
}

extension URL: AttributeConvertible {
    public var mutationValue: MutationValue { .value(.string(self.absoluteString)) }

    public init?(_ value: AttributeValue) {
        guard case .string(let text) = value else { return nil }
        self.init(string: text)
    }
}

extension Decimal: AttributeConvertible {
    /// Throws `validationFailed` for what is not a number.
    public var mutationValue: MutationValue {
        get throws(NestError) {
            guard !self.isNaN else { throw NestError(.validationFailed, "a decimal is not a number") }
            return .value(.string("\(self)"))
        }
    }

    /// The text of a decimal attribute, or an integer. `nil` for other text, and for digits beyond `Decimal`'s 38.
    public init?(_ value: AttributeValue) {
        switch value {
        case .integer(let number): self.init(number)
        case .string(let text):
            guard let number = Decimal(string: text), DecimalText.canonical("\(number)") == DecimalText.canonical(text),
                DecimalText.canonical(text) != nil
            else { return nil }
            self = number
        default: return nil
        }
    }
}

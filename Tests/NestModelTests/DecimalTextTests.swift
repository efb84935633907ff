import NestModel
import NestTestSupport
import Testing

@Suite struct DecimalTextTests {
    @Test(arguments: [
        ("0", "0"), ("-0", "0"), ("+0.00", "0"), ("1", "1"), ("001", "1"), ("1.50", "1.5"), (".5", "0.5"), ("5.", "5"),
        ("-12.5", "-12.5"), ("1e3", "1000"), ("1.5E-3", "0.0015"), ("120", "120"), ("+7", "7"), ("0e99", "0"),
        (String(repeating: "9", count: 38), String(repeating: "9", count: 38)),
        ("1e37", "1" + String(repeating: "0", count: 37)), ("1e-38", "0." + String(repeating: "0", count: 37) + "1"),
        ("000000000000000000000000000000000000000000000000001", "1"),
    ])
    func eachNumberHasOneForm(_ text: String, _ canonical: String) {
        #expect(DecimalText.canonical(text) == canonical)
        #expect(DecimalText.canonical(canonical) == canonical)
    }

    @Test(arguments: [
        "", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "1,5", " 1", "1 ", "0x1", "1e999999", "1e38", "1e-39", "--1",
        "nan", "inf", "\u{ff11}", String(repeating: "9", count: 39), String(repeating: "0", count: 1_000_000),
    ])
    func whatIsNoNumberOfSoManyDigitsIsRefused(_ text: String) {
        #expect(DecimalText.canonical(text) == nil)
    }

    /// A random number with few digits, so that many are near one another; times 10^6 it is whole.
    private static func number(_ random: inout SeededRandom) -> (text: String, value: Int64) {
        let digits = Int64(random.below(random.oneIn(2) ? 30 : 2_000_000))
        let exponent = random.below(9) - 6
        let value = (0..<exponent + 6).reduce(digits) { value, _ in value * 10 }
        let sign: Int64 = random.oneIn(2) ? -1 : 1
        return ("\(sign < 0 ? "-" : "")\(digits)e\(exponent)", sign * value)
    }

    /// Two texts are equal when their numbers are, and ordered as they are.
    @Test func textsAreOrderedAsNumbers() throws {
        for seed in 0..<20_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let (a, b) = (Self.number(&random), Self.number(&random))
            let x = try #require(DecimalText.canonical(a.text))
            let y = try #require(DecimalText.canonical(b.text))
            let isRight =
                (x == y) == (a.value == b.value) && DecimalText.isLess(x, y) == (a.value < b.value)
                && DecimalText.isLess(y, x) == (b.value < a.value)
            if !isRight { Issue.record("seed \(seed): \(x) \(y)") }
        }
    }

    @Test func veryLargeAndVerySmallAreOrderedToo() throws {
        let ascending = [
            "-1e37", "-9.9e36", "-1", "-1e-37", "-1e-38", "0", "1e-38", "1e-37", "2e-37", "1", "1.0000001", "10",
            "9.9e36", "1e37",
        ]
        let texts = try ascending.map { try #require(DecimalText.canonical($0)) }
        for (i, a) in texts.enumerated() {
            for (j, b) in texts.enumerated() { #expect(DecimalText.isLess(a, b) == (i < j), "\(a) \(b)") }
        }
    }
}

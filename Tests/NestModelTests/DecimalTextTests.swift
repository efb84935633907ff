import NestModel
import NestTestSupport
import Testing

@Suite struct DecimalTextTests {
    @Test(arguments: [
        ("0", "0"), ("-0", "0"), ("+0.000", "0"), ("0e9", "0"), ("1", "1"), ("01", "1"), ("-1.50", "-1.5"),
        (".5", "0.5"), ("5.", "5"),
        ("1e3", "1000"), ("1E-3", "0.001"), ("12.5e1", "125"), ("-0.0100", "-0.01"),
        ("1e37", "1" + String(repeating: "0", count: 37)),
        ("1e-38", "0." + String(repeating: "0", count: 37) + "1"),
        (String(repeating: "9", count: 38), String(repeating: "9", count: 38)),
    ])
    func decimalsHaveOneCanonicalForm(_ text: String, _ form: String) {
        #expect(DecimalText.canonical(text) == form)
        #expect(DecimalText.canonical(form) == form)
    }

    @Test(arguments: [
        "", "-", ".", "-.", "e1", "1e", "1e+", "1.2.3", "1,5", " 1", "1 ", "0x1", "inf", "nan", "--1", "1e99999",
        "1e38", "1e-39",
        "\u{661}", String(repeating: "9", count: 39),
    ])
    func otherTextsAreNotDecimals(_ text: String) {
        #expect(DecimalText.canonical(text) == nil)
    }

    /// Decimals and their keys sort in numerical order. The test compares the numbers exactly, as multiples of 10^-6.
    @Test func decimalsAndTheirKeysSortNumerically() {
        func scaled(_ text: String) -> Int128 {
            let digits = text.filter { $0 != "-" && $0 != "." }
            let fraction = text.firstIndex(of: ".").map { text.distance(from: $0, to: text.endIndex) - 1 } ?? 0
            let value = Int128(digits + String(repeating: "0", count: 6 - fraction)) ?? 0
            return text.hasPrefix("-") ? 0 - value : value
        }
        for seed in 0..<5_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let (a, b) = (random.decimalText(), random.oneIn(9) ? "0" : random.decimalText())
            let isLess = scaled(a) < scaled(b)
            #expect(DecimalText.isLess(a, b) == isLess, "seed \(seed): \(a) and \(b)")
            #expect(
                DecimalText.orderKey(a).lexicographicallyPrecedes(DecimalText.orderKey(b)) == isLess,
                "seed \(seed): \(a) and \(b)"
            )
            #expect((DecimalText.orderKey(a) == DecimalText.orderKey(b)) == (a == b), "seed \(seed): \(a) and \(b)")
        }
    }

    @Test func extremeDecimalsSortNumerically() {
        let nines = String(repeating: "9", count: 38)
        let least = "0." + String(repeating: "0", count: 37) + "1"
        let ascending = [
            "-" + nines, "-10", "-9.99", "-9.9", "-9", "-1", "-0.5", "-" + least, "0", least, "0.5", "1", "9", "9.9",
            "9.99", "10", nines,
        ]
        for (i, a) in ascending.enumerated() {
            for (j, b) in ascending.enumerated() { #expect(DecimalText.isLess(a, b) == (i < j), "\(a) and \(b)") }
        }
    }
}

import NestLiveQuery
import NestModel
import NestTestSupport
import Testing

@Suite struct ValueSumTests {
    private static func sum(_ type: AttributeType, _ values: [AttributeValue]) -> ValueSum {
        var sum = ValueSum(of: type)
        for value in values { sum.add(value) }
        return sum
    }

    private static func text(_ function: AggregateFunction, _ type: AttributeType, _ values: [AttributeValue])
        -> String?
    {
        Self.sum(type, values).value(function)?.stringValue
    }

    private static func decimals(_ texts: String...) -> [AttributeValue] { texts.map { .string($0) } }

    private static func double(_ function: AggregateFunction, _ numbers: [Double]) -> Double? {
        guard case .double(let number)? = Self.sum(.double, numbers.map { .double($0) }).value(function) else {
            return nil
        }
        return number
    }

    @Test func integersAreExactUpToTheirBounds() {
        let sum = Self.sum(.integer, [.integer(.max), .integer(.max), .integer(-2), .null, .integer(.min)])
        #expect(sum.value(.sum) == .integer(.max - 3 + 1 - 1) && sum.count == 4)
        #expect(Self.sum(.integer, [.integer(.max), .integer(1)]).value(.sum) == nil)
        #expect(Self.sum(.integer, [.integer(.min), .integer(-1)]).value(.sum) == nil)
        #expect(Self.sum(.integer16, [.integer(.max), .integer(1), .integer(-1)]).value(.sum) == .integer(.max))
        #expect(Self.sum(.integer, []).value(.sum) == .integer(0))
        #expect(Self.sum(.integer, [.null]).value(.average) == .null)
    }

    /// Also of sums that an integer cannot hold.
    @Test func averagesOfIntegersAreDecimals() {
        func average(_ values: Int64...) -> String? { Self.text(.average, .integer, values.map { .integer($0) }) }
        #expect(average(1, 2) == "1.5" && average(1, 2, 3) == "2" && average(-1, -2) == "-1.5")
        #expect(average(1, 0, 0) == "0.333333333333333333" && average(-2, 0, 0) == "-0.666666666666666667")
        #expect(average(.max, .max) == "9223372036854775807" && average(.min, .min) == "-9223372036854775808")
        #expect(average(0, 0) == "0")
    }

    /// The two have ways of their own.
    @Test(arguments: Seeds.range(0..<4)) func averagesOfIntegersAreThoseOfTheSameDecimals(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        for _ in 0..<300 {
            let bound = Int64(1) << Int64(random.below(63))
            let values = (0...random.below(12)).map { _ in
                Int64(truncatingIfNeeded: random.next()) % bound
            }
            let average = Self.text(.average, .integer, values.map { .integer($0) })
            #expect(average == Self.text(.average, .decimal, values.map { .string("\($0)") }), "\(seed): \(values)")
        }
    }

    @Test func decimalsAreExact() {
        #expect(Self.text(.sum, .decimal, Self.decimals("0.1", "0.2")) == "0.3")
        #expect(Self.text(.sum, .decimal, Self.decimals("-0.1", "0.1")) == "0")
        #expect(Self.text(.sum, .decimal, Self.decimals("5", "-5.01")) == "-0.01")
        let least = "0." + String(repeating: "0", count: 37) + "1"
        let greatest = String(repeating: "9", count: 38)
        #expect(Self.text(.sum, .decimal, Self.decimals(least, least)) == least.dropLast() + "2")
        #expect(Self.text(.sum, .decimal, Self.decimals(greatest, "1")) == nil)
        #expect(Self.text(.sum, .decimal, Self.decimals(greatest, least)) == nil)
        #expect(Self.text(.sum, .decimal, Self.decimals(greatest, greatest, "-" + greatest)) == greatest)
        #expect(Self.text(.sum, .decimal, []) == "0")
    }

    /// Half to even in the last digit, and fewer digits if the whole would have more than 38.
    @Test func averagesOfDecimalsAreRounded() {
        func average(_ texts: String...) -> String? { Self.text(.average, .decimal, texts.map { .string($0) }) }
        let half = "0.000000000000000001"
        #expect(average(half, "0") == "0" && average(half, half, half, "0") == half)
        #expect(average("0.000000000000000003", "0") == "0.000000000000000002")
        #expect(average("-0.000000000000000003", "0") == "-0.000000000000000002")
        #expect(average("0.999999999999999999", "1") == "1")
        let greatest = String(repeating: "9", count: 38)
        #expect(average(greatest, greatest) == greatest)
        #expect(average("1" + String(repeating: "0", count: 37), "0", "0") == String(repeating: "3", count: 37) + ".3")
    }

    @Test func doublesDoNotDependOnTheirOrder() {
        #expect(Self.double(.sum, [1e300, 1, -1e300]) == 1 && Self.double(.sum, [1, 1e300, -1e300]) == 1)
        #expect(Self.double(.sum, [0.1, 0.2, 0.3]) == 0.6 && Self.double(.sum, [0.3, 0.2, 0.1]) == 0.6)
        #expect(Self.double(.sum, [0x1p53, 1]) == 0x1p53 && Self.double(.sum, [0x1p53, 3]) == 0x1p53 + 4)
        #expect(Self.double(.sum, [0x1p53, 1, .leastNonzeroMagnitude]) == 0x1p53 + 2)
        #expect(Self.double(.sum, [.leastNonzeroMagnitude, .leastNormalMagnitude]) == 0x1.0000000000001p-1022)
        #expect(Self.double(.sum, [-0.5, 0.25]) == -0.25 && Self.double(.average, [-1, -2]) == -1.5)
        #expect(Self.double(.sum, []) == 0 && Self.double(.average, []) == nil)
        let greatest = Double.greatestFiniteMagnitude
        #expect(Self.double(.sum, [greatest, greatest]) == nil && Self.double(.average, [greatest, greatest]) == nil)
        #expect(Self.double(.sum, [greatest, greatest, -greatest]) == greatest)
        #expect(Self.double(.sum, [.infinity, 1]) == .infinity && Self.double(.sum, [-.infinity, 1]) == -.infinity)
        #expect(Self.double(.sum, [.infinity, -.infinity]) == nil)
    }

    /// Random values that come and go leave the same sum as the values that stay, added in another order.
    @Test func sumsForgetWhatHasGone() {
        for seed in UInt64(0)..<100 {
            var random = SeededRandom(seed: seed)
            var kept: [Double] = []
            var sum = ValueSum(of: .double)
            for _ in 0..<200 {
                if !kept.isEmpty, random.oneIn(2) {
                    sum.remove(.double(kept.remove(at: random.below(kept.count))))
                } else {
                    let bits = random.next() & ~(1 << 62)
                    let number = random.oneIn(2) ? Double(bitPattern: bits) : Double(random.below(1_000)) / 7
                    guard number.isFinite else { continue }
                    kept.append(number)
                    sum.add(.double(number))
                }
            }
            let again = Self.double(.sum, kept.sorted())
            #expect(sum.count == kept.count && sum.value(.sum) == again.map { .double($0) }, "seed \(seed)")
            for number in kept { sum.remove(.double(number)) }
            #expect(sum.value(.sum) == .double(0), "seed \(seed)")
        }
    }

    @Test func orderedValuesKnowTheirEnds() {
        for seed in UInt64(0)..<6 {
            var random = SeededRandom(seed: seed)
            var kept: [ObjectID: String] = [:]
            var values = OrderedValues(of: .decimal, [])
            for step in 1..<300 {
                if let (id, text) = kept.randomElement(using: &random), random.oneIn(2) {
                    values.remove(id, .string(text))
                    kept[id] = nil
                } else {
                    let id = ObjectID(Int64(step))
                    kept[id] = DecimalText.canonical("\(Int64(random.below(40)) - 20).\(random.below(3))")
                    values.insert(id, .string(kept[id] ?? ""))
                    values.insert(id, .null)
                }
                let sorted = kept.values.sorted(by: DecimalText.isLess)
                #expect(values.count == kept.count, "seed \(seed)")
                #expect(values.object(.minimum).flatMap { kept[$0] } == sorted.first, "seed \(seed)")
                #expect(values.object(.maximum).flatMap { kept[$0] } == sorted.last, "seed \(seed)")
            }
        }
    }
}

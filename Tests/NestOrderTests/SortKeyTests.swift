import NestModel
import NestOrder
import NestTestSupport
import Testing

/// Tests that keys have the order of the values from which they are written, compared in a naive way.
@Suite struct SortKeyTests {
    private static let forms: [OrderTerm.Form] = [
        .text, .decimal, .integer, .wideInteger, .double, .boolean, .data, .uuid,
    ]

    /// Returns values that are often equal: short texts of few letters, and numbers at the limits of their sizes.
    private static func value(_ form: OrderTerm.Form, _ random: inout SeededRandom) -> AttributeValue {
        if form != .wideInteger, random.oneIn(8) { return .null }
        func word(_ letters: [Unicode.Scalar], max: Int) -> String {
            var text = ""
            for _ in 0..<random.below(max) { text.unicodeScalars.append(letters.randomElement(using: &random)!) }
            return text
        }
        func number() -> Int64 {
            let shift = Int64(random.below(64))
            let edge = Int64(truncatingIfNeeded: 1 << UInt64(shift)) &+ Int64(random.below(5)) &- 2
            return random.oneIn(2) ? edge : ~edge
        }
        switch form {
        case .text:
            let letters: [Unicode.Scalar] = ["\u{1}", "\u{2}", "a", "b", "é", "\u{ffff}", "😀", "\u{10ffff}"]
            return .string(word(letters, max: [3, 12, 40][random.below(3)]))
        case .decimal:
            let sign = random.oneIn(2) ? "-" : ""
            let text = "\(sign)\(random.below(3) * random.below(120)).\(word(["0", "1", "9"], max: 4))0"
            return .string(DecimalText.canonical(text)!)
        case .integer, .wideInteger: return random.oneIn(2) ? .integer(number()) : .integer(Int64(random.below(9)) - 4)
        case .double:
            let edges = [0, 1, -1, 0.5, -0.5, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude]
            return .double(random.oneIn(2) ? edges.randomElement(using: &random)! : Double(number()) / 1_000 + 0)
        case .boolean: return .boolean(random.oneIn(2))
        case .data: return .data((0..<random.below(5)).map { _ in [0, 1, 254, 255].randomElement(using: &random)! })
        case .uuid:
            return .uuid(Identifier128(high: random.oneIn(2) ? 1 : random.next(), low: UInt64(random.below(3))))
        }
    }

    private static func precedes(_ a: AttributeValue, _ b: AttributeValue, _ form: OrderTerm.Form) -> Bool {
        switch (a, b) {
        case (.null, _): !b.isNull
        case (_, .null): false
        case (.integer(let a), .integer(let b)): a < b
        case (.double(let a), .double(let b)): a < b
        case (.boolean(let a), .boolean(let b)): !a && b
        case (.string(let a), .string(let b)):
            form == .decimal ? DecimalText.isLess(a, b) : a.utf8.lexicographicallyPrecedes(b.utf8)
        case (.data(let a), .data(let b)): a.lexicographicallyPrecedes(b)
        case (.uuid(let a), .uuid(let b)): a < b
        default: false
        }
    }

    private static func precedes(_ a: [AttributeValue], _ b: [AttributeValue], _ terms: [OrderTerm]) -> Bool {
        for (index, term) in terms.enumerated() {
            if self.precedes(a[index], b[index], term.form) { return term.isAscending }
            if self.precedes(b[index], a[index], term.form) { return !term.isAscending }
        }
        return false
    }

    private static func key(_ values: [AttributeValue], _ terms: [OrderTerm]) -> SortKey {
        var writer = SortKeyWriter()
        for (value, term) in zip(values, terms) { writer.write(value, term) }
        return writer.take()
    }

    @Test func keysAreInTheOrderOfTheirValues() {
        for seed in 0..<3_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let terms = (0...random.below(3)).map { _ in
                OrderTerm(Self.forms.randomElement(using: &random)!, isAscending: random.oneIn(2))
            }
            let rows = (0..<24).map { _ in terms.map { Self.value($0.form, &random) } }
            let keys = rows.map { Self.key($0, terms) }
            for a in rows.indices {
                for b in rows.indices {
                    #expect(
                        (keys[a] < keys[b]) == Self.precedes(rows[a], rows[b], terms)
                            && (keys[a] == keys[b]) == (rows[a] == rows[b]),
                        "seed \(seed): \(rows[a]) and \(rows[b]) by \(terms)"
                    )
                }
            }
        }
    }

    /// The keys of numbers have no tail: those of any single required number in either direction, and of small numbers
    /// with other sort terms.
    @Test func numbersHaveShortKeys() {
        func isShort(_ values: [AttributeValue], _ terms: [OrderTerm]) -> Bool {
            Self.key(values, terms).tailBytes == 0
        }
        for number in [0, -1, 255, -256, .max, .min] as [Int64] {
            #expect(isShort([.integer(number)], [OrderTerm(.wideInteger)]))
            #expect(isShort([.date(number)], [OrderTerm(.wideInteger, isAscending: false)]))
        }
        for number in [0, 1 << 55, -(1 << 55)] as [Int64] {
            #expect(isShort([.integer(number)], [OrderTerm(.integer)]))
        }
        #expect(isShort([.null], [OrderTerm(.double)]))
        let both = [OrderTerm(.boolean), OrderTerm(.integer)]
        #expect(isShort([.boolean(true), .integer(1 << 40)], both))
        #expect(!isShort([.string("eight or more")], [OrderTerm(.text)]))
    }
}

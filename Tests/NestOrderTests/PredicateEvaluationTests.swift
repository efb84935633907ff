import NestModel
import NestOrder
import NestTestSupport
import Testing

@Suite struct PredicateEvaluationTests {
    private static func comparison(
        _ symbol: Comparison.Operator,
        _ values: [AttributeValue],
        _ folding: TextFolding = [],
        _ quantifier: Comparison.Quantifier = .one
    ) -> CompiledComparison {
        CompiledComparison(
            Comparison(
                quantifier: quantifier,
                path: PropertyPath(leaf: .attribute(PropertyNumber(1))),
                operator: symbol,
                folding: folding,
                values: values
            ),
            isDecimal: false
        )
    }

    /// A value in its byte form is compared as the value.
    @Test(arguments: Seeds.range(1..<41))
    func encodedValuesAreComparedAsValues(seed: UInt64) {
        var random = SeededRandom(seed: seed)
        func value() -> AttributeValue {
            switch random.below(6) {
            case 0: .null
            case 1: .integer(Int64(random.below(3)))
            case 2: .reference(ObjectID(1 + Int64(random.below(3))))
            default: .string(["", "a", "é", "ab", "ÀB", "abab", "b"][random.below(7)])
            }
        }
        let symbols: [Comparison.Operator] = [
            .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .isIn, .contains, .beginsWith,
            .endsWith, .like,
        ]
        for _ in 0..<500 {
            let symbol = symbols[random.below(symbols.count)]
            let values = symbol == .between ? [value(), value()] : [value()]
            let comparison = Self.comparison(symbol, values, random.oneIn(2) ? [] : .caseInsensitive)
            let tested = value()
            var bytes = ByteWriter()
            bytes.write(value: tested)
            let isTrue = bytes.bytes.withUnsafeBytes { comparison.isTrue(of: EncodedValue($0)) }
            #expect(isTrue == comparison.isTrue(of: tested), "seed \(seed): \(tested) \(symbol) \(values)")
        }
    }

    @Test func nullEqualsNullAndHasNoOrder() {
        #expect(Self.comparison(.equal, [.null]).isTrue(of: .null))
        #expect(!Self.comparison(.equal, [.integer(1)]).isTrue(of: .null))
        #expect(Self.comparison(.notEqual, [.integer(1)]).isTrue(of: .null))
        for symbol in [Comparison.Operator.less, .lessOrEqual, .greater, .greaterOrEqual] {
            #expect(!Self.comparison(symbol, [.integer(1)]).isTrue(of: .null))
            #expect(!Self.comparison(symbol, [.null]).isTrue(of: .integer(1)))
        }
        #expect(Self.comparison(.isIn, [.null, .integer(1)]).isTrue(of: .null))
    }

    @Test func numbersAreComparedExactly() {
        let large: Int64 = 1 << 53 + 1
        #expect(!Self.comparison(.equal, [.double(Double(1 << 53))]).isTrue(of: .integer(large)))
        #expect(Self.comparison(.greater, [.double(Double(1 << 53))]).isTrue(of: .integer(large)))
        #expect(Self.comparison(.less, [.double(1e300)]).isTrue(of: .integer(.max)))
        #expect(Self.comparison(.greater, [.double(-1e300)]).isTrue(of: .integer(.min)))
        #expect(Self.comparison(.equal, [.integer(2)]).isTrue(of: .double(2)))
        #expect(Self.comparison(.isIn, [.integer(2), .integer(9)]).isTrue(of: .double(2)))
        #expect(!Self.comparison(.equal, [.double(.infinity)]).isTrue(of: .integer(.max)))
    }

    @Test func quantifiersOverNoValues() {
        let none: [AttributeValue] = []
        #expect(!Self.comparison(.equal, [.integer(1)], [], .any).isTrue(of: none))
        #expect(Self.comparison(.equal, [.integer(1)], [], .all).isTrue(of: none))
        #expect(Self.comparison(.equal, [.integer(1)], [], .none).isTrue(of: none))
    }

    @Test(arguments: [
        ("É", "e", 3, true), ("É", "é", 1, true), ("É", "é", 0, false), ("É", "E", 2, true), ("e\u{301}", "é", 2, true),
        ("e\u{301}", "é", 0, false), ("STRASSE", "straße", 1, true), ("İ", "i", 3, true), ("ſ", "s", 1, true),
        ("Ω", "ω", 1, true), ("Å", "a", 3, true), ("ﬁ", "fi", 3, true), ("日本", "日本", 3, true), ("ñ", "n", 1, false),
        ("ΑΣ", "ας", 1, true), ("ΑΣ", "ασ", 1, true),
    ])
    func equalityFollowsTheFolding(_ a: String, _ b: String, _ folding: UInt8, _ isEqual: Bool) {
        let folding = TextFolding(rawValue: folding)
        #expect((Array(folding.fold(a).utf8) == Array(folding.fold(b).utf8)) == isEqual)
        #expect(Self.comparison(.equal, [.string(b)], folding).isTrue(of: .string(a)) == isEqual)
    }

    /// Matches naively, by trying every way to split the text.
    private static func likes(_ text: [Unicode.Scalar], _ pattern: [Unicode.Scalar]) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        let rest = Array(pattern.dropFirst())
        switch first {
        case "*": return (0...text.count).contains { Self.likes(Array(text[$0...]), rest) }
        case "?": return !text.isEmpty && Self.likes(Array(text.dropFirst()), rest)
        case "\\" where !rest.isEmpty:
            return text.first == rest[0] && Self.likes(Array(text.dropFirst()), Array(rest.dropFirst()))
        default: return text.first == first && Self.likes(Array(text.dropFirst()), rest)
        }
    }

    @Test func likeAgreesWithANaiveMatcher() {
        var random = SeededRandom(seed: 5)
        let letters: [Unicode.Scalar] = ["a", "b", "é"]
        let signs: [Unicode.Scalar] = ["a", "b", "é", "*", "?", "*", "\\"]
        var matched = 0
        for _ in 0..<20_000 {
            let text = (0..<random.below(8)).map { _ in letters[random.below(3)] }
            let pattern = (0..<random.below(8)).map { _ in signs[random.below(signs.count)] }
            let expected = Self.likes(text, pattern)
            let string = String(String.UnicodeScalarView(text))
            let wanted = String(String.UnicodeScalarView(pattern))
            #expect(
                Self.comparison(.like, [.string(wanted)]).isTrue(of: .string(string)) == expected,
                "\(string) LIKE \(wanted)"
            )
            if expected { matched += 1 }
        }
        #expect(matched > 1_000)
        // A pattern longer than a word of the automaton, and one that takes a naive matcher exponential time.
        let long = String(repeating: "a", count: 200)
        #expect(Self.comparison(.like, [.string(long)]).isTrue(of: .string(long)))
        #expect(!Self.comparison(.like, [.string(long + "b")]).isTrue(of: .string(long)))
        let stars = String(repeating: "a*", count: 100) + "b"
        #expect(!Self.comparison(.like, [.string(stars)]).isTrue(of: .string(String(repeating: "a", count: 60_000))))
    }

    @Test func searchAgreesWithTheStandardLibrary() {
        var random = SeededRandom(seed: 6)
        for _ in 0..<20_000 {
            let text = (0..<random.below(20)).map { _ in random.oneIn(2) ? "a" : "b" }.joined()
            let wanted = (0..<(random.below(4) + 1)).map { _ in random.oneIn(2) ? "a" : "b" }.joined()
            let value = AttributeValue.string(text)
            #expect(Self.comparison(.contains, [.string(wanted)]).isTrue(of: value) == text.contains(wanted))
            #expect(Self.comparison(.beginsWith, [.string(wanted)]).isTrue(of: value) == text.hasPrefix(wanted))
            #expect(Self.comparison(.endsWith, [.string(wanted)]).isTrue(of: value) == text.hasSuffix(wanted))
        }
        #expect(!Self.comparison(.contains, [.string("")]).isTrue(of: .string("x")), "false, as in Cocoa")
    }

    /// The canonical form of a random predicate matches the same values, survives encoding, and is its own canonical
    /// form.
    @Test func theCanonicalFormMatchesTheSameValues() throws {
        var random = SeededRandom(seed: 7)
        for _ in 0..<5_000 {
            let tree = Self.tree(&random, depth: 4)
            #expect(tree.isWellFormed)
            let canonical = try #require(tree.canonical)
            #expect(canonical.canonical == canonical)
            var writer = ByteWriter()
            writer.write(predicate: canonical)
            let read = try ByteReader.read(writer.bytes) { (reader) throws(DecodingFailure) in try reader.predicate() }
            #expect(read == canonical)
            for number in 0..<6 {
                let value = number == 5 ? AttributeValue.null : .integer(Int64(number))
                let test = { (comparison: Comparison) in
                    CompiledComparison(comparison, isDecimal: false).isTrue(of: value)
                }
                #expect(tree.evaluate(test) == canonical.evaluate(test))
            }
        }
    }

    private static func tree(_ random: inout SeededRandom, depth: Int) -> FetchPredicate {
        let kind = depth == 0 ? 0 : random.below(5)
        switch kind {
        case 1:
            return FetchPredicate(nodes: Self.tree(&random, depth: depth - 1).nodes + [.not])
        case 2, 3:
            let count = random.below(3) + 2
            var nodes: [FetchPredicate.Node] = []
            for _ in 0..<count { nodes += Self.tree(&random, depth: depth - 1).nodes }
            return FetchPredicate(nodes: nodes + [kind == 2 ? .and(count) : .or(count)])
        case 4 where random.oneIn(4):
            return FetchPredicate(nodes: [.constant(random.oneIn(2))])
        default:
            let symbols: [Comparison.Operator] = [
                .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .isIn,
            ]
            let symbol = symbols[random.below(symbols.count)]
            let count = symbol == .between ? 2 : symbol == .isIn ? random.below(4) : 1
            return FetchPredicate(
                Comparison(
                    path: PropertyPath(leaf: .attribute(PropertyNumber(1))),
                    operator: symbol,
                    values: (0..<count).map { _ in random.oneIn(8) ? .null : .integer(Int64(random.below(5))) }
                )
            )
        }
    }
}

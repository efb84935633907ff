import NestModel
import NestOrder
import NestSchema
import NestTestSupport
import Testing

/// `MATCHES`: regular expressions.
@Suite struct MatchExpressionTests {
    private static func comparison(_ pattern: String, _ folding: TextFolding = []) -> Comparison {
        Comparison(
            path: PropertyPath(leaf: .attribute(PropertyNumber(1))),
            operator: .matches,
            folding: folding,
            values: [.string(pattern)]
        )
    }

    private func faults(_ patterns: String...) -> [String] {
        let nodes = patterns.map { FetchPredicate.Node.comparison(Self.comparison($0)) }
        return MatchExpressions(FetchPredicate(nodes: nodes)).faults
    }

    private func matches(_ text: String, _ pattern: String, _ folding: TextFolding = []) -> Bool {
        let comparison = Self.comparison(pattern, folding)
        let expressions = MatchExpressions(FetchPredicate(comparison))
        guard expressions.faults.isEmpty else {
            Issue.record("\(pattern): \(expressions.faults)")
            return false
        }
        return CompiledComparison(comparison, isDecimal: false, expressions).isTrue(of: .string(text))
    }

    @Test func expressionsAgreeWithANaiveMatcher() {
        var random = SeededRandom(seed: 41)
        let letters: [Unicode.Scalar] = ["a", "b", "é", "日"]
        var matched = 0
        for _ in 0..<10_000 {
            let expression = RandomExpression(&random, letters: letters)
            let comparison = Self.comparison(expression.text)
            let compiled = MatchExpressions(FetchPredicate(comparison))
            #expect(compiled.faults.isEmpty, "seed 41: \(expression.text)")
            guard compiled.faults.isEmpty else { continue }
            let test = CompiledComparison(comparison, isDecimal: false, compiled)
            for _ in 0..<5 {
                let text = (0..<random.below(6)).map { _ in random.oneIn(20) ? "\n" : random.pick(letters) }
                let string = String(String.UnicodeScalarView(text))
                let expected = expression.matches(text)
                #expect(
                    test.isTrue(of: .string(string)) == expected,
                    "seed 41: \(string.debugDescription) MATCHES \(expression.text)"
                )
                if expected { matched += 1 }
            }
        }
        #expect(matched > 3_000)
    }

    @Test(arguments: [
        ("Ann", "A.n", 0, true), ("Anna", "A.n", 0, false), ("Anna", "A.n.*", 0, true), ("", "", 0, true),
        ("x", "", 0, false), ("2026-02", "\\d{4}-\\d{2}", 0, true), ("a\nb", "a.b", 0, false),
        ("a\nb", "(?s)a.b", 0, true), ("ANN", "ann", 0, false), ("ANN", "ann", 1, true), ("ÉMILE", "émile", 1, true),
        ("émile", "emile", 0, false), ("émile", "emile", 2, true), ("emile", "émile", 2, true),
        ("E\u{301}mile", "\u{e9}mile", 3, true), ("Émile", ".mile", 2, true), ("e\u{301}", ".", 0, false),
        ("e\u{301}", ".", 2, true), ("한국", "..", 2, true), ("한국", "[가-힣]+", 2, true), ("ΑΣ", "ας", 1, true),
        // Case is folded scalar by scalar.
        ("STRASSE", "straße", 1, false), ("STRAẞE", "straße", 1, true),
        // A pattern is not folded: `\D` stays `\D`.
        ("x", "\\D", 1, true), ("5", "\\D", 1, false), ("X", "\\p{Lu}", 0, true), ("a", "[^\\W\\d]", 0, true),
        ("1+1=2", "\\Q1+1=2\\E", 0, true), ("日本", "\\p{Han}+", 0, true), ("aXb", "a(?i)xb", 0, true),
    ])
    func theWholeTextMustMatch(_ text: String, _ pattern: String, _ folding: UInt8, _ isMatch: Bool) {
        #expect(self.matches(text, pattern, TextFolding(rawValue: folding)) == isMatch)
    }

    @Test func nullAndOtherValuesDoNotMatch() {
        let comparison = Self.comparison(".*")
        let test = CompiledComparison(comparison, isDecimal: false, MatchExpressions(FetchPredicate(comparison)))
        #expect(!test.isTrue(of: .null))
        #expect(test.isTrue(of: .string("")))
    }

    @Test(arguments: [
        ("a(b", "a ( is not closed by )"), ("ab)", "a ) closes nothing; write \\) for the sign itself"),
        ("[ab", "a [ is not closed by ]"), ("a[z-a]", "z-a is no class of characters (character 3 of the pattern)"),
        ("日(?=a)", "look-ahead and look-behind are not supported because their time would have no limit"),
        ("日(?=a)", "(character 2 of the pattern)"), ("(?!a)", "look-ahead"), ("(?<=a)b", "look-behind"),
        ("(?<!a)b", "look-behind"), ("(a)\\1", "\\1 is a back-reference, which is not supported"),
        ("a\\q", "\\q is no escape"), ("a\\", "it ends with a single backslash"),
        ("*a", "* repeats nothing; any text is .* and not *, and the sign itself is \\* (character 1 of the pattern)"),
        ("a++", "++ repeats twice; possessive repetition is not supported (character 2 of the pattern)"),
        ("a{1001}", "{1001} is no number of repetitions: at most 1000"),
        ("a{3,2}", "{3,2} is no number of repetitions"),
        ("(?<name>a)", "(?P<name>…)"), ("(?P<name", "a named group is written (?P<name>…)"),
        ("(?>a)", "is no group"), ("(((a{20}){20}){20})", "is no number of repetitions"),
    ])
    func faultsOfPatternsSayWhatIsWrong(_ pattern: String, _ message: String) throws {
        let faults = self.faults(pattern)
        #expect(faults.count == 1)
        let fault = try #require(faults.first)
        #expect(fault.hasPrefix("MATCHES \(FetchPredicate.quoted(pattern)): ") && fault.contains(message), "\(fault)")
    }

    /// All patterns of a predicate together.
    @Test func patternsAreLimitedInSize() {
        #expect(self.faults("[a-z0-9._]+@[a-z0-9.]+", "\\p{L}+").isEmpty)
        #expect(self.faults("a{900}").isEmpty)
        let few = Array(repeating: "a{900}", count: 4)
        #expect(MatchExpressions(FetchPredicate(nodes: few.map { .comparison(Self.comparison($0)) })).faults.isEmpty)
        let many = (0..<5).map { "\($0)a{900}" }
        let faults = MatchExpressions(FetchPredicate(nodes: many.map { .comparison(Self.comparison($0)) })).faults
        #expect(
            faults.count == 1 && faults[0].contains("over \(Limits.patternInstructionsMax) instructions"),
            "\(faults)"
        )
        // Unicode classes take long to compile, even if they add nothing.
        #expect(self.faults("[\(String(repeating: "\\pL", count: 31))]").isEmpty)
        #expect(self.faults("[\(String(repeating: "\\PL", count: 32))]").first?.contains("too large") == true)
        #expect(self.faults("\\\\p\(String(repeating: "\\\\pL", count: 100))").isEmpty)
        // The bytes of all patterns count, and equal patterns are compiled once.
        let long = String(repeating: "x", count: 400)
        #expect(self.faults(long, long, long, "y\(long)").isEmpty)
        #expect(
            self.faults(long, "y\(long)", "z\(long)") == [
                "its MATCHES patterns have 1202 bytes; at most 1024 are allowed"
            ]
        )
        for pattern in [".{1000}", "\\p{L}{10}", "(?:(?:.{10}){10}){9}"] {
            #expect(self.faults(pattern)[0].contains("too large"), "\(self.faults(pattern))")
        }
    }

    /// Patterns that take a backtracking matcher exponential time, and one that needs more states than its memory has.
    @Test func hostilePatternsFinish() {
        let text = String(repeating: "a", count: Limits.valueBytesMax)
        #expect(!self.matches(text, "(a*)*b"))
        #expect(!self.matches(text, "(a|aa)+b"))
        #expect(!self.matches(text, "(x+x+)+y"))
        #expect(!self.matches(text, "(a?){300}a{300}b"))
        var random = SeededRandom(seed: 42)
        let mixed = String(decoding: (0..<Limits.valueBytesMax).map { _ in UInt8(97 + random.below(2)) }, as: UTF8.self)
        #expect(self.matches("\(mixed)a\(String(repeating: "b", count: 200))", "(a|b)*a(a|b){200}"))
        #expect(!self.matches("\(mixed)b\(String(repeating: "b", count: 200))", "(a|b)*a(a|b){200}"))
    }

    /// Random patterns, most of them not valid, are compiled or refused in words.
    @Test func anyPatternIsCompiledOrRefused() {
        var random = SeededRandom(seed: 43)
        let parts = [
            "(", ")", "[", "]", "*", "+", "?", "{2}", "{", "}", "\\", "|", "^", "$", ".", "a", "é", "(?", "-", "p",
        ]
        var compiled = 0
        for _ in 0..<5_000 {
            let pattern = (0..<random.below(10)).map { _ in random.pick(parts) }.joined()
            let faults = self.faults(pattern)
            if faults.isEmpty { compiled += 1 }
            #expect(faults.allSatisfy { $0.count > 15 + pattern.count / 2 }, "seed 43: \(pattern): \(faults)")
        }
        #expect(compiled > 500 && compiled < 4_500)
    }
}

import NestDocuments
import NestModel
import NestTestSupport
import Testing

@Suite struct EscapedTextTests {
    /// The obvious slow inverse: reads one escape after the other.
    private static func decoded(_ text: String) throws -> String {
        var scalars = String.UnicodeScalarView()
        var rest = Array(text.unicodeScalars)[...]
        while let scalar = rest.popFirst() {
            guard scalar == "\\" else {
                #expect(scalar.value >= 0x20 && !(0x7f...0x9f).contains(scalar.value), "\(text.debugDescription)")
                scalars.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "\\": scalars.append("\\")
            case "n": scalars.append("\n")
            case "r": scalars.append("\r")
            case "t": scalars.append("\t")
            case "u":
                #expect(rest.popFirst() == "{")
                var digits = ""
                while let digit = rest.popFirst(), digit != "}" { digits.unicodeScalars.append(digit) }
                scalars.append(try #require(UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init)))
            case let other: Issue.record("\\\(other.map(String.init) ?? "") in \(text.debugDescription)")
            }
        }
        return String(scalars)
    }

    /// Every text reads back from its escaped form, which is one line without control characters.
    @Test func escapedTextReadsBack() throws {
        let pieces: [Unicode.Scalar] = [
            "\\", "n", "r", "t", "u", "{", "}", "1", "b", "\n", "\r", "\t", "\u{7}", "\u{1b}", "\u{7f}", "\u{85}",
            "\u{9b}", "\u{2028}", "\u{202e}", "\u{2069}", "\u{301}", "é", "日", "👩", "\u{200d}", " ", "a", "\u{10ffff}",
        ]
        for seed in Seeds.range(0..<2_000) {
            var random = SeededRandom(seed: seed)
            var scalars = String.UnicodeScalarView()
            for _ in 0..<random.below(20) { scalars.append(pieces[random.below(pieces.count)]) }
            let text = String(scalars)
            let decoded = try Self.decoded(EscapedText.text(text))
            #expect(decoded.unicodeScalars.elementsEqual(text.unicodeScalars), "seed \(seed)")
        }
        #expect(EscapedText.text("a\\n\nb") == "a\\\\n\\nb")
        #expect(EscapedText.message("a\\n\nb\u{1b}") == "a\\n\nb\\u{1b}")
    }
}

@Suite struct CountedTests {
    @Test func nounsAndDigitsAgreeWithTheNumber() {
        #expect(Counted.text(0, "row") == "0 rows" && Counted.text(1, "row") == "1 row")
        #expect(Counted.text(2, "entry", plural: "entries") == "2 entries")
        #expect(Counted.text(1, "entry", plural: "entries") == "1 entry")
        #expect(Counted.text(2_000, "row") == "2000 rows")
        #expect(Counted.text(2_000, "row", isGrouped: true) == "2,000 rows")
        #expect([999, 1_000, 1_234_567, -1_000].map(Counted.grouped) == ["999", "1,000", "1,234,567", "-1,000"])
    }
}

@Suite struct NearestNameTests {
    @Test(arguments: [
        ("tre", "tree"), ("crate", "create"), ("udno", "undo"), ("histroy", "history"), ("hist", "history"),
        ("sub", "subscribe"), ("--depht", "--depth"), ("TREE", "tree"),
    ]) func nearNamesAreFound(_ typed: String, _ name: String) {
        let names = ["ls", "tree", "undo", "redo", "create", "history", "subscribe", "--depth", "--tls"]
        #expect(NearestName.find(typed, among: names) == name)
    }

    @Test(arguments: ["--foo", "xyzzy", "", "a", "cp", String(repeating: "tree", count: 1_000)])
    func farNamesAreNotSuggested(_ typed: String) {
        #expect(NearestName.find(typed, among: ["ls", "tree", "undo", "--tls", "--depth"]) == nil)
    }
}

import NestModel
import NestTestSupport
import Testing

/// `Tests/Vectors/folding.json`: texts as `[c]`, `[d]` and `[cd]` compare them.
@Suite struct FoldingVectorTests {
    @Test func foldedTextsAreAsInTheVectors() throws {
        var file = VectorFile("folding", about: Self.about)
        file.add("cases", JSONValue(list: (Self.texts + Self.alphabets).map(Self.vector)))
        if let difference = try file.difference() { Issue.record("\(difference)") }
    }

    private static let about = """
        Folded texts. Two texts are equal by [c], [d] or [cd] when their folded forms have equal UTF-8 bytes. [c] maps \
        each scalar by itself to lower, upper and lower case with the full mappings of Unicode, whatever the language; \
        [d] decomposes canonically and removes nonspacing marks; [cd] does [d] first. Folding a folded text changes \
        nothing. All characters are in Unicode 13.
        """

    private static let texts = [
        "", "abc", "ABC", "AbC 123 _-", "\u{0}\u{1f}\u{7f}", "Stra\u{df}e", "STRASSE", "STRA\u{1e9e}E",
        "\u{39f}\u{394}\u{39f}\u{3a3}",
        "\u{3bf}\u{3b4}\u{3bf}\u{3c2}", "\u{3bf}\u{3b4}\u{3bf}\u{3c3}", "\u{3a3}", "A\u{3a3} \u{3a3}A",
        "\u{130}stanbul", "ISTANBUL",
        "\u{131}stanbul", "i\u{307}stanbul", "\u{e9}", "e\u{301}", "\u{c9}", "E\u{301}", "\u{1ed7}", "o\u{302}\u{303}",
        "o\u{303}\u{302}", "a\u{323}\u{307}", "a\u{307}\u{323}", "\u{c5}", "\u{212b}", "A\u{30a}", "\u{2126}",
        "\u{212a}",
        "\u{17f}", "\u{fb01}n", "\u{fb05}", "\u{149}", "\u{1f0}", "\u{390}", "\u{3b0}", "\u{587}", "\u{1e96}",
        "\u{1f88}", "\u{1f80}", "\u{1fb3}", "\u{1fbc}", "\u{345}", "\u{1c4}\u{1c5}\u{1c6}", "\u{10d0}\u{1c90}",
        "\u{13a0}\u{ab70}", "\u{10400}\u{10428}", "\u{65e5}\u{672c}", "\u{30ac}", "\u{304c}", "\u{d55c}\u{ae00}",
        "\u{1112}\u{1161}\u{11ab}", "\u{5e9}\u{5b8}\u{5dc}", "\u{643}\u{64e}", "\u{915}\u{94d}\u{937}",
        "\u{915}\u{93e}",
        "\u{20dd}a", "a\u{20dd}", "\u{1f469}\u{200d}\u{1f467}", "\u{1f1e9}\u{1f1ea}", "\u{301}", "\u{301}a",
        "\u{f8}\u{d8}", "\u{142}",
        "\u{10ffff}\u{e000}\u{fffd}", "na\u{ef}ve Caf\u{e9} \u{c6}ON", "D\u{17d}\u{17e}\u{1c6}",
        "\u{2460}\u{24b6}\u{24d0}", "\u{ff21}\u{ff41}",
    ]

    /// The letters of many alphabets, sixteen to a text.
    private static let alphabets: [String] = {
        let ranges: [ClosedRange<UInt32>] = [
            0xa0...0x24f, 0x250...0x2af, 0x370...0x52f, 0x531...0x587, 0x10a0...0x10ff, 0x13a0...0x13fd,
            0x1c80...0x1cbf, 0x1e00...0x1fff, 0x2100...0x218b, 0x2c00...0x2d2d, 0xa640...0xa69d, 0xa722...0xa7bf,
            0xab30...0xabbf, 0xfb00...0xfb17, 0xff21...0xff5a, 0x10400...0x1044f, 0x118a0...0x118df, 0x1e900...0x1e943,
        ]
        let letters = ranges.joined().compactMap(Unicode.Scalar.init).filter { scalar in
            guard let age = scalar.properties.age else { return false }
            return age.major <= 13 && scalar.properties.isAlphabetic
        }
        return stride(from: 0, to: letters.count, by: 16).map { start in
            String(String.UnicodeScalarView(letters[start..<min(start + 16, letters.count)]))
        }
    }()

    private static func vector(_ text: String) -> JSONValue {
        let (c, d) = (TextFolding.caseInsensitive, TextFolding.diacriticInsensitive)
        let both: TextFolding = [c, d]
        let folded = [c.fold(text), d.fold(text), both.fold(text)]
        // Each scalar by itself, and diacritics before case.
        #expect(folded[0].hasSameBytes(as: Self.caseless(text)), "\(text)")
        #expect(folded[2].hasSameBytes(as: Self.caseless(folded[1])), "\(text)")
        for (folding, result) in zip([c, d, both], folded) {
            #expect(folding.fold(result).hasSameBytes(as: result), "\(text): folding is not idempotent")
        }
        return ["text": .string(text), "c": .string(folded[0]), "d": .string(folded[1]), "cd": .string(folded[2])]
    }

    private static func caseless(_ text: String) -> String {
        func mapped(_ text: String, _ map: (Unicode.Scalar.Properties) -> String) -> String {
            text.unicodeScalars.map { map($0.properties) }.joined()
        }
        return mapped(mapped(mapped(text, \.lowercaseMapping), \.uppercaseMapping), \.lowercaseMapping)
    }
}

import NestTestSupport
import Testing

@testable import nestc

#if canImport(Glibc)
import Glibc
#endif

/// Text in the columns of a terminal.
@Suite struct DisplayWidthTests {
    @Test(arguments: [
        ("", 0), ("abc", 3), ("日本語", 6), ("e\u{301}te\u{301}", 3), ("é", 1), ("한국", 4), ("\u{1112}\u{1161}", 2),
        ("｡", 1), ("Ａ", 2), ("🙂", 2), ("🇩🇪", 2), ("☎", 1), ("a\u{200b}b", 2), ("\u{ad}", 1), ("शि", 2),
    ])
    func widthOfText(_ text: String, _ width: Int) {
        #expect(DisplayWidth.of(text) == width)
    }

    #if canImport(Glibc)
    /// U+1171E became a spacing mark in Unicode 15, which Swift knows and older C libraries do not.
    private static let knownDifferences: Set = ["1171e"]

    /// The width of every scalar is that of the C library, by which xterm and tmux draw. The C library of the machine
    /// may have a later Unicode version than the table, so this compares the scalars of Unicode 14.
    @Test func widthsAreThoseOfTheCLibrary() throws {
        // A constant that the Glibc module does not import: LC_CTYPE_MASK.
        guard let locale = newlocale(1 << LC_CTYPE, "C.UTF-8", nil) else {
            return print("skipped: the locale C.UTF-8 is missing")
        }
        // The module does not import the function either.
        let wcwidth = unsafeBitCast(try #require(dlsym(nil, "wcwidth")), to: (@convention(c) (wchar_t) -> CInt).self)
        let before = uselocale(locale)
        defer {
            uselocale(before)
            freelocale(locale)
        }
        var (count, different) = (0, [String]())
        for value in UInt32(0x20)...0x10ffff {
            guard let scalar = Unicode.Scalar(value), let age = scalar.properties.age, age.major <= 14 else { continue }
            let width = wcwidth(wchar_t(value))
            // -1: a control character, or not assigned in the library's version.
            guard width >= 0 else { continue }
            count += 1
            if DisplayWidth.of(scalar) != Int(width) { different.append(String(value, radix: 16)) }
        }
        #expect(count > 250_000)
        #expect(Set(different).subtracting(Self.knownDifferences) == [])
    }
    #endif

    @Test(arguments: [
        ("abc", 3, "abc"), ("abcd", 3, "ab…"), ("日本語", 6, "日本語"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"),
        ("e\u{301}te\u{301}", 2, "e\u{301}…"), ("👩‍👩‍👧x", 6, "…"), ("abc", 1, "…"), ("abc", 0, ""), ("", 0, ""),
    ])
    func textIsCutBetweenCharacters(_ text: String, _ columns: Int, _ cut: String) {
        #expect(DisplayWidth.cut(text, to: columns) == cut)
    }

    /// A cut text takes at most the columns that it gets, and one character more would take more.
    @Test func cutTextFitsAndIsTheLongestThatDoes() {
        let characters: [Character] = ["a", "日", "e\u{301}", "🙂", "👩‍👩‍👧", "\u{200b}", "🇩🇪", " "]
        for seed in 0..<2_000 as Range<UInt64> {
            var random = SeededRandom(seed: seed)
            let text = String((0..<random.below(12)).map { _ in characters.randomElement(using: &random)! })
            let columns = random.below(16)
            let cut = DisplayWidth.cut(text, to: columns)
            #expect(DisplayWidth.of(cut) <= columns, "seed \(seed)")
            if DisplayWidth.of(text) <= columns {
                #expect(cut == text, "seed \(seed)")
            } else if columns > 0 {
                let kept = cut.dropLast()
                #expect(cut.hasSuffix("…") && text.hasPrefix(kept), "seed \(seed)")
                let more = text.prefix(kept.count + 1)
                #expect(DisplayWidth.of(more) > columns - 1, "seed \(seed)")
            }
            #expect(DisplayWidth.of(DisplayWidth.padded(cut, to: columns)) == columns, "seed \(seed)")
        }
    }

    @Test func charactersOfSeveralPicturesAreNotCertain() {
        for text in ["abc", "日本", "e\u{301}", "🙂"] { #expect(DisplayWidth.isCertain(text), "\(text)") }
        for text in ["👩‍👩‍👧", "🇩🇪", "❤\u{fe0f}", "👍🏽"] { #expect(!DisplayWidth.isCertain(text), "\(text)") }
    }
}

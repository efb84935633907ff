/// The number of columns that text takes on a terminal.
///
/// It is counted scalar by scalar, as `wcwidth` of the C library does, and as xterm and tmux do with its help. A
/// terminal that joins several scalars into one picture (a family of emoji, a flag) takes fewer columns, never more;
/// `isCertain` is false for such text, and a table then positions the next column by number.
enum DisplayWidth {
    static func of(_ text: some StringProtocol) -> Int {
        text.unicodeScalars.reduce(0) { $0 + self.of($1) }
    }

    static func of(_ scalar: Unicode.Scalar) -> Int {
        let value = scalar.value
        // Latin, without the soft hyphen: `wcwidth` gives it a column.
        if value < 0x300 { return value < 0x20 || (0x7f...0x9f).contains(value) ? 0 : 1 }
        if self.isWide(value) { return 2 }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .nonspacingMark, .enclosingMark: return 0
        case .format: return self.visibleFormats.contains { $0.contains(value) } ? 1 : 0
        default: break
        }
        // The vowels and final consonants of Hangul, which join the consonant before them.
        if (0x1160...0x11ff).contains(value) || (0xd7b0...0xd7ff).contains(value) { return 0 }
        // Emoji of a later Unicode version than the table's. The letters of flags take one column each.
        let isFlagLetter = (0x1f1e6...0x1f1ff).contains(value)
        return properties.isEmojiPresentation && !isFlagLetter ? 2 : 1
    }

    /// Whether all terminals agree on the width: no character consists of several scalars with columns of their own,
    /// and none selects its presentation.
    static func isCertain(_ text: some StringProtocol) -> Bool {
        guard text.utf8.contains(where: { $0 >= 0x80 }) else { return true }
        return text.allSatisfy { character in
            let scalars = character.unicodeScalars
            return scalars.count == 1
                || scalars.count(where: { self.of($0) > 0 }) <= 1 && !scalars.contains("\u{fe0f}")
        }
    }

    /// Returns the text, or its first characters and `…`, in at most `columns` columns.
    static func cut(_ text: String, to columns: Int) -> String {
        var width = 0
        // The end of the longest beginning that leaves a column for the ellipsis.
        var end = text.startIndex
        for index in text.indices {
            width += self.of(text[index...index])
            if width > columns { return columns > 0 ? "\(text[..<end])…" : "" }
            if width <= columns - 1 { end = text.index(after: index) }
        }
        return text
    }

    /// Returns the text and spaces up to `columns` columns.
    static func padded(_ text: String, to columns: Int) -> String {
        text + String(repeating: " ", count: max(columns - self.of(text), 0))
    }

    /// Returns blanks to place something below the character after a text. Tabs stay. A character of several scalars is
    /// counted as a terminal draws it that joins them; U+FE0F makes an emoji of the sign before it.
    static func blanks(_ text: some StringProtocol) -> String {
        text.map { character in
            if character == "\t" { return "\t" }
            return character.unicodeScalars.contains { $0.value == 0xfe0f || self.of($0) == 2 } ? "  " : " "
        }
        .joined()
    }

    private static func isWide(_ value: UInt32) -> Bool {
        guard value >= 0x1100 else { return false }
        var (low, high) = (0, self.wide.count)
        while low < high {
            let middle = (low + high) / 2
            if self.wide[middle].upperBound < value { low = middle + 1 } else { high = middle }
        }
        return low < self.wide.count && self.wide[low].contains(value)
    }

    /// Format characters that are drawn: signs that span the digits after them.
    private static let visibleFormats: [ClosedRange<UInt32>] = [
        0x0600...0x0605, 0x06dd...0x06dd, 0x070f...0x070f, 0x0890...0x0891, 0x08e2...0x08e2, 0x110bd...0x110bd,
        0x110cd...0x110cd,
    ]

    /// The scalars of East Asian Width W or F in EastAsianWidth.txt of Unicode 14.0, ascending. Ranges continue across
    /// unassigned code points, and cover the planes of ideographs and, as `wcwidth` does, the circled numbers and
    /// hexagrams among them.
    private static let wide: [ClosedRange<UInt32>] = [
        0x1100...0x115f, 0x231a...0x231b, 0x2329...0x232a, 0x23e9...0x23ec, 0x23f0...0x23f0, 0x23f3...0x23f3,
        0x25fd...0x25fe, 0x2614...0x2615, 0x2648...0x2653, 0x267f...0x267f, 0x2693...0x2693, 0x26a1...0x26a1,
        0x26aa...0x26ab, 0x26bd...0x26be, 0x26c4...0x26c5, 0x26ce...0x26ce, 0x26d4...0x26d4, 0x26ea...0x26ea,
        0x26f2...0x26f3, 0x26f5...0x26f5, 0x26fa...0x26fa, 0x26fd...0x26fd, 0x2705...0x2705, 0x270a...0x270b,
        0x2728...0x2728, 0x274c...0x274c, 0x274e...0x274e, 0x2753...0x2755, 0x2757...0x2757, 0x2795...0x2797,
        0x27b0...0x27b0, 0x27bf...0x27bf, 0x2b1b...0x2b1c, 0x2b50...0x2b50, 0x2b55...0x2b55, 0x2e80...0x3029,
        0x302e...0x303e, 0x3041...0x3098, 0x309b...0xa4c6, 0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfad9,
        0xfe10...0xfe19, 0xfe30...0xfe6b, 0xff01...0xff60, 0xffe0...0xffe6, 0x16fe0...0x16fe3, 0x16ff0...0x1b2fb,
        0x1f004...0x1f004, 0x1f0cf...0x1f0cf, 0x1f18e...0x1f18e, 0x1f191...0x1f19a, 0x1f200...0x1f320,
        0x1f32d...0x1f335, 0x1f337...0x1f37c, 0x1f37e...0x1f393, 0x1f3a0...0x1f3ca, 0x1f3cf...0x1f3d3,
        0x1f3e0...0x1f3f0, 0x1f3f4...0x1f3f4, 0x1f3f8...0x1f43e, 0x1f440...0x1f440, 0x1f442...0x1f4fc,
        0x1f4ff...0x1f53d, 0x1f54b...0x1f54e, 0x1f550...0x1f567, 0x1f57a...0x1f57a, 0x1f595...0x1f596,
        0x1f5a4...0x1f5a4, 0x1f5fb...0x1f64f, 0x1f680...0x1f6c5, 0x1f6cc...0x1f6cc, 0x1f6d0...0x1f6d2,
        0x1f6d5...0x1f6df, 0x1f6eb...0x1f6ec, 0x1f6f4...0x1f6fc, 0x1f7e0...0x1f7f0, 0x1f90c...0x1f93a,
        0x1f93c...0x1f945, 0x1f947...0x1f9ff, 0x1fa70...0x1faf6, 0x20000...0x3fffd,
    ]
}

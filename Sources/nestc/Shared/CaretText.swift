/// Places a caret below a line of text.
enum CaretText {
    /// Returns blanks of the width that a terminal gives to a text: two for each character of two columns, one for each
    /// other character. Tabs stay.
    static func blanks(_ text: String) -> String {
        text.reduce(into: "") { blanks, character in
            if character == "\t" { blanks.append(character) } else { blanks += Self.isWide(character) ? "  " : " " }
        }
    }

    /// Whether a character has two columns: one of East Asian scripts in full width, or an emoji.
    private static func isWide(_ character: Character) -> Bool {
        character.unicodeScalars.contains { scalar in
            // U+FE0F makes an emoji of the sign before it.
            if scalar.value == 0xfe0f || scalar.properties.isEmojiPresentation { return true }
            switch scalar.value {
            case 0x1100...0x115f, 0x2e80...0x303e, 0x3041...0x33ff, 0x3400...0x4dbf, 0x4e00...0x9fff, 0xa000...0xa4cf,
                0xa960...0xa97c, 0xac00...0xd7a3, 0xf900...0xfaff, 0xfe30...0xfe6f, 0xff01...0xff60, 0xffe0...0xffe6,
                0x1b000...0x1b2ff, 0x20000...0x3fffd:
                return true
            default: return false
            }
        }
    }
}

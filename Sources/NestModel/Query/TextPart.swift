/// A part of a text without the spaces around it, and where it is.
package struct TextPart {
    package let text: Substring
    /// The column of the part, counted from 1 in Unicode scalars of the whole text.
    package let column: Int
    /// The column where the part begins with its spaces.
    package let start: Int

    package init(_ text: Substring, column: Int = 1) {
        let trimmed = text.drop { $0 == " " }
        var end = trimmed.endIndex
        while end > trimmed.startIndex, trimmed[trimmed.index(before: end)] == " " { end = trimmed.index(before: end) }
        self.text = trimmed[..<end]
        self.start = column
        self.column = column + text[..<trimmed.startIndex].unicodeScalars.count
    }

    /// Returns the parts between separators.
    package func split(_ separator: Character) -> [TextPart] {
        var column = self.column
        return self.text.split(separator: separator, omittingEmptySubsequences: false).map { part in
            defer { column += part.unicodeScalars.count + 1 }
            return TextPart(part, column: column)
        }
    }

    /// The part without its first character and the spaces after that.
    package var dropFirst: TextPart {
        guard let first = self.text.first else { return self }
        return TextPart(self.text.dropFirst(), column: self.column + first.unicodeScalars.count)
    }
}

/// The tags at the end of a line of TaskPaper: `@next @due(2026-01-02)`.
enum TaskPaperTags {
    struct Tag: Equatable {
        var name: String
        /// As in the file, between the parentheses; `nil` without them.
        var value: [UInt8]?
    }

    private static let at = UInt8(ascii: "@")
    private static let opening = UInt8(ascii: "(")
    private static let closing = UInt8(ascii: ")")
    private static let backslash = UInt8(ascii: "\\")

    /// Returns the last tag of a line, which does not end with a space, and what is before it without spaces at its
    /// end.
    static func last(_ line: ArraySlice<UInt8>) -> (tag: Tag, rest: ArraySlice<UInt8>)? {
        var name = line
        var value: [UInt8]?
        if line.last == Self.closing {
            guard let open = Self.opening(line), !Self.isEscaped(line, line.endIndex - 1) else { return nil }
            value = Array(line[(open + 1)...].dropLast())
            name = line[..<open]
        }
        guard let start = name.lastIndex(of: Self.at), start == line.startIndex || LineBytes.isBlank(line[start - 1])
        else { return nil }
        let text = LineBytes.text(name[(start + 1)...])
        guard Self.isName(text) else { return nil }
        return (Tag(name: text, value: value), LineBytes.trimmed(line[..<start]))
    }

    /// Returns the parenthesis that the last one closes. A backslash before a parenthesis makes it a part of the value.
    private static func opening(_ line: ArraySlice<UInt8>) -> Int? {
        var index = line.endIndex - 2
        while index >= line.startIndex {
            if (line[index] == Self.opening || line[index] == Self.closing) && !Self.isEscaped(line, index) {
                return line[index] == Self.opening ? index : nil
            }
            index -= 1
        }
        return nil
    }

    private static func isEscaped(_ line: ArraySlice<UInt8>, _ index: Int) -> Bool {
        index > line.startIndex && line[index - 1] == Self.backslash
    }

    static func isName(_ name: String) -> Bool {
        !name.isEmpty
            && name.unicodeScalars.allSatisfy { scalar in
                "_-.".unicodeScalars.contains(scalar) || scalar.properties.isAlphabetic
                    || scalar.properties.numericType != nil
            }
    }

    static func line(_ tag: Tag) -> [UInt8] {
        let name = [Self.at] + Array(tag.name.utf8)
        guard let value = tag.value else { return name }
        return name + [Self.opening] + value + [Self.closing]
    }

    // MARK: Values

    /// Returns the text of a value: `\(` is a parenthesis, and `LineEscape` holds what has no other form.
    static func text(of value: [UInt8]) -> [UInt8] {
        LineEscape.text(of: Self.unescaped(value), isPlain: Self.isPlain)
    }

    static func value(for text: [UInt8]) -> [UInt8] {
        Self.escaped(LineEscape.line(for: text, isPlain: Self.isPlain))
    }

    /// Not if the value has a backslash before a parenthesis or at its end: it would mean something else.
    private static func isPlain(_ text: [UInt8]) -> Bool {
        text.last != Self.backslash && Self.unescaped(text) == text
    }

    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        text.flatMap { $0 == Self.opening || $0 == Self.closing ? [Self.backslash, $0] : [$0] }
    }

    private static func unescaped(_ value: [UInt8]) -> [UInt8] {
        value.enumerated().filter { index, byte in
            let next = index + 1 < value.count ? value[index + 1] : 0
            return byte != Self.backslash || (next != Self.opening && next != Self.closing)
        }.map(\.element)
    }
}

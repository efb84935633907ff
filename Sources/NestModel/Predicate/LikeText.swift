/// The pattern of `LIKE`, where SQL writes `%` for `*`. A percent sign is only itself, and `\%` is another way to write
/// it, so that the text of a predicate can say that it means the sign.
enum LikeText {
    /// Returns the pattern with `%` for each `\%`.
    static func canonical(_ pattern: String) -> String {
        guard pattern.utf8.contains(UInt8(ascii: "%")) else { return pattern }
        var canonical = String.UnicodeScalarView()
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if isEscaped, scalar != "%" { canonical.append("\\") }
            if isEscaped || scalar != "\\" { canonical.append(scalar) }
            isEscaped = !isEscaped && scalar == "\\"
        }
        if isEscaped { canonical.append("\\") }
        return String(canonical)
    }

    /// Whether the pattern seems to be one of SQL: a percent sign at an end, and nothing that matches various texts.
    static func isSQL(_ pattern: String) -> Bool {
        guard pattern.utf8.contains(UInt8(ascii: "%")) else { return false }
        let tokens = Self.tokens(pattern)
        return (tokens.first == ["%"] || tokens.last == ["%"]) && !tokens.contains(["*"]) && !tokens.contains(["?"])
    }

    /// Returns the pattern with `\%` for each `%`.
    static func escaped(_ pattern: String) -> String {
        var text = String.UnicodeScalarView()
        for token in Self.tokens(pattern) { text.append(contentsOf: token == ["%"] ? ["\\", "%"] : token) }
        return String(text)
    }

    private static func tokens(_ pattern: String) -> [[Unicode.Scalar]] {
        var tokens: [[Unicode.Scalar]] = []
        var isEscaped = false
        for scalar in pattern.unicodeScalars {
            if isEscaped {
                tokens[tokens.count - 1].append(scalar)
                isEscaped = false
            } else {
                tokens.append([scalar])
                isEscaped = scalar == "\\"
            }
        }
        return tokens
    }
}

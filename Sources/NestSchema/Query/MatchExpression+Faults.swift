import CRegex

extension nest_regex_fault {
    /// What is wrong with a pattern, and where RE2 found it.
    func text(of pattern: String) -> String {
        let part = Self.string(self.part)
        switch self.kind {
        case NEST_REGEX_ESCAPE:
            let isReference = part.dropFirst().first?.isNumber ?? false
            return isReference
                ? "\(part) is a back-reference, which is not supported because its time would have no limit"
                : "\(part) is no escape; write \\\\ before signs like . and *, and \\x{e9} for a code"
                    + Self.place(part, pattern)
        case NEST_REGEX_CLASS: return "\(part) is no class of characters" + Self.place(part, pattern)
        case NEST_REGEX_MISSING_BRACKET: return "a [ is not closed by ]"
        case NEST_REGEX_MISSING_PAREN: return "a ( is not closed by )"
        case NEST_REGEX_UNEXPECTED_PAREN: return "a ) closes nothing; write \\) for the sign itself"
        case NEST_REGEX_TRAILING_BACKSLASH: return "it ends with a single backslash"
        case NEST_REGEX_REPEAT_NOTHING:
            return "\(part) repeats nothing; any text is .* and not *, and the sign itself is \\\(part)"
                + Self.place(part, pattern)
        case NEST_REGEX_REPEAT_SIZE:
            return "\(part) is no number of repetitions: at most 1000, in all that contain each other"
                + Self.place(part, pattern)
        case NEST_REGEX_REPEAT_TWICE:
            return "\(part) repeats twice; possessive repetition is not supported" + Self.place(part, pattern)
        case NEST_REGEX_GROUP:
            let isLook = ["(?=", "(?!"].contains(part) || ["(?<=", "(?<!"].contains { pattern.contains($0) }
            return isLook
                ? "look-ahead and look-behind are not supported because their time would have no limit"
                    + Self.place(part, pattern)
                : "\(part) is no group; there are (…), (?:…), (?P<name>…) and the flags (?i), (?s), (?m)"
                    + Self.place(part, pattern)
        case NEST_REGEX_GROUP_NAME: return "a named group is written (?P<name>…)" + Self.place(part, pattern)
        case NEST_REGEX_TOO_LARGE: return "it is too large"
        default: return Self.string(self.message)
        }
    }

    /// The position of the part, if the pattern has it only once.
    private static func place(_ part: String, _ pattern: String) -> String {
        let places = pattern.ranges(of: part)
        guard places.count == 1, !part.isEmpty else { return "" }
        return " (character \(pattern[..<places[0].lowerBound].unicodeScalars.count + 1) of the pattern)"
    }

    private static func string<Characters>(_ characters: Characters) -> String {
        withUnsafeBytes(of: characters) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
}

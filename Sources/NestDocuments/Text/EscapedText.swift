/// Text on one line that reads back as exactly one text: a backslash is `\\`, and a character that could end the line,
/// move a terminal's cursor or turn the direction of what follows is an escape.
///
///     \\      a backslash
///     \n \r \t    a line feed, a carriage return, a tab
///     \u{1b}  any other escaped character, by its number in hexadecimal digits
package enum EscapedText {
    package static func text(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0 == "\\" || self.isControl($0) }) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar == "\\" { escaped += "\\\\" } else { self.append(scalar, to: &escaped) }
        }
        return escaped
    }

    /// Returns a message in which no control character is left but line feeds. Its backslashes stay: it is for people,
    /// and may contain texts that are escaped.
    package static func message(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: self.isControl) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if scalar == "\n" { escaped += "\n" } else { self.append(scalar, to: &escaped) }
        }
        return escaped
    }

    /// Returns a message as `message` does, on one line. Text that is already escaped stays as it is.
    package static func line(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: self.isControl) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars { self.append(scalar, to: &escaped) }
        return escaped
    }

    private static func append(_ scalar: Unicode.Scalar, to escaped: inout String) {
        switch scalar {
        case _ where !self.isControl(scalar): escaped.unicodeScalars.append(scalar)
        case "\n": escaped += "\\n"
        case "\r": escaped += "\\r"
        case "\t": escaped += "\\t"
        default: escaped += "\\u{\(String(scalar.value, radix: 16))}"
        }
    }

    /// C0, DEL and C1, the separators of lines and paragraphs, and the marks that change the direction of the text
    /// after them.
    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7f...0x9f, 0x2028...0x2029, 0x202a...0x202e, 0x2066...0x2069: true
        default: false
        }
    }
}

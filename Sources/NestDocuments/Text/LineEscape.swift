/// Writes a text on a line of a format for people, and reads it back.
///
/// A text is *plain* if the line that holds it reads back as this text: each format has its own rule. A plain text is
/// written unchanged. Another one is *escaped*: a backslash, then the text with `\\` for a backslash, `\n` for a line
/// feed, `\r` for a carriage return, and `\x29` for a `)` and others, by their hexadecimal numbers. A text that begins
/// with a backslash but would unescape to a plain text is not escaped: the reader takes it unchanged. So
/// `\section{One}` means itself, and every text reads back as it was written.
enum LineEscape {
    private static let backslash = UInt8(ascii: "\\")
    private static let hexadecimal = Array("0123456789abcdef".utf8)
    /// The characters that begin and end the tags of a line.
    private static let marks = Array("@()".utf8)

    /// Returns the bytes to write for a text.
    static func line(for text: [UInt8], isPlain: ([UInt8]) -> Bool) -> [UInt8] {
        Self.needsEscape(text, isPlain) ? Self.escaped(text) : text
    }

    /// Returns the text of the bytes that a line has for it.
    static func text(of line: [UInt8], isPlain: ([UInt8]) -> Bool) -> [UInt8] {
        guard let text = Self.unescaped(line), Self.needsEscape(text, isPlain) else { return line }
        return text
    }

    /// Whether the text, or what it would unescape to, is not plain. Each turn is shorter.
    private static func needsEscape(_ text: [UInt8], _ isPlain: ([UInt8]) -> Bool) -> Bool {
        var text = text
        while true {
            if text.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) { return true }
            if !isPlain(text) { return true }
            guard let inner = Self.unescaped(text) else { return false }
            text = inner
        }
    }

    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        var line = [Self.backslash]
        line.reserveCapacity(text.count + 8)
        for (index, byte) in text.enumerated() {
            let isLast = index == text.count - 1
            switch byte {
            case Self.backslash where !isLast: line += [Self.backslash, Self.backslash]
            case UInt8(ascii: "\n"): line += [Self.backslash, UInt8(ascii: "n")]
            case UInt8(ascii: "\r"): line += [Self.backslash, UInt8(ascii: "r")]
            case _ where Self.marks.contains(byte) || isLast && Self.isMark(byte):
                line += [Self.backslash, UInt8(ascii: "x")]
                line += [Self.hexadecimal[Int(byte >> 4)], Self.hexadecimal[Int(byte & 15)]]
            default: line.append(byte)
            }
        }
        return line
    }

    /// Whether a character of ASCII is neither a letter nor a digit. At the end of a line it may mean something.
    private static func isMark(_ byte: UInt8) -> Bool {
        let scalar = Unicode.Scalar(byte)
        return scalar.isASCII && !("a"..."z").contains(scalar) && !("A"..."Z").contains(scalar)
            && !("0"..."9").contains(scalar)
    }

    /// Returns the text after the leading backslash, without escapes; `nil` if the line is not escaped.
    private static func unescaped(_ line: [UInt8]) -> [UInt8]? {
        guard line.first == Self.backslash else { return nil }
        var text: [UInt8] = []
        text.reserveCapacity(line.count)
        var index = 1
        while index < line.count {
            guard line[index] == Self.backslash else {
                text.append(line[index])
                index += 1
                continue
            }
            guard index + 1 < line.count else { return nil }
            switch line[index + 1] {
            case Self.backslash: text.append(Self.backslash)
            case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "r"): text.append(UInt8(ascii: "\r"))
            case UInt8(ascii: "x"):
                guard index + 3 < line.count, let high = Self.hexadecimal.firstIndex(of: line[index + 2]),
                    let low = Self.hexadecimal.firstIndex(of: line[index + 3]), high < 8
                else { return nil }
                text.append(UInt8(high << 4 | low))
                index += 2
            default: return nil
            }
            index += 2
        }
        return text
    }
}

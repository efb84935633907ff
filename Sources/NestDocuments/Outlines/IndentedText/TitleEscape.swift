/// Writes a title on one line of indented text, and reads it back.
///
/// Most titles are written unchanged. A title that would not read back (it is empty, begins with white space, or has a
/// line break) is *escaped*: a backslash, then the title with `\\` for a backslash, `\n` for a line feed and `\r` for
/// a carriage return. A line that begins with a backslash but would unescape to a title that needs no escape is not
/// escaped: the reader takes it unchanged. So `\section{One}` and `C:\new` mean themselves, and every title reads back
/// as it was written.
enum TitleEscape {
    private static let backslash = UInt8(ascii: "\\")
    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

    /// Returns the line for a title, without its indentation.
    static func line(for title: [UInt8]) -> [UInt8] {
        guard Self.needsEscape(title) else { return title }
        var line = [Self.backslash]
        line.reserveCapacity(title.count + 8)
        for byte in title {
            switch byte {
            case Self.backslash: line += [Self.backslash, Self.backslash]
            case UInt8(ascii: "\n"): line += [Self.backslash, UInt8(ascii: "n")]
            case UInt8(ascii: "\r"): line += [Self.backslash, UInt8(ascii: "r")]
            default: line.append(byte)
            }
        }
        return line
    }

    /// Returns the title of a line.
    static func title(of line: [UInt8]) -> [UInt8] {
        guard let title = Self.unescaped(line), Self.needsEscape(title) else { return line }
        return title
    }

    /// Whether an unescaped line would read back as something else.
    private static func needsEscape(_ title: [UInt8]) -> Bool {
        var title = title
        while true {
            guard let first = title.first else { return true }
            if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") { return true }
            if title.starts(with: Self.byteOrderMark) { return true }
            if title.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) { return true }
            // The title itself looks escaped: it needs an escape if its unescaped form does. Each turn is shorter.
            guard let inner = Self.unescaped(title) else { return false }
            title = inner
        }
    }

    /// The text after the leading backslash, without escapes; `nil` if the line is not escaped.
    private static func unescaped(_ line: [UInt8]) -> [UInt8]? {
        guard line.first == Self.backslash else { return nil }
        var title: [UInt8] = []
        title.reserveCapacity(line.count)
        var index = 1
        while index < line.count {
            guard line[index] == Self.backslash else {
                title.append(line[index])
                index += 1
                continue
            }
            guard index + 1 < line.count else { return nil }
            switch line[index + 1] {
            case Self.backslash: title.append(Self.backslash)
            case UInt8(ascii: "n"): title.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "r"): title.append(UInt8(ascii: "\r"))
            default: return nil
            }
            index += 2
        }
        return title
    }
}

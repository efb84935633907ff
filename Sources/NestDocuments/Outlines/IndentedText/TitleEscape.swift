/// How a title is written on one line of indented text, and read back.
///
/// Most titles are written as they are. One that could not be read back (it is empty, begins with white space, or holds
/// a line break) is *escaped*: a backslash, then the title with `\\` for a backslash, `\n` for a line feed and `\r` for a
/// carriage return. A line that begins with a backslash but stands for a title that needs no escape is not an
/// escaped line; it is taken as it is. So `\section{One}` and `C:\new` mean themselves, and writing then reading
/// is the identity for every title.
enum TitleEscape {
    private static let backslash = UInt8(ascii: "\\")
    private static let byteOrderMark: [UInt8] = [0xef, 0xbb, 0xbf]

    /// The line for a title, without its indentation.
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

    /// The title that a line stands for.
    static func title(of line: [UInt8]) -> [UInt8] {
        guard let title = Self.unescaped(line), Self.needsEscape(title) else { return line }
        return title
    }

    /// A plain line would be read as something else.
    private static func needsEscape(_ title: [UInt8]) -> Bool {
        var title = title
        while true {
            guard let first = title.first else { return true }
            if first == UInt8(ascii: " ") || first == UInt8(ascii: "\t") { return true }
            if title.starts(with: Self.byteOrderMark) { return true }
            if title.contains(where: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) { return true }
            // It looks escaped itself: it needs an escape if what it would stand for does. Each turn is shorter.
            guard let inner = Self.unescaped(title) else { return false }
            title = inner
        }
    }

    /// What follows the leading backslash with its escapes undone; `nil` if the line is no escaped one.
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

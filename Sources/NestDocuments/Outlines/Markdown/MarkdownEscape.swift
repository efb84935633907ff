/// Writes titles and lines of notes in Markdown so that they read back, and look, as they were.
///
/// - A text that means something at the beginning of a line (`- a`, `1. a`, `# a`, `[x] a`, `---`) gets a backslash
///   before the mark: `\- a`, `1\. a`.
/// - Line ends, and spaces and tabs at the ends of a title, become references: `&#10;`. If the text itself has such a
///   reference, it becomes `&amp;#10;`.
///
/// Emphasis, links and code within a text stay as they are.
enum MarkdownEscape {
    private static let codes: [Character: String] = ["\n": "10", "\r": "13", " ": "32", "\t": "9"]

    static func title(_ title: String) -> String {
        var scalars = Array(Self.escapingReferences(title).unicodeScalars)
        var text = ""
        if scalars.count > 1, let last = scalars.last, last == " " || last == "\t" {
            scalars.removeLast()
            text = Self.reference(last)
        }
        var head = ""
        if let first = scalars.first, first == " " || first == "\t" {
            head = Self.reference(first)
            scalars.removeFirst()
        }
        var middle = ""
        for scalar in scalars {
            if scalar == "\n" || scalar == "\r" {
                middle += Self.reference(scalar)
            } else {
                middle.unicodeScalars.append(scalar)
            }
        }
        return Self.escapingStart(head + middle + text, isTitle: true)
    }

    /// The reverse of `title`.
    static func readTitle(_ text: String) -> String { Self.readingReferences(Self.readingStart(text, isTitle: true)) }

    /// Returns a line of a note, without line feeds. The result is not blank unless the line is empty. `isAtStart`:
    /// whether nothing precedes it on the line.
    static func noteLine(_ line: String, isAtStart: Bool = true) -> String {
        var text = ""
        for scalar in Self.escapingReferences(line).unicodeScalars {
            if scalar == "\r" || scalar == "\n" {
                text += Self.reference(scalar)
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        let (space, rest) = Self.splittingSpace(text)
        if rest.isEmpty, let first = space.unicodeScalars.first {
            return Self.reference(first) + String(space.unicodeScalars.dropFirst())
        }
        return isAtStart ? space + Self.escapingStart(rest, isTitle: false) : text
    }

    static func readNoteLine(_ line: String) -> String {
        let (space, rest) = Self.splittingSpace(line)
        return Self.readingReferences(space + Self.readingStart(rest, isTitle: false))
    }

    private static func reference(_ scalar: Unicode.Scalar) -> String {
        "&#\(Self.codes[Character(scalar)] ?? "\(scalar.value)");"
    }

    private static func splittingSpace(_ text: String) -> (String, String) {
        let scalars = text.unicodeScalars
        let start = scalars.firstIndex { $0 != " " && $0 != "\t" } ?? scalars.endIndex
        return (String(scalars[..<start]), String(scalars[start...]))
    }

    // MARK: References

    /// Adds one `amp;` to `&#10;`, and to references that look escaped already.
    private static func escapingReferences(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        return Self.changingReferences(text) { "&amp;" + $0.dropFirst() }
    }

    private static func readingReferences(_ text: String) -> String {
        guard text.utf8.contains(UInt8(ascii: "&")) else { return text }
        return Self.changingReferences(text) { reference in
            if reference.hasPrefix("&amp;") { return "&" + reference.dropFirst(5) }
            switch reference {
            case "&#10;": return "\n"
            case "&#13;": return "\r"
            case "&#32;": return " "
            default: return "\t"
            }
        }
    }

    /// Calls `change` with every `&#10;`, `&#13;`, `&#32;` and `&#9;`, and with those whose `&` is `&amp;amp;…`.
    private static func changingReferences(_ text: String, _ change: (String) -> String) -> String {
        var changed: [UInt8] = []
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "&"), let end = Self.endOfReference(bytes, index) {
                changed += Array(change(String(decoding: bytes[index..<end], as: UTF8.self)).utf8)
                index = end
            } else {
                changed.append(bytes[index])
                index += 1
            }
        }
        return String(decoding: changed, as: UTF8.self)
    }

    private static let amp = Array("amp;".utf8)
    private static let ends = ["#10;", "#13;", "#32;", "#9;"].map { Array($0.utf8) }

    private static func endOfReference(_ bytes: [UInt8], _ start: Int) -> Int? {
        var index = start + 1
        while bytes[index...].starts(with: Self.amp) { index += Self.amp.count }
        return Self.ends.first { bytes[index...].starts(with: $0) }.map { index + $0.count }
    }

    // MARK: The beginning of a text

    private static func escapingStart(_ text: String, isTitle: Bool) -> String {
        guard let index = Self.indexOfBackslash(text, isTitle: isTitle) else { return text }
        var text = text
        text.unicodeScalars.insert("\\", at: index)
        return text
    }

    private static func readingStart(_ text: String, isTitle: Bool) -> String {
        guard let index = Self.indexOfBackslash(text, isTitle: isTitle), text.unicodeScalars[index] == "\\" else {
            return text
        }
        var text = text
        text.unicodeScalars.remove(at: index)
        return text
    }

    /// Returns where a backslash belongs in a text that would mean something else, or that already has backslashes
    /// there.
    private static func indexOfBackslash(_ text: String, isTitle: Bool) -> String.Index? {
        let scalars = text.unicodeScalars
        let digits = scalars.prefix { ("0"..."9").contains($0) }
        let index = digits.endIndex
        let bare = String(scalars[..<index]) + String(scalars[index...].drop { $0 == "\\" })
        return MarkdownLine.isStructure(bare, isTitle: isTitle) ? index : nil
    }
}

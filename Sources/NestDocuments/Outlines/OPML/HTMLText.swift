/// Turns HTML into the text that it shows, and text into HTML.
enum HTMLText {
    private static let names = [
        "amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'", "nbsp": "\u{a0}",
    ]
    private static let nameScalarsMax = 10
    private static let tagScalarsMax = 4_096

    /// Returns the HTML without its tags and with its character references replaced. Everything else stays, so that
    /// malformed HTML loses no text.
    static func plain(_ html: String) -> String {
        guard html.utf8.contains(where: { $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: "&") }) else { return html }
        var plain = ""
        var rest = Substring(html).unicodeScalars
        while let scalar = rest.first {
            if scalar == "<", let tag = Self.tag(rest) {
                if tag.lowercased().hasPrefix("<br") { plain += "\n" }
                rest = rest[tag.endIndex...]
            } else if scalar == "&", let (text, end) = Self.reference(rest) {
                plain += text
                rest = rest[end...]
            } else {
                plain.unicodeScalars.append(scalar)
                rest = rest.dropFirst()
            }
        }
        return plain
    }

    /// Returns the HTML that shows a text.
    static func encoded(_ text: String) -> String {
        var html = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": html += "&amp;"
            case "<": html += "&lt;"
            case ">": html += "&gt;"
            default: html.unicodeScalars.append(scalar)
            }
        }
        return html
    }

    /// Returns a tag such as `<b>`, `</b>` or `<a href="…">`, with its brackets.
    private static func tag(_ text: Substring.UnicodeScalarView) -> Substring? {
        var name = text.dropFirst()
        if name.first == "/" { name = name.dropFirst() }
        guard let first = name.first, first.isASCII, first.properties.isAlphabetic,
            let end = text.prefix(Self.tagScalarsMax).firstIndex(of: ">")
        else { return nil }
        return Substring(text[...end])
    }

    private static func reference(_ text: Substring.UnicodeScalarView) -> (String, String.Index)? {
        guard let end = text.prefix(Self.nameScalarsMax).firstIndex(of: ";") else { return nil }
        let name = String(text[text.index(after: text.startIndex)..<end])
        let next = text.index(after: end)
        if let known = Self.names[name] { return (known, next) }
        guard name.hasPrefix("#") else { return nil }
        let digits = name.dropFirst()
        let isHexadecimal = digits.first == "x" || digits.first == "X"
        guard let number = isHexadecimal ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits), number > 0,
            let scalar = Unicode.Scalar(number)
        else { return nil }
        return (String(scalar), next)
    }
}

/// Describes libxml2's errors, which reach the reader as numbers (`xmlParserErrors`).
enum XMLFault {
    static func message(_ code: Int) -> String { Self.messages[code] ?? "not valid XML (libxml2's error \(code))" }

    private static let messages = [
        4: "an element is expected here",
        5: "something follows the end of the outermost element",
        6: "not a character reference: hexadecimal digits are expected",
        7: "not a character reference: digits are expected",
        8: "not a character reference",
        9: "a character that XML does not allow",
        22: "an & without a name; write &amp; for &",
        23: "a reference like &amp; ends with ;",
        26: "an unknown entity; XML has &amp; &lt; &gt; &quot; and &apos;",
        38: "a < in the value of an attribute; write &lt;",
        39: "the value of an attribute is not in quotes",
        40: "the value of an attribute has no closing quote",
        41: "= and a value must follow the name of an attribute",
        42: "an element has an attribute twice",
        45: "a comment has no end",
        47: "a processing instruction has no end",
        57: "the XML declaration has no end",
        61: "a document type declaration has no end",
        62: "]]> outside of a CDATA section; write ]]&gt;",
        63: "a CDATA section has no end",
        64: "an XML declaration may only be at the start",
        65: "a space is missing",
        68: "a name is expected here; write &amp; for an & that begins no reference",
        73: "a tag has no > at its end",
        76: "the end tag has another name than the element",
        77: "an element has no end tag",
        80: "-- in a comment",
        81: "bytes that the declared encoding does not have",
        96: "the XML declaration has no version",
        110: "a name of more than 50000 bytes",
        201: "the prefix of a namespace that is not declared",
        203: "an element has an attribute twice",
    ]
}

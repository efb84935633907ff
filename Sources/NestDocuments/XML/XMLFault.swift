import Foundation

/// What libxml2 says is wrong. Its errors come without a text, by their numbers (`xmlParserErrors`; `XMLParser.ErrorCode`
/// has others on Linux).
package enum XMLFault {
    package static func message(_ error: any Error) -> String { Self.message((error as NSError).code) }

    static func message(_ code: Int) -> String {
        Self.messages[code] ?? "not valid XML (error \(code) of libxml2)"
    }

    private static let messages = [
        4: "an element is expected here",
        5: "the document ends too early, or something follows its end",
        6: "no reference to a character: hexadecimal digits are expected",
        7: "no reference to a character: digits are expected",
        8: "no reference to a character",
        9: "a character that XML does not allow",
        22: "a & without a name; &amp; stands for &",
        23: "a reference like &amp; is ended by ;",
        26: "an entity that is not known; there are &amp; &lt; &gt; &quot; and &apos;",
        38: "a < in the value of an attribute; &lt; stands for it",
        39: "the value of an attribute is not in quotes",
        40: "the value of an attribute has no closing quote",
        41: "= and a value must follow the name of an attribute",
        42: "an element has an attribute twice",
        45: "a comment has no end",
        62: "]]> stands outside of a CDATA section",
        63: "a CDATA section has no end",
        64: "an XML declaration may only be at the start",
        65: "a space is missing",
        68: "a name is expected here; a & that begins none is written &amp;",
        73: "a tag is not ended by >",
        76: "the end tag is not that of the element",
        77: "an element has no end",
        80: "-- stands in a comment",
        81: "bytes that are not of the encoding, which is UTF-8 when none is said",
        96: "the XML declaration has no version",
        201: "a prefix of a namespace that is not declared",
    ]
}

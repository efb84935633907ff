import CLibXML2
import NestModel

/// Describes libxml2's errors (`xmlParserErrors`): what is wrong, and what to write instead.
struct XMLFault {
    /// An element that has begun and not ended.
    struct OpenElement {
        /// Cut to a length that fits in a line.
        let name: String
        /// The line where its start tag ends.
        let line: Int

        init(_ name: String, line: Int) {
            (self.name, self.line) = (XMLFault.shown(name), line)
        }
    }

    private static let nameCharactersMax = 60

    private static func shown(_ name: String) -> String {
        name.utf8.count <= Self.nameCharactersMax ? name : "\(name.prefix(Self.nameCharactersMax))…"
    }

    let message: String
    /// Whether `XMLRepair` repairs such a fault.
    let isRepairable: Bool

    /// `open`: the innermost open element.
    init(_ error: xmlError, in open: OpenElement?) {
        let code = Int(error.code)
        let detail = error.message.map { String(cString: $0) } ?? ""
        let names = [error.str1, error.str2].map { $0.map { Self.shown(String(cString: $0)) } ?? "" }
        self.message =
            switch code {
            case 1: Self.internalMessage(names[0])
            case 9 where names[0].hasPrefix("Bytes:"): "bytes that the declared encoding does not have"
            case 26: Self.unknownEntity(names[0])
            case 32: "the encoding \(names[0]) is not known; convert the file to UTF-8 and declare encoding=\"UTF-8\""
            case 41: "the attribute \(names[0]) has no value; write \(names[0])=\"\""
            case 42, 203: "an element has an attribute twice: \(names[0]); remove one"
            case 68 where detail.contains("EntityRef"): "an & that begins no reference; write &amp;"
            case 68 where detail.contains("element name"): "a < that begins no tag; write &lt;"
            case 73 where !names[0].isEmpty: "the tag <\(names[0])> has no > at its end"
            case 76: Self.mismatch(names[1], open)
            case 78: "standalone must be yes or no"
            case 108: "the XML version \(names[0]) is not known; write version=\"1.0\""
            case 201: "the prefix of a namespace that is not declared: \(names[0]); declare xmlns:\(names[0])"
            default: Self.messages[code] ?? "not valid XML (libxml2's error \(code))"
            }
        self.isRepairable =
            switch code {
            // Of these, a reference to a character that XML does not allow, but not the character itself.
            case 9: detail.hasPrefix("xmlParseCharRef")
            // A name after & or <, but not that of an attribute.
            case 68: detail.contains("EntityRef") || detail.contains("element name")
            case 64: open == nil
            default: [6, 7, 8, 22, 23, 26, 38].contains(code)
            }
    }

    /// The document ends inside of `open`.
    static func missingEnd(_ open: OpenElement?) -> String {
        let tooEarly = "the XML ends too early"
        return open.map { "\(tooEarly): <\($0.name)> of line \($0.line) has no end tag </\($0.name)>" } ?? tooEarly
    }

    static let longMarkup =
        "a tag, comment, instruction or CDATA section of more than \(Limits.xmlMarkupBytesMax) bytes"

    /// libxml2 reports several conditions as internal errors.
    private static func internalMessage(_ detail: String) -> String {
        if detail.hasPrefix("Huge input") { return Self.longMarkup }
        if detail.hasPrefix("detected an error in element content") {
            return "<! begins a comment (<!-- … -->) or <![CDATA[ … ]]> here; write &lt; for <"
        }
        return "not valid XML (libxml2: \(detail.split(whereSeparator: \.isNewline).joined(separator: " ")))"
    }

    private static func unknownEntity(_ name: String) -> String {
        let instead = HTMLEntity.number(name).map { "&#\($0);" } ?? "&amp;\(name);"
        return "an unknown entity &\(name); (XML has &amp; &lt; &gt; &quot; and &apos;): write \(instead)"
    }

    private static func mismatch(_ end: String, _ open: OpenElement?) -> String {
        guard let open else { return Self.messages[76]! }
        return "the end tag </\(end)> has another name than the element <\(open.name)> of line \(open.line); "
            + "write </\(open.name)> first"
    }

    private static let messages = [
        4: "not XML: an element is expected here",
        5: "something follows the end of the outermost element; remove it",
        6: "not a character reference: hexadecimal digits are expected; write &amp; for &",
        7: "not a character reference: digits are expected; write &amp; for &",
        8: "not a character reference; write &amp; for &",
        9: "a character that XML does not allow; remove it",
        22: "an & without a name; write &amp; for &",
        23: "a reference without its semicolon; write &amp; for an & that begins no reference",
        33: "a value of the XML declaration is not in quotes",
        34: "a value of the XML declaration has no closing quote",
        38: "a < in the value of an attribute; write &lt;",
        39: "the value of an attribute is not in quotes",
        40: "the value of an attribute has no closing quote",
        45: "a comment has no end; write --> after it",
        47: "a processing instruction has no end; write ?> after it",
        57: "the XML declaration has no end, or a part that XML does not know",
        61: "a document type declaration has no end",
        62: "]]> outside of a CDATA section; write ]]&gt;",
        63: "a CDATA section has no end; write ]]> after it",
        64: "an XML declaration may only be at the start; remove it, or what precedes it",
        65: "a space is missing here; write &quot; for a \" in a value in quotes",
        68:
            "a name is expected here; write &amp; for an & that begins no reference, and &lt; for a < that begins no tag",
        73: "a tag has no > at its end",
        76: "the end tag has another name than the element",
        77: "an element has no end tag",
        79: "the encoding in the XML declaration is no name; write encoding=\"UTF-8\"",
        80: "-- in a comment; write - -",
        81: "bytes that the declared encoding does not have",
        96: "the XML declaration has no version; write version=\"1.0\"",
        110: "a name of more than 50000 bytes",
        200: "a namespace that XML does not allow",
        202: "a name with more than one colon, or none at all",
        204: "a namespace that XML does not allow",
        205: "a name with a colon where XML allows none",
    ]
}

import Foundation
import NestModel

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Reads the XML that programs write, with Foundation's `XMLParser` (libxml2). A document type declaration is refused, so
/// there are no entities to expand and nothing outside the file is ever opened.
enum XMLReader {
    /// The outermost element of a document.
    static func parse(_ bytes: [UInt8]) throws(FormatError) -> XMLElement {
        let data = Data(bytes)
        try Self.refuseDeclarations(data)
        // As a stream: given the data, it reads on to the end after a fault.
        let parser = XMLParser(stream: InputStream(data: data))
        let tree = XMLTree()
        parser.delegate = tree
        parser.shouldResolveExternalEntities = false
        parser.externalEntityResolvingPolicy = .never
        let isRead = parser.parse()
        if let fault = tree.fault { throw fault }
        // It may say that all is well when the text just ends.
        guard isRead, let root = tree.root else {
            throw FormatError(at: data.count, in: data, "the XML ends too early")
        }
        return root
    }

    /// What the parser is not to see. The text is UTF-8 without zero bytes, so that it cannot be hidden in other bytes.
    private static func refuseDeclarations(_ data: Data) throws(FormatError) {
        let start = data.starts(with: [0xef, 0xbb, 0xbf]) ? 3 : 0
        if let declaration = data.range(of: Data("<!DOCTYPE".utf8)) {
            let message = "a document type declaration is not read; no model needs one"
            throw FormatError(at: declaration.lowerBound, in: data, message)
        }
        var rest = start..<data.count
        // With a space behind it: <?xmlx?> is an instruction.
        if [" ", "\t", "\r", "\n"].contains(where: { data[rest].starts(with: Data("<?xml\($0)".utf8)) }),
            let end = data.range(of: Data("?>".utf8), in: rest)
        {
            let declaration = String(decoding: data[start..<end.lowerBound], as: UTF8.self)
            if let encoding = declaration.firstMatch(of: /encoding\s*=\s*["']([^"']*)["']/)?.1,
                !["utf-8", "us-ascii"].contains(encoding.lowercased())
            {
                throw FormatError(line: 1, column: 1, "the encoding is \(encoding); only UTF-8 is read")
            }
            rest = end.upperBound..<data.count
        }
        // `XMLParser` of Swift 6.3 ends the process at one that is nothing but a name: <?name?>.
        if let instruction = data.range(of: Data("<?".utf8), in: rest) {
            let message = "a processing instruction is not read; no model needs one"
            throw FormatError(at: instruction.lowerBound, in: data, message)
        }
    }
}

/// Builds the elements of a document.
private final class XMLTree: NSObject, XMLParserDelegate {
    private(set) var root: XMLElement?
    /// The first; the parser goes on after one.
    private(set) var fault: FormatError?
    /// Elements that have begun and not ended, each in the one before it.
    private var open: [XMLElement] = []

    func parser(
        _ parser: XMLParser,
        didStartElement name: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        guard self.fault == nil else { return parser.abortParsing() }
        guard self.open.count < Limits.modelFileDepthMax else {
            self.note("more than \(Limits.modelFileDepthMax) elements within each other", parser)
            return parser.abortParsing()
        }
        var element = XMLElement(name)
        element.attributes = attributes
        self.open.append(element)
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        guard self.fault == nil, var element = self.open.popLast() else { return }
        // Space is there for the reader's eye.
        if element.text.allSatisfy(\.isWhitespace) { element.text = "" }
        if self.open.isEmpty { self.root = element } else { self.open[self.open.count - 1].children.append(element) }
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        guard self.fault == nil, !self.open.isEmpty else { return }
        self.open[self.open.count - 1].text += text
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        self.parser(parser, foundCharacters: String(decoding: block, as: UTF8.self))
    }

    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        self.note(XMLFault.message(error), parser)
    }

    private func note(_ message: String, _ parser: XMLParser) {
        guard self.fault == nil else { return }
        self.fault = FormatError(line: parser.lineNumber, column: parser.columnNumber, message)
    }
}

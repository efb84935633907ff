import Foundation

#if canImport(FoundationXML)
import FoundationXML
#endif

/// Turns the elements of a document into rows as they come.
///
/// It is at home in `opml > body > outline`; everything else is passed over and counted. Workflowy writes its texts as
/// HTML, and is known by a head with an `ownerEmail` and no `title`.
final class OPMLDelegate: NSObject, XMLParserDelegate {
    /// The first; the parser goes on after one.
    var fault: FormatError?
    /// The outermost element has ended.
    private(set) var isComplete = false
    private var hasHTML: Bool?
    private var rows: [OutlineRow] = []
    private var losses = LossTally()
    /// Elements that are open: of all kinds, and outlines.
    private var depth = 0
    private var outlineDepth = 0
    /// The depth of the outermost element that is being passed over.
    private var skipped: Int?
    private var isInBody = false
    private var headNames: Set<String> = []

    init(hasHTML: Bool?) {
        self.hasHTML = hasHTML
    }

    var warnings: [String] { self.losses.warnings }

    func takeRows() -> [OutlineRow] {
        defer { self.rows = [] }
        return self.rows
    }

    func note(_ message: String, _ parser: XMLParser) {
        guard self.fault == nil else { return }
        self.fault = FormatError(line: max(parser.lineNumber, 1), column: max(parser.columnNumber, 1), message)
        parser.abortParsing()
    }

    func parser(
        _ parser: XMLParser,
        didStartElement name: String,
        namespaceURI: String?,
        qualifiedName: String?,
        attributes: [String: String]
    ) {
        guard self.fault == nil else { return parser.abortParsing() }
        self.depth += 1
        guard self.skipped == nil else { return }
        switch (self.depth, name) {
        case (1, "opml"): break
        case (1, _): self.note("not OPML: the outermost element is <\(name)>", parser)
        case (2, "head"): break
        case (2, "body"):
            self.isInBody = true
            if self.hasHTML == nil { self.hasHTML = self.isOfWorkflowy }
        case (3, _) where !self.isInBody:
            self.headNames.insert(name)
            if name != "ownerEmail", name != "title" { self.losses.add("elements of the head left out") }
            self.skipped = self.depth
        case (_, "outline") where self.isInBody: self.append(attributes, parser)
        default:
            self.losses.add("elements that are no outlines left out")
            self.skipped = self.depth
        }
    }

    func parser(_ parser: XMLParser, didEndElement name: String, namespaceURI: String?, qualifiedName: String?) {
        guard self.fault == nil else { return }
        if self.skipped == self.depth {
            self.skipped = nil
        } else if self.skipped == nil {
            switch self.depth {
            case 1: self.isComplete = true
            case 2: self.isInBody = false
            default: self.outlineDepth -= 1
            }
        }
        self.depth -= 1
    }

    func parser(_ parser: XMLParser, foundCharacters text: String) {
        guard self.isInBody, self.skipped == nil else { return }
        // Space is there for the reader's eye.
        if !text.utf8.allSatisfy({ $0 == 0x20 || (0x09...0x0d).contains($0) }) {
            self.losses.add("texts between the tags left out")
        }
    }

    func parser(_ parser: XMLParser, foundCDATA block: Data) {
        self.parser(parser, foundCharacters: String(decoding: block, as: UTF8.self))
    }

    func parser(_ parser: XMLParser, parseErrorOccurred error: any Error) {
        self.note(XMLFault.message(error), parser)
    }

    private var isOfWorkflowy: Bool { self.headNames.contains("ownerEmail") && !self.headNames.contains("title") }

    private func append(_ attributes: [String: String], _ parser: XMLParser) {
        let row = OPMLAttributes.row(depth: self.outlineDepth, attributes, hasHTML: self.hasHTML ?? false)
        do throws(FormatError) {
            try row.check(line: parser.lineNumber, column: parser.columnNumber)
        } catch {
            self.fault = error
            return parser.abortParsing()
        }
        self.outlineDepth += 1
        self.rows.append(row)
    }
}

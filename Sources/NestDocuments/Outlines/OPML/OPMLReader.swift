/// Reads OPML 2.0 as Workflowy, Dynalist, OmniOutliner and others write it: one row for each `outline` element.
///
/// - The title is `text`, or `title` if there is no `text`. The note is `_note`. An item is done by `_complete`,
///   `complete`, `checked` or `_status`. The row's `extra` keeps all other attributes by their names, so that
///   `OPMLWriter` writes each element with the attributes that it had, in their order: see `OPMLAttributes`.
/// - If texts are HTML, the title is the text that the HTML shows; the row keeps the HTML until the title changes.
/// - Leaves out the head of the file, comments, processing instructions and other elements, and counts them.
/// - A lenient reader repairs common faults of the XML, and counts them: see `XMLRepair`.
/// - Throws the first fault of the XML, with line and column. `XMLReader` opens nothing outside the file.
package struct OPMLReader: OutlineReader {
    private let xml: XMLReader
    private var builder: OPMLBuilder

    package init(_ options: ReadingOptions = ReadingOptions()) {
        self.xml = XMLReader(.outline, isLenient: options.isLenient)
        self.builder = OPMLBuilder(hasHTML: options.hasHTML, fields: options.fields)
    }

    package var warnings: [String] { (self.repairs?.warnings ?? []) + self.builder.warnings }
    package var repairs: RepairCounts? { self.xml.repairs }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        try self.xml.read(bytes, isLast: false) { (event) throws(FormatError) in
            try self.builder.take(event, into: &rows)
        }
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        try self.xml.read([], isLast: true) { (event) throws(FormatError) in
            try self.builder.take(event, into: &rows)
        }
    }
}

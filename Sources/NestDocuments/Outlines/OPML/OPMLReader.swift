/// Reads OPML 2.0 as Workflowy, Dynalist, OmniOutliner and others write it: one row for each `outline` element.
///
/// - The title is `text`, or `title` if there is no `text`. The note is `_note`. An item is done by `_complete`,
///   `complete`, `checked` or `_status`. The row's `extra` keeps all other attributes by their names, so that
///   `OPMLWriter` writes each element with the attributes that it had, in their order: see `OPMLAttributes`.
/// - If texts are HTML, the title is the text that the HTML shows; the row keeps the HTML until the title changes.
/// - Leaves out the head of the file, comments and other elements, and counts them.
/// - Throws the first fault of the XML, with line and column. `XMLReader` opens nothing outside the file.
package struct OPMLReader: OutlineReader {
    private let xml = XMLReader(.outline)
    private var builder: OPMLBuilder

    /// `hasHTML`: whether texts are HTML; `nil` means only if the file looks like one of Workflowy.
    package init(hasHTML: Bool? = nil, fields: OutlineFields = OutlineFields()) {
        self.builder = OPMLBuilder(hasHTML: hasHTML, fields: fields)
    }

    package var warnings: [String] { self.builder.warnings }

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

/// Reads OPML 2.0 as Workflowy, Dynalist, OmniOutliner and others write it: one row an `outline` element.
///
/// - The title is `text`, or `title` where there is none; the note is `_note`; an item is done by `_complete`,
///   `complete`, `checked` or `_status`. All other attributes are kept in the row's `extra`, by their names, so
///   that `OPMLWriter` writes each element with the attributes that it had, in their order: see `OPMLAttributes`.
/// - Where texts are HTML, the title is what is read on the screen; the HTML itself is kept as long as the title is not
///   changed.
/// - The head of the file, comments, and what is no outline element are left out and counted.
/// - The first fault of the XML ends the reading, with line and column. Nothing outside the file is ever opened.
package struct OPMLReader: OutlineReader {
    private let parser: OPMLParser
    package private(set) var warnings: [String] = []

    /// `hasHTML` of `nil`: when the file looks like one of Workflowy.
    package init(hasHTML: Bool? = nil, fields: OutlineFields = OutlineFields()) {
        self.parser = OPMLParser(hasHTML: hasHTML, fields: fields)
    }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        try self.parse(bytes, isLast: false, into: &rows)
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        try self.parse([], isLast: true, into: &rows)
    }

    private mutating func parse(
        _ bytes: [UInt8],
        isLast: Bool,
        into rows: inout [OutlineRow]
    ) throws(FormatError) {
        let result = try self.parser.parse(bytes, isLast: isLast)
        rows += result.rows
        self.warnings = result.warnings
    }
}

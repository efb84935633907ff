/// Reads an outline from bytes that arrive in pieces of any size. Memory grows only with the longest row and the depth,
/// unless the reader's own description says otherwise.
package protocol OutlineReader: Sendable {
    /// Takes the next piece and appends the rows that it completes.
    mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError)
    /// Ends the input and appends the rows that this completes.
    mutating func finish(into rows: inout [OutlineRow]) throws(FormatError)
    /// Sentences about what the reader has repaired or left out.
    var warnings: [String] { get }
}

/// Writes an outline as bytes, row by row.
package protocol OutlineWriter: Sendable {
    mutating func write(_ row: OutlineRow) throws(FormatError)
    /// Ends the outline.
    mutating func finish() throws(FormatError)
    /// The number of bytes that are ready.
    var byteCount: Int { get }
    /// Returns the bytes since the last call.
    mutating func take() -> [UInt8]
    /// Sentences about what the format cannot hold and the writer has left out.
    var warnings: [String] { get }
}

/// The file formats of outlines.
package enum OutlineFormat: String, CaseIterable, Sendable {
    /// OPML 2.0 and its dialects: see `OPMLReader`.
    case opml
    /// Lists and tasks of Markdown: see `MarkdownReader`.
    case md
    /// Indented text: see `IndentedTextReader`.
    case text
    /// Items within items: see `JSONTreeReader`.
    case json
    /// One JSON object on each line: see `JSONLinesReader`.
    case jsonl
    /// Comma-separated values: see `TableReader`.
    case csv
    /// Tab-separated values.
    case tsv

    /// Returns the format of a file with this name; `nil` when the name does not determine it.
    package init?(fileName: String) {
        guard let dot = fileName.lastIndex(of: ".") else { return nil }
        switch fileName[fileName.index(after: dot)...].lowercased() {
        case "opml": self = .opml
        case "md", "markdown", "mdown", "mkd": self = .md
        case "txt", "text", "outline": self = .text
        case "json": self = .json
        case "jsonl", "ndjson": self = .jsonl
        case "csv": self = .csv
        case "tsv", "tab": self = .tsv
        default: return nil
        }
    }

    package func reader(_ options: ReadingOptions = ReadingOptions()) -> any OutlineReader {
        switch self {
        case .opml: OPMLReader(hasHTML: options.hasHTML, fields: options.fields)
        case .md: MarkdownReader()
        case .text: IndentedTextReader()
        case .json: JSONTreeReader(options.fields)
        case .jsonl: JSONLinesReader(options.fields)
        case .csv: TableReader(.commas, options.fields)
        case .tsv: TableReader(.tabs, options.fields)
        }
    }

    package func writer(_ options: WritingOptions = WritingOptions()) -> any OutlineWriter {
        switch self {
        case .opml: OPMLWriter(title: options.title)
        case .md: MarkdownWriter(hasOpenBoxes: options.hasOpenBoxes)
        case .text: IndentedTextWriter()
        case .json: JSONTreeWriter(options.fields)
        case .jsonl: JSONLinesWriter(options.fields)
        case .csv: TableWriter(.commas, options.fields)
        case .tsv: TableWriter(.tabs, options.fields)
        }
    }
}

/// Choices for reading a format.
package struct ReadingOptions: Sendable {
    /// Whether the texts of OPML are HTML; `nil` means only if the file looks like one of Workflowy.
    package var hasHTML: Bool?
    package var fields: OutlineFields

    package init(hasHTML: Bool? = nil, fields: OutlineFields = OutlineFields()) {
        self.hasHTML = hasHTML
        self.fields = fields
    }
}

/// Choices for writing a format.
package struct WritingOptions: Sendable {
    /// The title of an OPML document.
    package var title: String
    /// Whether Markdown shows an empty box before an item that is not done.
    package var hasOpenBoxes: Bool
    package var fields: OutlineFields

    package init(title: String = "", hasOpenBoxes: Bool = false, fields: OutlineFields = OutlineFields()) {
        self.title = title
        self.hasOpenBoxes = hasOpenBoxes
        self.fields = fields
    }
}

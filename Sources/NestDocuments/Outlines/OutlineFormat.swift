/// Reads an outline from bytes that come in pieces of any size. Memory does not grow with the input, only with the
/// longest row and the depth, but for what the reader's own description says.
package protocol OutlineReader: Sendable {
    /// Takes the next piece and appends the rows that it completes.
    mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError)
    /// The input is at its end.
    mutating func finish(into rows: inout [OutlineRow]) throws(FormatError)
    /// What was repaired or left out while reading, in words for people; empty when nothing was.
    var warnings: [String] { get }
}

/// Writes an outline as bytes, row by row.
package protocol OutlineWriter: Sendable {
    mutating func write(_ row: OutlineRow) throws(FormatError)
    /// The outline is at its end.
    mutating func finish() throws(FormatError)
    /// Bytes that are ready.
    var byteCount: Int { get }
    /// The bytes since the last call.
    mutating func take() -> [UInt8]
    /// What the format cannot hold and was left out, in words for people; empty when nothing was.
    var warnings: [String] { get }
}

/// The formats that outlines are read from and written to.
package enum OutlineFormat: String, CaseIterable, Sendable {
    /// OPML 2.0 and its dialects: see `OPMLReader`.
    case opml
    /// Lists and tasks of Markdown: see `MarkdownReader`.
    case md
    /// Indented text: see `IndentedTextReader`.
    case text
    /// Items within items: see `JSONTreeReader`.
    case json
    /// One JSON object a line: see `JSONLinesReader`.
    case jsonl
    /// Comma-separated values: see `TableReader`.
    case csv
    /// The same with tabs.
    case tsv

    /// The format that a file's name says, or `nil`.
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

/// How a format is to be read, where there is a choice.
package struct ReadingOptions: Sendable {
    /// Whether the texts of OPML are HTML; `nil`: when the file looks like one of Workflowy.
    package var hasHTML: Bool?
    package var fields: OutlineFields

    package init(hasHTML: Bool? = nil, fields: OutlineFields = OutlineFields()) {
        self.hasHTML = hasHTML
        self.fields = fields
    }
}

/// How a format is to be written, where there is a choice.
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

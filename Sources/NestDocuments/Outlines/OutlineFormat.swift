/// Reads an outline from bytes that arrive in pieces of any size. Memory grows only with the longest row and the depth,
/// unless the reader's own description says otherwise.
package protocol OutlineReader: Sendable {
    /// Takes the next piece and appends the rows that it completes.
    mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError)
    /// Ends the input and appends the rows that this completes.
    mutating func finish(into rows: inout [OutlineRow]) throws(FormatError)
    /// Sentences about what the reader has repaired or left out.
    var warnings: [String] { get }
    /// What a lenient reader has repaired; `nil` for another reader.
    var repairs: RepairCounts? { get }
}

extension OutlineReader {
    package var repairs: RepairCounts? { nil }
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
    /// Headlines of Org: see `OrgReader`.
    case org
    /// Projects, tasks and notes: see `TaskPaperDialect`.
    case taskpaper
    /// The plain text of Workflowy: see `BulletDialect`.
    case workflowy
    /// The plain text of Dynalist.
    case dynalist
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
        let name = fileName[fileName.index(after: dot)...].lowercased()
        guard let format = Self.allCases.first(where: { $0.fileExtensions.contains(name) }) else { return nil }
        self = format
    }

    /// The file extensions of all formats.
    package static var fileExtensions: [String] { Self.allCases.flatMap(\.fileExtensions) }

    private var fileExtensions: [String] {
        switch self {
        case .opml: ["opml"]
        case .md: ["md", "markdown", "mdown", "mkd"]
        case .org: ["org"]
        case .taskpaper: ["taskpaper"]
        // These are in files of text: only --format selects them.
        case .workflowy, .dynalist: []
        case .text: ["txt", "text", "outline"]
        case .json: ["json"]
        case .jsonl: ["jsonl", "ndjson"]
        case .csv: ["csv"]
        case .tsv: ["tsv", "tab"]
        }
    }

    /// The number of levels that the format can be written with: a limit where every line is marked by its depth, since
    /// the size of a file then grows with the square of the depth. `nil` for a format without it.
    package var levelsMax: Int? {
        switch self {
        case .md: MarkdownWriter.depthMax
        case .org, .taskpaper, .workflowy, .dynalist: 10_000
        case .opml, .text, .json, .jsonl, .csv, .tsv: nil
        }
    }

    /// Throws if a row of this depth is more than the format can be written with.
    func checkDepth(_ depth: Int) throws(FormatError) {
        guard let levelsMax, depth >= levelsMax else { return }
        throw FormatError(
            "more than \(levelsMax) levels in \(self.rawValue); the formats jsonl and opml have any depth"
        )
    }

    package func reader(_ options: ReadingOptions = ReadingOptions()) -> any OutlineReader {
        switch self {
        case .opml: OPMLReader(options)
        case .md: MarkdownReader()
        case .org: OrgReader(options.fields)
        case .taskpaper: ItemReader(TaskPaperDialect(fields: options.fields))
        case .workflowy: ItemReader(BulletDialect.workflowy)
        case .dynalist: ItemReader(BulletDialect.dynalist)
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
        case .org: OrgWriter(options.fields)
        case .taskpaper: ItemWriter(self, TaskPaperDialect(fields: options.fields))
        case .workflowy: ItemWriter(self, BulletDialect.workflowy)
        case .dynalist: ItemWriter(self, BulletDialect.dynalist)
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
    /// Whether common faults of the XML of OPML are repaired and counted; otherwise they are errors.
    package var isLenient: Bool
    package var fields: OutlineFields

    package init(hasHTML: Bool? = nil, isLenient: Bool = false, fields: OutlineFields = OutlineFields()) {
        self.hasHTML = hasHTML
        self.isLenient = isLenient
        self.fields = fields
    }
}

/// Choices for writing a format.
package struct WritingOptions: Sendable {
    /// The title of an OPML document; if empty, `OPMLWriter.untitled`.
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

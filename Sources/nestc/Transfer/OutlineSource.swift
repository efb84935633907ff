import NestDocuments
import NestModel

/// Reads and counts the rows of a file or directory.
struct OutlineSource: ~Copyable {
    /// The number of bytes that are enough to guess a format. One line is enough too.
    private static let guessBytes = 4 << 10

    let formatName: String
    /// Whether the format was guessed from the beginning of the file.
    let isGuessed: Bool
    /// `nil` for a directory.
    private var file: InputFile?
    /// `nil` for a directory.
    private let format: OutlineFormat?
    private let reading: ReadingOptions
    private var reader: (any OutlineReader)?
    private var walk: DirectoryWalk?
    private var first: [UInt8]
    private var isAtEnd = false
    private var byteCount = 0
    private let totalBytes: Int?
    private(set) var rowCount = 0
    private(set) var levelCount = 0
    private(set) var doneCount = 0
    private(set) var noteCount = 0
    var progress: Progress

    init(_ path: String, _ option: ImportFormatOption, _ global: GlobalOptions) throws {
        self.progress = Progress("read", isShown: !global.quiet)
        self.reading = option.reading
        var format = option.format
        if format == nil, path != "-" {
            format = DirectoryWalk.isDirectory(path) ? .directory : OutlineFormat(fileName: path).map { .outline($0) }
        }
        if case .directory = format {
            self.walk = try DirectoryWalk(path)
            (self.formatName, self.isGuessed, self.first) = (ImportFormat.directory.name, false, [])
            self.totalBytes = nil
            self.format = nil
            return
        }
        var file = try InputFile(path)
        var first: [UInt8] = []
        let isGuessed = format == nil
        if isGuessed {
            while !Self.isEnough(first), let piece = try file.next() { first += piece }
        }
        let known: OutlineFormat
        if case .outline(let given) = format { known = given } else { known = OutlineFormat(guessing: first) }
        self.formatName = known.rawValue
        self.isGuessed = isGuessed && known != .text
        self.first = first
        self.totalBytes = file.byteCount
        self.format = known
        self.file = consume file
    }

    /// Whether these bytes are enough to guess a format: a line that is not blank, or `guessBytes`.
    private static func isEnough(_ bytes: [UInt8]) -> Bool {
        if bytes.count >= Self.guessBytes { return true }
        let start = bytes.drop { $0 <= 0x20 }
        return start.contains { $0 == 0x0a || $0 == 0x0d }
    }

    /// Sets the names of the values in a file. Call it before the first row.
    mutating func use(_ fields: OutlineFields) {
        precondition(self.reader == nil, "the first row has not been read")
        var options = self.reading
        options.fields = fields
        self.reader = self.format?.reader(options)
    }

    /// Whether the format names each value. Then a value without an attribute is probably a mistake.
    var namesValues: Bool {
        switch self.format {
        case .json, .jsonl, .csv, .tsv: true
        case .opml, .md, .org, .taskpaper, .workflowy, .dynalist, .text, nil: false
        }
    }

    /// Returns the rows that the next piece of the file completes, or `nil` at the end.
    mutating func next() throws -> [OutlineRow]? {
        guard !self.isAtEnd else { return nil }
        let (rows, total) = try self.nextRows()
        self.rowCount += rows.count
        for row in rows {
            self.levelCount = max(self.levelCount, row.depth + 1)
            if row.done { self.doneCount += 1 }
            if row.note != nil { self.noteCount += 1 }
        }
        self.progress.update(items: self.rowCount, bytes: self.byteCount, of: total)
        return rows
    }

    private mutating func nextRows() throws -> ([OutlineRow], Progress.Total) {
        if let walk = self.walk {
            let rows = try walk.next()
            self.isAtEnd = rows == nil
            return (rows ?? [], .unknown)
        }
        var rows: [OutlineRow] = []
        if self.reader == nil { self.use(OutlineFields()) }
        let bytes = self.first.isEmpty ? try self.file?.next() : self.first
        self.first = []
        if let bytes {
            try self.reader?.read(bytes, into: &rows)
            self.byteCount += bytes.count
        } else {
            self.isAtEnd = true
            try self.reader?.finish(into: &rows)
        }
        return (rows, self.totalBytes.map { .bytes($0) } ?? .unknown)
    }

    /// Descriptions of what was repaired or left out.
    var warnings: [String] { self.walk?.warnings ?? self.reader?.warnings ?? [] }

    /// What a lenient reader has repaired; `nil` for another reader.
    var repairs: RepairCounts? { self.reader?.repairs }

    mutating func finish() {
        self.progress.finish(items: self.rowCount, bytes: self.byteCount)
    }
}

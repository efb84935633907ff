import NestDocuments
import NestModel

/// Writes rows in a format as they arrive, to a file or to standard output.
struct OutlineSink {
    private static let pieceBytes = 256 << 10

    private let format: OutlineFormat
    private let options: WritingOptions
    private let file: OutputFile?
    /// `nil` until the first row, which provides the document's title.
    private var writer: (any OutlineWriter)?
    private var rowCount = 0
    private var byteCount = 0
    var progress: Progress

    /// `options`: all options except the title.
    init(_ format: OutlineFormat, _ options: WritingOptions, file: OutputFile?, progress: Progress) {
        self.format = format
        self.options = options
        self.file = file
        self.progress = progress
    }

    /// Writes a row. A row above depth 0 only provides the title of the rows below it.
    mutating func take(_ row: OutlineRow, _ output: inout Output) throws {
        var writer = self.writer.take() ?? self.newWriter(title: row.title)
        defer { self.writer = writer }
        guard row.depth >= 0 else { return }
        try writer.write(row)
        self.rowCount += 1
        if writer.byteCount >= Self.pieceBytes { try self.write(writer.take(), &output) }
    }

    mutating func showProgress(of total: Int) {
        self.progress.update(items: self.rowCount, bytes: self.byteCount, of: .items(total))
    }

    mutating func finish(_ output: inout Output) throws {
        var writer = self.writer.take() ?? self.newWriter(title: "")
        defer { self.writer = writer }
        try writer.finish()
        try self.write(writer.take(), &output)
        self.progress.finish(items: self.rowCount, bytes: self.byteCount)
    }

    /// Descriptions of what the format could not hold.
    var warnings: [String] { self.writer?.warnings ?? [] }

    /// `unwritten`: descriptions of what the export leaves out in every format.
    func summary(_ revision: Revision, _ unwritten: [String]) -> JSONWriter {
        .object { json in
            json.field("revision", revision)
            json.field("format", self.format.rawValue)
            json.field("rows", self.rowCount)
            json.field("bytes", self.byteCount)
            json.key("warnings")
            json.array(unwritten + self.warnings) { $0.string($1) }
        }
    }

    private func newWriter(title: String) -> any OutlineWriter {
        var options = self.options
        options.title = title
        return self.format.writer(options)
    }

    private mutating func write(_ bytes: [UInt8], _ output: inout Output) throws {
        if let file = self.file { try file.write(bytes) } else { try output.write(bytes) }
        self.byteCount += bytes.count
    }
}

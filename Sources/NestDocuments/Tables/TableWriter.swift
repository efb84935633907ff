import NestModel

/// Writes a table with the columns `level`, `title`, `note`, `done`, the attributes and `extra`, and for rows from a
/// server `id` and `parent`. Cells are in quotes only if they must be; an empty cell in quotes is an empty text.
package struct TableWriter: OutlineWriter {
    private let delimiter: UInt8
    private let fields: OutlineFields
    private var bytes: [UInt8] = []
    /// Whether ids are written; `nil` before the first row.
    private var hasIDs: Bool?
    /// The ids of the last row and its ancestors.
    private var path: [ObjectID?] = []

    package init(_ dialect: TableDialect, _ fields: OutlineFields = OutlineFields()) {
        self.delimiter = dialect.delimiter
        self.fields = fields
    }

    package var byteCount: Int { self.bytes.count }
    package var warnings: [String] { [] }

    package mutating func write(_ row: OutlineRow) throws(FormatError) {
        precondition(row.depth >= 0 && row.depth <= self.path.count, "a row is at most one level below the last")
        self.begin(hasIDs: row.id != nil)
        self.path.removeSubrange(row.depth...)
        let parent = self.path.last ?? nil
        self.path.append(row.id)
        if self.hasIDs == true {
            self.record(["\(row.id?.rawValue ?? 0)", parent.map { "\($0.rawValue)" }], isEnd: false)
        }
        var cells: [String?] = ["\(row.depth)", row.title]
        if self.fields.note != nil { cells.append(row.note) }
        if self.fields.done != nil { cells.append(row.done ? "yes" : nil) }
        for name in self.fields.attributes { cells.append(row.attributes.first { $0.name == name }?.text) }
        if self.fields.hasExtra { cells.append(row.extra) }
        self.record(cells, isEnd: true)
    }

    package mutating func finish() throws(FormatError) {
        self.begin(hasIDs: false)
    }

    package mutating func take() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }

    private mutating func begin(hasIDs: Bool) {
        guard self.hasIDs == nil else { return }
        self.hasIDs = hasIDs
        if hasIDs { self.record(["id", "parent"], isEnd: false) }
        var names: [String?] = ["level", self.fields.title]
        names += [self.fields.note, self.fields.done].filter { $0 != nil } + self.fields.attributes.map { $0 }
        if self.fields.hasExtra { names.append("extra") }
        self.record(names, isEnd: true)
    }

    private mutating func record(_ cells: [String?], isEnd: Bool) {
        for (column, cell) in cells.enumerated() {
            if column > 0 { self.bytes.append(self.delimiter) }
            if let cell { self.cell(cell) }
        }
        self.bytes.append(isEnd ? UInt8(ascii: "\n") : self.delimiter)
    }

    private mutating func cell(_ text: String) {
        let quote = UInt8(ascii: "\"")
        let needsQuotes =
            text.isEmpty
            || text.utf8.contains { byte in
                byte == self.delimiter || byte == quote || byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r")
            }
        guard needsQuotes else { return self.bytes.append(contentsOf: text.utf8) }
        self.bytes.append(quote)
        for byte in text.utf8 {
            if byte == quote { self.bytes.append(quote) }
            self.bytes.append(byte)
        }
        self.bytes.append(quote)
    }
}

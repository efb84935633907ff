/// Writes a format in which lines are items or texts, and indentation is depth: one line for each row, then its note,
/// one level to the right.
struct ItemWriter<Dialect: ItemDialect>: OutlineWriter {
    private let format: OutlineFormat
    private let dialect: Dialect
    private var bytes: [UInt8] = []
    private var previousDepth = -1
    private var losses = LossCounts()

    init(_ format: OutlineFormat, _ dialect: Dialect) {
        self.format = format
        self.dialect = dialect
    }

    var byteCount: Int { self.bytes.count }
    var warnings: [String] { self.losses.warnings }

    mutating func write(_ row: OutlineRow) throws(FormatError) {
        precondition(row.depth >= 0 && row.depth <= self.previousDepth + 1, "a row is at most one level below the last")
        try self.format.checkDepth(row.depth)
        let isBelow = row.depth > self.previousDepth && self.previousDepth >= 0
        self.previousDepth = row.depth
        var item = self.dialect.item(row, isBelow: isBelow, &self.losses)
        item.title = LineEscape.line(for: item.title) { self.dialect.isPlain($0, of: item) }
        self.line(self.dialect.line(item), depth: row.depth)
        guard let note = row.note else { return }
        for line in ItemNote(dialect: self.dialect).lines(note) { self.line(line, depth: row.depth + 1) }
    }

    mutating func finish() throws(FormatError) {}

    mutating func take() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }

    private mutating func line(_ line: [UInt8], depth: Int) {
        if !line.isEmpty {
            for _ in 0..<depth { self.bytes += self.dialect.unit }
            self.bytes += line
        }
        self.bytes.append(UInt8(ascii: "\n"))
    }
}

import NestModel

/// Writes indented text: one line for each row, one tab for each level, `\n` at the end. `TitleEscape` writes the
/// titles. Leaves out notes, marks and extra, and counts them.
package struct IndentedTextWriter: OutlineWriter {
    private var bytes: [UInt8] = []
    private var line = 0
    private var previousDepth = -1
    private var losses = LossCounts()

    package init() {}

    package var byteCount: Int { self.bytes.count }
    package var warnings: [String] { self.losses.warnings }

    package mutating func write(_ row: OutlineRow) throws(FormatError) {
        precondition(row.depth >= 0 && row.depth <= self.previousDepth + 1, "a row is at most one level below the last")
        self.line += 1
        guard row.depth <= Limits.depthMax else {
            throw FormatError(line: self.line, column: 1, "more than \(Limits.depthMax) levels")
        }
        self.previousDepth = row.depth
        if row.note != nil { self.losses.add("notes left out (text holds titles)") }
        if row.done { self.losses.add("done marks left out (text holds titles)") }
        if row.extra != nil { self.losses.add("items whose extra was left out (text holds titles)") }
        let attributes = row.attributes.count { $0.value != .null }
        self.losses.add("attributes left out (text holds titles)", count: attributes)
        self.bytes += [UInt8](repeating: UInt8(ascii: "\t"), count: row.depth)
        self.bytes.append(contentsOf: TitleEscape.line(for: Array(row.title.utf8)))
        self.bytes.append(UInt8(ascii: "\n"))
    }

    package mutating func finish() throws(FormatError) {}

    package mutating func take() -> [UInt8] {
        defer { self.bytes = [] }
        return self.bytes
    }
}

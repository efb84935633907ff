import NestModel

/// Reads JSON lines: one object (see `JSONItem`) on each line. Skips blank lines.
///
/// An item's position in the tree is its `depth` (or `level`), counted from that of the first line, in the order of the
/// lines; a jump of two levels counts as one. Without depths, items may have an `id` and the id of their `parent`, in
/// any order: then the reader holds all in memory until the end (see `ParentOrder`). Without either, all items are at
/// the top.
package struct JSONLinesReader: OutlineReader {
    /// Enough for three values whose every byte is written as `\u0000`.
    private static let lineBytesMax = 20 * Limits.valueBytesMax

    private var lines = LineSplitter(lineBytesMax: Self.lineBytesMax)
    private var positions = TreePositionReader()
    private let names: JSONItem.Names

    package init(_ fields: OutlineFields = OutlineFields()) {
        self.names = JSONItem.Names(fields)
    }

    package var warnings: [String] { self.positions.warnings }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.read(bytes) { try self.take(line, &rows) }
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.finish() { try self.take(line, &rows) }
        try self.positions.finish(into: &rows)
    }

    private mutating func take(_ line: LineSplitter.Line, _ rows: inout [OutlineRow]) throws(FormatError) {
        guard line.bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return }
        let start = TextLocation(line: line.number)
        let item = try JSONItem.parse(line.bytes, self.names, hasPosition: true, start: start, isWhole: true)
        guard !item.hasChildren else {
            throw start.failure("children within a line; use the format json")
        }
        guard item.title != nil else { throw start.failure("an item without a title") }
        var row = item.row(depth: 0)
        try row.check(at: TextLocation(line: line.number))
        try self.positions.take(row, item.position, line: line.number, into: &rows)
    }
}

import NestModel

/// Reads JSON lines: one object a line, blank lines left out; what an object says: `JSONItem`.
///
/// A line's place is its `depth` (or `level`), counted from that of the first line and in the order of the lines; a
/// jump of two levels is one. Without depths, lines may say their `id` and the id of their `parent`, in any order:
/// then all is kept in memory until the end (see `ParentOrder`). With neither, all are at the top.
package struct JSONLinesReader: OutlineReader {
    /// Of three values whose every byte is written as `\u0000`, and more.
    private static let lineBytesMax = 20 * Limits.valueBytesMax

    private var lines = LineSplitter(lineBytesMax: Self.lineBytesMax)
    private var places = PlaceReader()
    private let names: JSONItem.Names

    package init(_ fields: OutlineFields = OutlineFields()) {
        self.names = JSONItem.Names(fields)
    }

    package var warnings: [String] { self.places.warnings }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.read(bytes) { try self.take(line, &rows) }
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        for line in try self.lines.finish() { try self.take(line, &rows) }
        try self.places.finish(into: &rows)
    }

    private mutating func take(_ line: LineSplitter.Line, _ rows: inout [OutlineRow]) throws(FormatError) {
        guard line.bytes.contains(where: { $0 != 0x20 && $0 != 0x09 }) else { return }
        let start = TextPosition(line: line.number)
        let item = try JSONItem.parse(line.bytes, self.names, hasPlace: true, start: start, isWhole: true)
        guard !item.hasChildren else {
            throw start.failure("children within a line; that is the format json")
        }
        guard item.title != nil else { throw start.failure("an item without a title") }
        var row = item.row(depth: 0)
        try row.check(line: line.number, column: 1)
        try self.places.take(row, item.place, line: line.number, into: &rows)
    }
}

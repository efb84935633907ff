/// Reads a table: one item from each record. The first line names the columns (see `TableColumns`).
///
/// An item's depth is in the column `level` (or `depth`), counted from that of the first item; a jump of two levels
/// counts as one. Without that column, `id` and `parent` name parents in any order: then the reader holds all items in
/// memory until the end (see `ParentOrder`). Without either, all items are at the top.
package struct TableReader: OutlineReader {
    private var scanner: TableScanner
    private var columns: TableColumns?
    private var positions = TreePositionReader()

    private let fields: OutlineFields

    package init(_ dialect: TableDialect, _ fields: OutlineFields = OutlineFields()) {
        self.scanner = TableScanner(dialect)
        self.fields = fields
    }

    package var warnings: [String] { self.positions.warnings }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        for record in try self.scanner.read(bytes) { try self.take(record, &rows) }
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        for record in try self.scanner.finish() { try self.take(record, &rows) }
        try self.positions.finish(into: &rows)
    }

    private mutating func take(_ record: [TableScanner.Cell], _ rows: inout [OutlineRow]) throws(FormatError) {
        guard let columns = self.columns else {
            self.columns = try TableColumns(record, self.fields)
            return
        }
        let location = record[0].location
        var (row, position) = try columns.item(record)
        try row.check(at: location)
        try self.positions.take(row, position, line: location.line, into: &rows)
    }
}

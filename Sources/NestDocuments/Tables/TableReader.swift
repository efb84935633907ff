/// Reads a table: one item a record, its columns by the names in the first line: see `TableColumns`.
///
/// An item's place is the number in the column `level` (or `depth`), counted from that of the first; a jump of two
/// levels is one. Without that column, `id` and `parent` name parents in any order, and then all is kept in memory
/// until the end (see `ParentOrder`). With neither, all are at the top.
package struct TableReader: OutlineReader {
    private var scanner: TableScanner
    private var columns: TableColumns?
    private var places = PlaceReader()

    private let fields: OutlineFields

    package init(_ dialect: TableDialect, _ fields: OutlineFields = OutlineFields()) {
        self.scanner = TableScanner(dialect)
        self.fields = fields
    }

    package var warnings: [String] { self.places.warnings }

    package mutating func read(_ bytes: [UInt8], into rows: inout [OutlineRow]) throws(FormatError) {
        for record in try self.scanner.read(bytes) { try self.take(record, &rows) }
    }

    package mutating func finish(into rows: inout [OutlineRow]) throws(FormatError) {
        for record in try self.scanner.finish() { try self.take(record, &rows) }
        try self.places.finish(into: &rows)
    }

    private mutating func take(_ record: [TableScanner.Cell], _ rows: inout [OutlineRow]) throws(FormatError) {
        guard let columns = self.columns else {
            self.columns = try TableColumns(record, self.fields)
            return
        }
        let position = record[0].position
        var (row, place) = try columns.item(record)
        try row.check(line: position.line, column: position.column)
        try self.places.take(row, place, line: position.line, into: &rows)
    }
}

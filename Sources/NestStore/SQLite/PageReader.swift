import NestModel
import NestSchema

/// Reads the objects of one owner a page at a time, so that a list of any length takes the memory of a page.
final class PageReader {
    struct Row {
        var id: ObjectID
        var position: Int64
        /// The projected values in the byte form.
        var values: [UInt8]
    }

    private let connection: Connection
    private let layout: EntityLayout
    private let projection: [Int]
    private let first: LazyStatement
    private let next: LazyStatement

    init(_ connection: Connection, _ layout: EntityLayout, _ sql: EntitySQL, slot: Int, projection: [Int]) {
        self.connection = connection
        self.layout = layout
        self.projection = projection
        self.first = LazyStatement(connection, sql.page(slot, projection, isFirst: true))
        self.next = LazyStatement(connection, sql.page(slot, projection, isFirst: false))
    }

    /// Returns up to `limit` objects of an owner after a position (`nil`: from the front), in order.
    func page(of owner: ObjectID, after position: Int64?, limit: Int) throws(StoreError) -> [Row] {
        if self.connection.isHidden(owner) { return [] }
        let statement = try position == nil ? self.first.get() : self.next.get()
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        statement.bind(2, Int64(limit))
        if let position { statement.bind(3, position) }
        var page: [Row] = []
        while try statement.step() {
            var writer = ByteWriter(capacity: 32)
            for (index, slot) in self.projection.enumerated() {
                statement.write(Int32(index + 2), self.layout.columns[slot], into: &writer)
            }
            page.append(Row(id: statement.objectID(0), position: statement.integer(1), values: writer.bytes))
        }
        return page
    }
}

import NestModel
import NestSchema

/// Reads objects and results over one connection: the writer's, which sees its open transaction, or a reader's, at the
/// revision of its read transaction. Not Sendable: used on the thread of its connection.
package final class ObjectReader {
    let connection: Connection
    package private(set) var layout: ModelLayout
    private(set) var tables: [EntityTable]

    init(_ connection: Connection, _ layout: ModelLayout, _ tables: [EntityTable]) {
        self.connection = connection
        self.layout = layout
        self.tables = tables
    }

    /// Reads with a layout that has all of the old one. What holds the reader has the new layout too.
    func adopt(_ layout: ModelLayout, _ tables: [EntityTable]) {
        self.layout = layout
        self.tables = tables
    }

    func table(_ entity: EntityNumber) -> EntityTable {
        // Entity numbers come from rows and from compiled requests, whose numbers have been looked up in the model.
        guard let index = self.layout.index(of: entity) else { preconditionFailure("the entity is in the model") }
        return self.tables[index]
    }

    package func row(_ entity: EntityNumber, _ id: ObjectID) throws(StoreError) -> ObjectRow? {
        try self.table(entity).row(id)
    }

    /// Returns the rows of a table whose slot refers to an object. O(their number).
    package func ids(referringTo id: ObjectID, _ table: EntityNumber, _ slot: Int) throws(StoreError) -> [ObjectID] {
        var ids: [ObjectID] = []
        try self.table(table).forEach(ofOwner: id, slot: slot) { id, _ in ids.append(id) }
        return ids
    }

    /// Returns the number of rows of a table whose slot refers to an object. O(their number), in the index alone.
    package func count(referringTo id: ObjectID, _ table: EntityNumber, _ slot: Int) throws(StoreError) -> Int {
        try self.table(table).count(ofOwner: id, slot: slot)
    }

    /// Returns the same number, or `limit` if there are more. O(`limit`).
    package func count(
        referringTo id: ObjectID,
        _ table: EntityNumber,
        _ slot: Int,
        limit: Int
    ) throws(StoreError) -> Int {
        try self.table(table).count(ofOwner: id, slot: slot, limit: limit)
    }

    /// Returns the first row of a table of pairs whose slots refer to these objects.
    package func pair(_ join: EntityNumber, _ slots: [(slot: Int, id: ObjectID)]) throws(StoreError) -> ObjectRow? {
        let table = self.table(join)
        let found = try table.objects(where: slots.map(\.slot), equal: slots.map { .reference($0.id) })
        guard let id = found.first else { return nil }
        return try table.row(id)
    }
}

import NestModel
import NestSchema

/// Reads objects and results over one connection: that of the writer, which sees its own transaction, or one of a
/// reader, at the revision of its read transaction. Not Sendable: used on the thread of its connection.
package final class ObjectReader {
    let connection: Connection
    package let layout: ModelLayout
    let tables: [EntityTable]

    init(_ connection: Connection, _ layout: ModelLayout, _ tables: [EntityTable]) {
        self.connection = connection
        self.layout = layout
        self.tables = tables
    }

    func table(_ entity: EntityNumber) -> EntityTable {
        // Tables come from compiled requests and from rows: numbers of a request are looked up in the model first.
        guard let index = self.layout.index(of: entity) else { preconditionFailure("the entity is one of the model's") }
        return self.tables[index]
    }

    package func row(_ entity: EntityNumber, _ id: ObjectID) throws(StoreError) -> ObjectRow? {
        try self.table(entity).row(id)
    }

    /// The rows of a table whose slot refers to an object. O(their number).
    package func ids(referringTo id: ObjectID, _ table: EntityNumber, _ slot: Int) throws(StoreError) -> [ObjectID] {
        var ids: [ObjectID] = []
        try self.table(table).forEach(ofOwner: id, slot: slot) { id, _ in ids.append(id) }
        return ids
    }

    /// How many they are. O(their number), in the index alone.
    package func count(referringTo id: ObjectID, _ table: EntityNumber, _ slot: Int) throws(StoreError) -> Int {
        try self.table(table).count(ofOwner: id, slot: slot)
    }

    /// The first row of a table of pairs whose slots refer to these objects.
    package func pair(_ join: EntityNumber, _ slots: [(slot: Int, id: ObjectID)]) throws(StoreError) -> ObjectRow? {
        let table = self.table(join)
        let found = try table.objects(where: slots.map(\.slot), equal: slots.map { .reference($0.id) })
        guard let id = found.first else { return nil }
        return try table.row(id)
    }
}

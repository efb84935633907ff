import NestModel

extension Store {
    /// The rows of a table whose slot refers to an object. O(their number).
    package func ids(referringTo id: ObjectID, _ table: EntityNumber, _ slot: Int) throws -> [ObjectID] {
        var ids: [ObjectID] = []
        try self.table(table).forEach(ofOwner: id, slot: slot) { id, _ in ids.append(id) }
        return ids
    }

    /// How many they are. O(their number), in the index alone.
    package func count(referringTo id: ObjectID, _ table: EntityNumber, _ slot: Int) throws -> Int {
        try self.table(table).count(ofOwner: id, slot: slot)
    }

    /// The first row of a table of pairs whose slots refer to these objects.
    package func pair(_ join: EntityNumber, _ slots: [(slot: Int, id: ObjectID)]) throws -> ObjectRow? {
        let table = self.table(join)
        let found = try table.objects(where: slots.map(\.slot), equal: slots.map { .reference($0.id) })
        return try found.first.flatMap { try table.row($0) }
    }
}

import NestModel
import NestSchema

extension ObjectReader {
    /// Calls `body` with each object, or pair, behind the to-many step of aggregated values, and with its value.
    /// O(their number).
    package func forEachValue(
        _ values: AggregatedValues,
        of owner: ObjectID,
        _ body: (_ member: ObjectID, AttributeValue) throws(StoreError) -> Void
    ) throws(StoreError) {
        let members = self.table(values.memberTable)
        let sql: String
        if let targetSlot = values.targetSlot {
            let targets = self.table(values.valueTable)
            // CROSS: as in `ResultSQL`.
            sql =
                "SELECT p.id, t.\(targets.sql.columns[values.valueSlot]) FROM \(members.sql.table) AS p "
                + "CROSS JOIN \(targets.sql.table) AS t ON t.id = p.\(members.sql.columns[targetSlot]) "
                + "WHERE p.\(members.sql.columns[values.ownerSlot]) = ?1"
        } else {
            sql =
                "SELECT id, \(members.sql.columns[values.valueSlot]) FROM \(members.sql.table) "
                + "WHERE \(members.sql.columns[values.ownerSlot]) = ?1"
        }
        let statement = try self.connection.statement(sql)
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        let column = self.table(values.valueTable).layout.columns[values.valueSlot]
        while try statement.step() { try body(statement.objectID(0), statement.value(1, column)) }
    }

    /// Returns the value of an object, or of the object to which a pair leads.
    package func value(_ values: AggregatedValues, ofMember id: ObjectID) throws(StoreError) -> AttributeValue? {
        guard let row = try self.row(values.memberTable, id) else { return nil }
        guard let targetSlot = values.targetSlot else { return row.values[values.valueSlot] }
        guard let target = row.values.reference(targetSlot) else { return nil }
        return try self.row(values.valueTable, target)?.values[values.valueSlot]
    }
}

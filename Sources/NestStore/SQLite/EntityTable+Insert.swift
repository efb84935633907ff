import NestModel
import NestSchema

extension EntityTable {
    /// Inserts an object. The row may wait until the connection's next other statement; see `PendingInserts`.
    func insert(_ id: ObjectID, _ row: ObjectRow) throws(StoreError) {
        let inserts = try self.beginInsert(id, row.revision, row.entity)
        inserts.append(row.values)
        for place in self.layout.placedSlots.indices {
            if row.values.isNull(self.layout.placedSlots[place]) {
                inserts.appendNull()
                inserts.appendNull()
            } else {
                inserts.append(row.places[place].position)
                inserts.append(Int64(row.places[place].stamp))
            }
        }
        try self.connection.pendingInserts.end(inserts)
        self.lastEnd?.note(id, row, self.layout)
    }

    /// Begins to insert an object. The values of its slots follow, then position and stamp of each place, then
    /// `endInsert`.
    @inline(__always)
    func beginInsert(_ id: ObjectID, _ revision: Revision, _ entity: EntityNumber) throws(StoreError) -> InsertBatch {
        let inserts = self.inserts
        try self.connection.meter.step()
        try self.connection.pendingInserts.begin(inserts)
        inserts.append(id.rawValue)
        inserts.append(Int64(revision.rawValue))
        if self.layout.hasKinds { inserts.append(Int64(entity.rawValue)) }
        return inserts
    }

    /// Precondition: `insert` has appended nothing to the order of the new object's owner.
    func endInsert(_ inserts: InsertBatch) throws(StoreError) { try self.connection.pendingInserts.end(inserts) }
}

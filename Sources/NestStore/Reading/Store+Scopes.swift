import GRDBSQLite
import NestModel
import NestSchema

/// Reads by which the members of a sub-tree are found.
extension Store {
    /// Calls `body` with the insertions and deletions that a bulk write of the open group has streamed to the journal,
    /// in order. `from`: the first block.
    package func forEachStreamed(
        _ changes: ChangeSet,
        from first: Int = 0,
        _ body: (ObjectChange) throws(StoreError) -> Void
    ) throws(StoreError) {
        for number in first..<changes.blockCount {
            for change in try self.journal.block(changes.revision, number).changes { try body(change) }
        }
    }

    /// The number of steps of SQLite's virtual machine on this connection so far: the cost of requests, without a
    /// clock. For tests.
    package var statementSteps: Int {
        var steps = 0
        var statement = sqlite3_next_stmt(self.connection.handle, nil)
        while let current = statement {
            steps += Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, 0))
            statement = sqlite3_next_stmt(self.connection.handle, current)
        }
        return steps
    }
}

/// Reads the objects directly below others in a hierarchy, a page at a time.
package final class ChildReader {
    private let pages: PageReader

    package init(_ objects: ObjectReader, _ key: SubtreeKey) {
        self.pages = objects.table(key.table).pages(slot: key.slot, projection: [])
    }

    /// Returns up to `limit` objects directly below an owner, after a position (`nil`: from the first), in order.
    package func page(of owner: ObjectID, after position: Int64?, limit: Int) throws(StoreError) -> [(
        id: ObjectID, position: Int64
    )] {
        try self.pages.page(of: owner, after: position, limit: limit).map { ($0.id, $0.position) }
    }
}

extension ObjectReader {
    /// Whether an object is in a table.
    package func exists(_ id: ObjectID, _ table: EntityNumber, _ slot: Int) throws(StoreError) -> Bool {
        try self.reference(table, slot, of: id) != nil
    }
}

extension ObjectChange {
    /// Returns the object to which a to-one slot refers after the change.
    package func owner(_ slot: Int, _ layout: EntityLayout) -> ObjectID? {
        let place = layout.placeOfSlot[slot]
        guard place < 0 else { return self.placings.first { $0.place == place }?.after?.owner }
        return self.values.first { $0.slot == slot }?.after.referenceValue
    }
}

/// Knows the members of a sub-tree without walking up the hierarchy.
package protocol SubtreeMembership: AnyObject {
    /// Whether an object exists and is the root or below it; `nil` if that is not known at present.
    func contains(_ id: ObjectID) -> Bool?
}

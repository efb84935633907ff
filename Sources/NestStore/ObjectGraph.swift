import NestModel

/// The object graph as one request sees and changes it, inside the open SQLite transaction of a group.
///
/// Keeps what the model promises: inverses, delete rules, order, no cycles, validation. Throws `NestError` for a refusal and
/// `StoreError` for a failure of storage; `recorder.hasWritten` then tells whether the request must be rolled back.
package final class ObjectGraph {
    let layout: ModelLayout
    let recorder: ChangeRecorder
    private let tables: [EntityTable]
    /// The next id to give.
    package private(set) var nextObjectID: Int64
    /// What `Mutation` references like -1 stand for.
    var inserted: [ObjectID] = []
    /// Neighbours of objects about to be written, until their record exists.
    var departures: [(id: ObjectID, place: Int, neighbours: Neighbours)] = []

    init(layout: ModelLayout, tables: [EntityTable], recorder: ChangeRecorder, nextObjectID: Int64) {
        self.layout = layout
        self.tables = tables
        self.recorder = recorder
        self.nextObjectID = nextObjectID
    }

    var revision: Revision { self.recorder.revision }

    package var hasWritten: Bool { self.recorder.hasWritten }

    func table(_ entity: EntityNumber) throws -> EntityTable {
        guard let index = self.layout.index(of: entity) else {
            throw NestError(.unknownEntity, "the model has no entity number \(entity.rawValue)")
        }
        return self.tables[index]
    }

    func newObjectID() throws -> ObjectID {
        guard self.nextObjectID <= Limits.objectIDMax else {
            throw NestError(.limitExceeded, "the store has given all its object ids")
        }
        defer { self.nextObjectID += 1 }
        return ObjectID(self.nextObjectID)
    }

    /// The object's entity and row: ids are unique over all entities, so the tables are probed.
    func find(_ id: ObjectID) throws(StoreError) -> (table: EntityTable, row: ObjectRow)? {
        for table in self.tables {
            if let row = try table.row(id) { return (table, row) }
        }
        return nil
    }

    func require(_ id: ObjectID) throws -> (table: EntityTable, row: ObjectRow) {
        guard let found = try self.find(id) else { throw Self.notFound(id) }
        return found
    }

    static func notFound(_ id: ObjectID) -> NestError {
        NestError(.notFound, "there is no object with id \(id)", object: id)
    }

    func resolve(_ reference: ObjectReference) throws -> ObjectID {
        if reference.rawValue > 0 { return ObjectID(reference.rawValue) }
        let index = -reference.rawValue
        guard index > 0, index <= Int64(self.inserted.count) else {
            throw NestError(
                .invalid,
                "the reference \(reference.rawValue) names no insert before it in this transaction"
            )
        }
        return self.inserted[Int(index) - 1]
    }

    /// Performs a transaction's steps in order; answers the inserted ids.
    package func perform(_ transaction: Transaction) throws -> [ObjectID] {
        for precondition in transaction.preconditions { try self.check(precondition) }
        for mutation in transaction.mutations { try self.perform(mutation) }
        return self.inserted
    }

    private func check(_ precondition: Precondition) throws {
        let (_, row) = try self.require(precondition.object)
        guard row.revision <= precondition.revision else {
            throw NestError(
                .conflict,
                "the object \(precondition.object) changed at revision \(row.revision), after \(precondition.revision): look again, then retry",
                object: precondition.object
            )
        }
    }

    private func perform(_ mutation: Mutation) throws {
        switch mutation {
        case .insert(let entity, let values, let placements):
            try self.insert(entity, values: values, placements: placements)
        case .update(let object, let values):
            try self.update(try self.resolve(object), values: values)
        case .move(let object, let placement):
            try self.move(try self.resolve(object), placement)
        case .delete(let object):
            try self.delete(try self.resolve(object))
        }
    }

    /// Writes a row that differs from what is stored, and records it.
    func write(_ table: EntityTable, _ id: ObjectID, from old: ObjectRow, to new: ObjectRow) throws {
        var new = new
        new.revision = self.revision
        try table.update(id, from: old, to: new)
        try self.recorder.record(table.layout.number, id, before: old, after: new)
    }
}

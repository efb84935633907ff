import NestModel
import NestSchema

/// The object graph as one request sees and changes it, inside the open SQLite transaction of a group.
///
/// Enforces the rules of the model: inverses, delete rules, order, no cycles, validation. After an error
/// `recorder.hasWritten` states whether the request must be rolled back.
///
/// One graph serves the requests of groups one after the other, because most are small; see `begin`. A request must not
/// keep it.
package final class ObjectGraph {
    let layout: ModelLayout
    let recorder: ChangeRecorder
    let tables: [EntityTable]
    let memory: BulkMemory
    /// The time of the request, in microseconds since 1970-01-01 UTC.
    private(set) var time: Int64
    /// The session whose reserved ids the request may use.
    package var sessionNumber: UInt64 = 0
    /// The prepared write that the request may apply.
    package var preparation: Preparation?
    /// The topmost objects of a prepared restoration that are still to be restored.
    var missingTops: Set<ObjectID> = []
    /// The next object id to assign.
    package private(set) var nextObjectID: Int64
    /// The first object id that this request can have assigned.
    private(set) var firstObjectID: Int64
    /// The objects that the steps have inserted or found so far, in order. References such as -1 in a `Mutation` refer
    /// to them.
    var results: [ObjectID] = []
    var runs: [Receipt.Run] = []
    /// The faults found so far. A request with faults is refused when all of them are known.
    var faults: [ValidationFault] = []
    /// Objects that an undo restored without a value that they had. Of the objects of a bulk write only these are
    /// validated.
    var emptied: [(table: EntityTable, id: ObjectID)] = []
    /// Whether the request has several steps. A fault that a later step may correct is then checked only at the end.
    private(set) var isBatch = false
    /// Whether missing values are reported at the end of the request, with the other faults that are found there.
    var reportsMissingAtEnd: Bool { self.isBatch || self.layout.hasDeferredChecks }
    /// The description of the request: see `WriteDescription.begin`.
    package let description = WriteDescription(name: "", key: nil, requestHash: 0, sessionNumber: 0)
    /// The memory of the last insert's assignments, for the next one.
    var spareAssignments = Assignments()
    /// The neighbours of objects about to be written, until the change of the object is recorded.
    var departures: [(id: ObjectID, place: Int, neighbours: Neighbours)] = []
    /// The index of the table in which an object was found last: most requests use one table.
    private var lastFound = 0

    init(
        layout: ModelLayout,
        tables: [EntityTable],
        recorder: ChangeRecorder,
        memory: BulkMemory,
        nextObjectID: Int64,
        time: Int64
    ) {
        self.layout = layout
        self.tables = tables
        self.recorder = recorder
        self.memory = memory
        self.nextObjectID = nextObjectID
        self.firstObjectID = nextObjectID
        self.time = time
    }

    /// Whether its request has used nothing but what `begin` resets, and little memory. Few requests use more; the next
    /// one then gets a new graph.
    var isPlain: Bool {
        self.preparation == nil && self.deleted == nil && self.missingTops.isEmpty && self.faults.isEmpty
            && self.emptied.isEmpty && self.departures.isEmpty && self.results.count <= Self.keptResultsMax
            && self.recorder.isPlain
    }

    /// Forgets the objects of a request that has succeeded: the next request may come much later.
    func rest() {
        self.recorder.rest()
        self.runs = []
    }

    /// Begins the next request, after one that has succeeded. `group`: `nil` for the same group. Precondition:
    /// `isPlain`.
    func begin(_ revision: Revision, nextObjectID: Int64, time: Int64, _ group: WriteGroup?) {
        self.recorder.begin(revision, group)
        self.time = time
        self.nextObjectID = nextObjectID
        self.firstObjectID = nextObjectID
        // `removeAll(keepingCapacity:)` would cost more: most requests have one result.
        while !self.results.isEmpty { self.results.removeLast() }
        self.runs = []
        self.isBatch = false
        self.sessionNumber = 0
        // Where a search begins decides how many steps it takes, which have limits: not by the request before.
        self.lastFound = 0
    }

    /// The memory of more results is not kept for the next request.
    private static let keptResultsMax = 64

    var revision: Revision { self.recorder.revision }

    package var hasWritten: Bool { self.recorder.hasWritten }

    func table(_ entity: EntityNumber) throws(StoreError) -> EntityTable {
        guard let index = self.layout.index(of: entity) else {
            throw .refused(.unknownEntity, "the model has no entity number \(entity.rawValue)")
        }
        return self.tables[index]
    }

    /// Returns the index of a table in `tables`.
    func index(of table: EntityTable) -> Int {
        guard let index = self.layout.index(of: table.layout.number) else {
            preconditionFailure("a table of the graph is of its layout")
        }
        return index
    }

    func newObjectID() throws(StoreError) -> ObjectID {
        guard self.nextObjectID <= Limits.objectIDMax else {
            throw .refused(.limitExceeded, "the store has no object ids left")
        }
        defer { self.nextObjectID += 1 }
        return ObjectID(self.nextObjectID)
    }

    /// Takes an id that the request's session has reserved.
    func useReserved(_ id: ObjectID) throws(StoreError) -> ObjectID {
        guard try self.recorder.group.useReserved(id, of: self.sessionNumber) else {
            throw .refused(
                .invalid,
                "the session has not reserved the id \(id), or an object had it already: reserve ids and use each once",
                object: id
            )
        }
        return id
    }

    /// Returns an object's table and row. Ids are unique across all entities, so the tables are searched one by one.
    /// Pairs are not objects.
    func find(_ id: ObjectID) throws(StoreError) -> (table: EntityTable, row: ObjectRow)? {
        if !self.tables[self.lastFound].layout.isJoin, let row = try self.tables[self.lastFound].row(id) {
            return (self.tables[self.lastFound], row)
        }
        for (index, table) in self.tables.enumerated() where index != self.lastFound && !table.layout.isJoin {
            if let row = try table.row(id) {
                self.lastFound = index
                return (table, row)
            }
        }
        return nil
    }

    func require(_ id: ObjectID) throws(StoreError) -> (table: EntityTable, row: ObjectRow) {
        guard let found = try self.find(id) else { throw Self.notFound(id) }
        return found
    }

    static func notFound(_ id: ObjectID) -> StoreError {
        .refused(.notFound, "there is no object with id \(id)", object: id)
    }

    // MARK: Steps

    /// The object that the last step deleted, its entity, and its label.
    var deleted: (id: ObjectID, entity: EntityNumber, label: String?)?
    /// The placeholder in `results` for a step that was refused.
    private static let refused = ObjectID(0)

    func resolve(_ reference: ObjectReference) throws(StoreError) -> ObjectID {
        if reference.rawValue > 0 { return ObjectID(reference.rawValue) }
        let index = -reference.rawValue
        guard index > 0, index <= Int64(self.results.count) else {
            throw .refused(
                .invalid,
                "the reference \(reference.rawValue) refers to no earlier insert or find-or-create of this transaction"
            )
        }
        return self.results[Int(index) - 1]
    }

    /// Whether all steps that this step refers to succeeded: otherwise it cannot be checked.
    private func isCheckable(_ mutation: Mutation) throws(StoreError) -> Bool {
        for reference in mutation.references where try self.resolve(reference) == Self.refused { return false }
        return true
    }

    func addResult(_ id: ObjectID, isFound: Bool) {
        self.results.append(id)
        self.runs.append(id, isFound: isFound)
    }

    /// Performs a transaction's steps in order. Returns the inserted and found objects. Call `validate` afterwards: it
    /// checks the resulting objects.
    package func perform(_ transaction: WriteTransaction) throws(StoreError) -> [Receipt.Run] {
        try self.perform(transaction.mutations, if: transaction.preconditions)
    }

    /// Performs the steps of a transaction, as `perform(_:)` does, if its preconditions hold.
    package func perform(
        _ mutations: [Mutation],
        if preconditions: [Precondition]
    ) throws(StoreError) -> [Receipt.Run] {
        for precondition in preconditions { try self.check(precondition) }
        self.isBatch = mutations.count > 1
        // By index: a step is passed on in its parts, of which there are fewer than of the whole.
        for index in mutations.indices {
            let resultCount = self.results.count
            do throws(StoreError) {
                // Without faults no step was refused.
                let isCheckable = self.faults.isEmpty ? true : try self.isCheckable(mutations[index])
                if isCheckable { try self.perform(mutations[index]) }
            } catch {
                guard case .refused(let refusal) = error else { throw error }
                if self.isBatch, !refusal.faults.isEmpty {
                    self.faults += refusal.faults
                } else if self.faults.isEmpty {
                    throw error
                } else {
                    // The cause may be an earlier step: it was refused and did nothing.
                    throw Self.refusal(self.faults)
                }
            }
            if self.results.count == resultCount, mutations[index].hasResult { self.results.append(Self.refused) }
        }
        return self.runs
    }

    private func check(_ precondition: Precondition) throws(StoreError) {
        let (_, row) = try self.require(precondition.object)
        guard row.revision <= precondition.revision else {
            throw Self.changed(precondition.object, at: row.revision, since: precondition.revision)
        }
    }

    /// `revision`: `nil` if unknown.
    static func changed(_ id: ObjectID, at revision: Revision?, since base: Revision) -> StoreError {
        let at = revision.map { " at revision \($0), after" } ?? " after"
        return .refused(.conflict, "the object \(id) changed\(at) revision \(base): read it and retry", object: id)
    }

    @inline(__always)
    private func perform(_ mutation: Mutation) throws(StoreError) {
        switch mutation {
        case .insert(let entity, let values, let placements):
            try self.insert(entity, values: values, placements: placements)
        case .update(let object, let values):
            try self.update(try self.resolve(object), values: values)
        case .move(let object, let placement):
            try self.move(try self.resolve(object), placement)
        case .delete(let object):
            try self.delete(try self.resolve(object))
        case .relate(let owner, let relationship, let object, let place):
            try self.relate(try self.resolve(owner), relationship, try self.resolve(object), at: place)
        case .unrelate(let owner, let relationship, let object):
            try self.unrelate(try self.resolve(owner), relationship, try self.resolve(object))
        case .setRelated(let owner, let relationship, let objects):
            var ids: [ObjectID] = []
            for object in objects { ids.append(try self.resolve(object)) }
            try self.setRelated(try self.resolve(owner), relationship, ids)
        case .findOrCreate(let entity, let match, let values, let placements):
            try self.findOrCreate(entity, match: match, values: values, placements: placements)
        case .insertAs(let id, let entity, let values, let placements):
            try self.insert(entity, as: id, values: values, placements: placements)
        }
    }

    /// Writes a row that differs from the stored one, and records the change.
    func write(_ table: EntityTable, _ id: ObjectID, from old: ObjectRow, to new: ObjectRow) throws(StoreError) {
        var new = new
        new.revision = self.revision
        try table.update(id, from: old, to: new)
        try self.recorder.record(new.entity, id, before: old, after: new)
    }
}

extension Mutation {
    /// Whether the step adds an object to the results, to which later steps may refer.
    fileprivate var hasResult: Bool {
        switch self {
        case .insert, .findOrCreate, .insertAs: true
        case .update, .move, .delete, .relate, .unrelate, .setRelated: false
        }
    }

    /// All objects that the step refers to.
    fileprivate var references: [ObjectReference] {
        switch self {
        case .insert(_, let values, let placements), .insertAs(_, _, let values, let placements):
            values.compactMap(\.reference) + placements.flatMap(\.references)
        case .update(let object, let values): [object] + values.compactMap(\.reference)
        case .move(let object, let placement): [object] + placement.references
        case .delete(let object): [object]
        case .relate(let owner, _, let object, let place): [owner, object] + place.references
        case .unrelate(let owner, _, let object): [owner, object]
        case .setRelated(let owner, _, let objects): [owner] + objects
        case .findOrCreate(_, let match, let values, let placements):
            (match + values).compactMap(\.reference) + placements.flatMap(\.references)
        }
    }
}

extension PropertyAssignment {
    fileprivate var reference: ObjectReference? {
        if case .reference(let reference) = self.value { reference } else { nil }
    }
}

extension Placement {
    fileprivate var references: [ObjectReference] { [self.owner] + self.place.references }
}

extension Place {
    fileprivate var references: [ObjectReference] {
        switch self {
        case .before(let reference), .after(let reference): [reference]
        case .near(let left, let right): [left, right].compactMap { $0 }
        case .first, .last, .at: []
        }
    }
}

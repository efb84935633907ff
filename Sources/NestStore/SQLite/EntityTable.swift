import NestModel
import NestSchema

/// Reads and writes the rows of one entity's table.
///
/// Every statement is prepared once, when it is first used, and is not looked up by its text: a commit of one row takes
/// a few microseconds, and building SQL would take most of them.
final class EntityTable {
    let layout: EntityLayout
    let connection: Connection
    /// The path of the store, for messages about damage.
    var path: String { self.connection.path }
    let sql: EntitySQL

    private lazy var selectRow = LazyStatement(self.connection, self.sql.select)
    lazy var inserts = InsertBatch(self.connection, self.sql)
    private lazy var deleteRow = LazyStatement(self.connection, self.sql.delete)
    private lazy var selectRows = LazyStatement(self.connection, self.sql.rows)
    /// The number of columns of a row without its id.
    private lazy var rowWidth = Int32(self.sql.allColumns.count)
    private lazy var deleteRows = LazyStatement(self.connection, self.sql.deleteRange)
    /// By slot.
    private lazy var selectOwnedByRange = self.layout.slots.indices.map {
        LazyStatement(self.connection, self.sql.ownedByRange($0))
    }
    private lazy var selectExists = LazyStatement(self.connection, self.sql.exists)
    private lazy var selectEntity = LazyStatement(self.connection, self.sql.entity)
    /// By slot.
    private lazy var selectOwned = self.layout.slots.indices.map { LazyStatement(self.connection, self.sql.owned($0)) }
    private lazy var selectOwnedReversed = self.layout.slots.indices.map {
        LazyStatement(self.connection, self.sql.ownedReversed($0))
    }
    private lazy var selectAnyOwned = self.layout.slots.indices.map {
        LazyStatement(self.connection, self.sql.anyOwned($0))
    }
    private lazy var countOwned = self.layout.slots.indices.map {
        LazyStatement(self.connection, self.sql.countOwned($0))
    }
    private lazy var countOwnedUpTo = self.layout.slots.indices.map {
        LazyStatement(self.connection, self.sql.countOwnedUpTo($0))
    }
    /// By slot.
    private lazy var selectReference = self.layout.slots.indices.map {
        LazyStatement(self.connection, self.sql.reference($0))
    }
    /// By place, the index in `EntityLayout.placedSlots`.
    private lazy var placeStatements = self.layout.placedSlots.indices.map {
        PlaceStatements(self.connection, self.sql, $0)
    }
    private struct UpdateKey: Hashable {
        var slots = SlotSet()
        var places = SlotSet()
    }
    /// By the slots and places that are written.
    private var updates: [UpdateKey: Statement] = [:]
    /// The last update: consecutive writes are often of one kind.
    private var lastUpdate: (key: UpdateKey, statement: Statement)?
    private struct EqualKey: Hashable {
        var slots: [Int]
        var isNull: [Bool]
        var entities: [EntityNumber]?
    }
    private var equals: [EqualKey: Statement] = [:]

    private final class PlaceStatements {
        let neighbours: [LazyStatement]
        let range: LazyStatement
        let atIndex: LazyStatement
        let reposition: LazyStatement

        init(_ connection: Connection, _ sql: EntitySQL, _ place: Int) {
            self.neighbours = Neighbour.allCases.map { LazyStatement(connection, sql.neighbour($0, place)) }
            self.range = LazyStatement(connection, sql.range(place))
            self.atIndex = LazyStatement(connection, sql.atIndex(place))
            self.reposition = LazyStatement(connection, sql.reposition(place))
        }
    }

    init(_ layout: EntityLayout, _ connection: Connection) {
        self.layout = layout
        self.connection = connection
        self.sql = EntitySQL(layout)
    }

    // MARK: Rows

    /// Whether a row of this table is not in the graph.
    @inline(__always)
    private func isHidden(_ id: ObjectID) -> Bool { self.connection.isHidden(id) }

    /// Returns the whole row of an object; `nil` if there is no such object in this table.
    func row(_ id: ObjectID) throws(StoreError) -> ObjectRow? {
        if self.isHidden(id) { return nil }
        let statement = try self.selectRow.get()
        defer { statement.reset() }
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return nil }
        return self.row(statement, id)
    }

    /// Writes an object as OBJECT has it, up to its values, and returns its kind. Returns `nil` and writes nothing if
    /// there is no such object in this table.
    func write(object id: ObjectID, into writer: inout ByteWriter) throws(StoreError) -> EntityLayout.Kind? {
        if self.isHidden(id) { return nil }
        let statement = try self.selectRow.get()
        defer { statement.reset() }
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return nil }
        let kind = self.layout.kind(self.entity(statement))
        writer.write(count: Int(kind.number.rawValue))
        writer.write(objectID: id)
        writer.write(revision: self.revision(statement, id))
        writer.write(count: self.layout.columns.indices.count { kind.slots.contains($0) })
        let first: Int32 = self.layout.hasKinds ? 2 : 1
        for (slot, column) in self.layout.columns.enumerated() where kind.slots.contains(slot) {
            writer.write(count: Int(self.layout.properties[slot].rawValue))
            statement.write(first + Int32(slot), column, into: &writer)
        }
        return kind
    }

    /// Returns the entity of the current row of a statement.
    private func entity(_ statement: Statement) -> EntityNumber {
        self.layout.hasKinds ? EntityNumber(UInt16(truncatingIfNeeded: statement.integer(1))) : self.layout.number
    }

    private func revision(_ statement: Statement, _ id: ObjectID) -> Revision {
        let stored = Revision(UInt64(clamping: statement.integer(0)))
        return self.connection.hasPreparedRows ? self.connection.preparedRows.revision(of: id, stored: stored) : stored
    }

    /// Returns the current row of a statement.
    private func row(_ statement: Statement, _ id: ObjectID) -> ObjectRow {
        let entity = self.entity(statement)
        let first: Int32 = self.layout.hasKinds ? 2 : 1
        let columns = self.layout.columns
        let values = statement.values(first, columns)
        var column = first + Int32(columns.count)
        var places = SparsePlaces(count: self.layout.placedSlots.count)
        for place in places.indices {
            places[place] = SparsePlace(
                position: statement.integer(column),
                stamp: UInt64(clamping: statement.integer(column + 1))
            )
            column += 2
        }
        return ObjectRow(entity: entity, revision: self.revision(statement, id), values: values, places: places)
    }

    /// Calls `body` with the rows of a range of ids, by id, until it returns `false`.
    func forEachRow(in ids: ClosedRange<Int64>, _ body: (ObjectID, ObjectRow) -> Bool) throws(StoreError) {
        let statement = try self.selectRows.get()
        defer { statement.reset() }
        statement.bind(1, ids.lowerBound)
        statement.bind(2, ids.upperBound)
        while try statement.step() {
            let id = statement.objectID(self.rowWidth)
            guard body(id, self.row(statement, id)) else { return }
        }
    }

    /// An object that existed when it was last looked up: consecutive writes often have the same owner. Cleared when
    /// the object is deleted, and on a rollback.
    private var lastFound: ObjectID?

    /// The end of the order to which an object was last appended.
    var lastEnd: OrderEnd?

    func forgetFound() {
        self.lastFound = nil
        self.lastEnd = nil
    }

    func exists(_ id: ObjectID) throws(StoreError) -> Bool {
        if self.isHidden(id) { return false }
        if id == self.lastFound { return true }
        let statement = try self.selectExists.get()
        defer { statement.reset() }
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return false }
        self.lastFound = id
        return true
    }

    /// Returns the content of a to-one slot of an object; `nil` if there is no such object in this table.
    func reference(_ slot: Int, of id: ObjectID) throws(StoreError) -> Reference? {
        if self.isHidden(id) { return nil }
        let statement = try self.selectReference[slot].get()
        defer { statement.reset() }
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return nil }
        return Reference(id: statement.value(0, .reference).referenceValue)
    }

    /// Returns the object's own entity, or `nil`.
    func entity(of id: ObjectID) throws(StoreError) -> EntityNumber? {
        guard self.layout.hasKinds else { return try self.exists(id) ? self.layout.number : nil }
        if self.isHidden(id) { return nil }
        let statement = try self.selectEntity.get()
        defer { statement.reset() }
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return nil }
        return EntityNumber(UInt16(truncatingIfNeeded: statement.integer(0)))
    }

    /// Returns the first two objects, by id, whose slots hold these values; null equals null. `entities`: only objects
    /// of these entities.
    func objects(
        where slots: [Int],
        equal values: [AttributeValue],
        entities: [EntityNumber]? = nil
    ) throws(StoreError) -> [ObjectID] {
        let entities = self.layout.hasKinds ? entities : nil
        let key = EqualKey(slots: slots, isNull: values.map(\.isNull), entities: entities)
        let hidden = self.connection.hidden
        let statement: Statement
        if hidden.isEmpty, let known = self.equals[key] {
            statement = known
        } else {
            let sql = self.sql.equal(slots, isNull: key.isNull, entities: entities, hidden: hidden)
            statement = try self.connection.statementForGraph(sql)
            if hidden.isEmpty { self.equals[key] = statement }
        }
        defer { statement.reset() }
        var parameter: Int32 = 1
        for value in values where !value.isNull {
            statement.bind(parameter, value)
            parameter += 1
        }
        var found: [ObjectID] = []
        while try statement.step() { found.append(statement.objectID(0)) }
        return found
    }

    /// Postpones the restoration of an object whose row is still there, hidden.
    func refuseHidden(_ id: ObjectID) throws(StoreError) {
        if self.isHidden(id) { throw .postponed(.preparation) }
    }

    private static func bind(_ statement: Statement, _ index: inout Int32, _ place: SparsePlace, isPlaced: Bool) {
        if isPlaced {
            statement.bind(index, place.position)
            statement.bind(index + 1, Int64(place.stamp))
        } else {
            statement.bindNull(index)
            statement.bindNull(index + 1)
        }
        index += 2
    }

    /// Writes the slots that differ, and the revision.
    func update(_ id: ObjectID, from old: ObjectRow, to new: ObjectRow) throws(StoreError) {
        var slots: [Int] = []
        var places: [Int] = []
        var key = UpdateKey()
        for slot in new.values.indices where !new.values.isSame(slot, as: old.values) {
            slots.append(slot)
            key.slots.insert(slot)
            if self.layout.placeOfSlot[slot] >= 0 { self.lastEnd = nil }
        }
        for place in new.places.indices where new.places[place] != old.places[place] {
            places.append(place)
            key.places.insert(place)
            self.lastEnd = nil
        }
        let statement: Statement
        if let last = self.lastUpdate, last.key == key {
            statement = last.statement
        } else if let known = self.updates[key] {
            statement = known
        } else {
            statement = try self.connection.prepare(self.sql.update(slots: slots, places: places))
            self.updates[key] = statement
        }
        self.lastUpdate = (key, statement)
        statement.bind(1, id.rawValue)
        statement.bind(2, Int64(new.revision.rawValue))
        var parameter: Int32 = 3
        for slot in slots {
            statement.bind(parameter, new.values[slot])
            parameter += 1
        }
        for place in places {
            let isPlaced = !new.values.isNull(self.layout.placedSlots[place])
            Self.bind(statement, &parameter, new.places[place], isPlaced: isPlaced)
        }
        try statement.run()
    }

    func delete(_ id: ObjectID) throws(StoreError) {
        if id == self.lastFound { self.lastFound = nil }
        if id == self.lastEnd?.id { self.lastEnd = nil }
        let statement = try self.deleteRow.get()
        statement.bind(1, id.rawValue)
        try statement.run()
    }

    /// Deletes the objects of a range of ids.
    func delete(_ ids: ClosedRange<Int64>) throws(StoreError) {
        self.forgetFound()
        let statement = try self.deleteRows.get()
        statement.bind(1, ids.lowerBound)
        statement.bind(2, ids.upperBound)
        try statement.run()
    }

    /// Gives the objects of a range of ids the revision of the write that inserted them.
    func stamp(_ ids: ClosedRange<Int64>, _ stamping: PreparedRows.Stamping) throws(StoreError) {
        try self.connection.statement(self.sql.stampRange).stamp(ids, stamping)
    }

    // MARK: Objects of one owner. A hidden owner has none: what is below it is hidden too.

    /// Calls `body` with owner and object for the owners of a range of ids, by owner, then in order; at most `limit`
    /// times.
    func forEach(
        ofOwners ids: ClosedRange<Int64>,
        slot: Int,
        limit: Int,
        _ body: (_ owner: ObjectID, ObjectID) -> Void
    ) throws(StoreError) {
        let statement = try self.selectOwnedByRange[slot].get()
        defer { statement.reset() }
        statement.bind(1, ids.lowerBound)
        statement.bind(2, ids.upperBound)
        statement.bind(3, Int64(limit))
        while try statement.step() { body(statement.objectID(0), statement.objectID(1)) }
    }

    /// Calls `body` with the objects that point to `owner` by `slot`, in order.
    func forEach(
        ofOwner owner: ObjectID,
        slot: Int,
        _ body: (ObjectID, _ position: Int64) throws(StoreError) -> Void
    ) throws(StoreError) {
        if self.isHidden(owner) { return }
        let statement = try self.selectOwned[slot].get()
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        while try statement.step() {
            try body(statement.objectID(0), statement.integer(1))
        }
    }

    /// Calls `body` with the objects that point to `owner` by `slot`, from the last to the first.
    func forEachReversed(ofOwner owner: ObjectID, slot: Int, _ body: (ObjectID) throws(StoreError) -> Void)
        throws(StoreError)
    {
        if self.isHidden(owner) { return }
        let statement = try self.selectOwnedReversed[slot].get()
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        while try statement.step() { try body(statement.objectID(0)) }
    }

    /// Returns a reader of pages of the objects of an owner, each with its projected values in the byte form.
    func pages(slot: Int, projection: [Int]) -> PageReader {
        PageReader(self.connection, self.layout, self.sql, slot: slot, projection: projection)
    }

    /// Returns one object's projected values in the byte form, or `nil`.
    func encodedValues(_ id: ObjectID, projection: [Int]) throws(StoreError) -> [UInt8]? {
        if self.isHidden(id) { return nil }
        let statement = try self.connection.statement(self.sql.values(projection))
        defer { statement.reset() }
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return nil }
        var writer = ByteWriter(capacity: 32)
        for (index, slot) in projection.enumerated() {
            statement.write(Int32(index), self.layout.columns[slot], into: &writer)
        }
        return writer.bytes
    }

    func count(ofOwner owner: ObjectID, slot: Int) throws(StoreError) -> Int {
        if self.isHidden(owner) { return 0 }
        let statement = try self.countOwned[slot].get()
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        _ = try statement.step()
        return Int(statement.integer(0))
    }

    /// Counts at most `limit` objects.
    func count(ofOwner owner: ObjectID, slot: Int, limit: Int) throws(StoreError) -> Int {
        if self.isHidden(owner) { return 0 }
        let statement = try self.countOwnedUpTo[slot].get()
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        statement.bind(2, Int64(limit))
        _ = try statement.step()
        return Int(statement.integer(0))
    }

    func hasObject(ofOwner owner: ObjectID, slot: Int) throws(StoreError) -> Bool {
        if self.isHidden(owner) { return false }
        let statement = try self.selectAnyOwned[slot].get()
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        return try statement.step()
    }

    // MARK: Sparse order

    enum Neighbour: Int, CaseIterable {
        case first
        case last
        case before
        case after
    }

    /// Returns the object at an end of an owner's order, or next to a position.
    func neighbour(
        _ which: Neighbour,
        owner: ObjectID,
        place: Int,
        position: Int64 = 0
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        if which == .last, let end = self.lastEnd, end.isOf(owner, place) { return (end.id, end.position) }
        let statement = try self.placeStatements[place].neighbours[which.rawValue].get()
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        if which == .before || which == .after { statement.bind(2, position) }
        guard try statement.step() else { return nil }
        let found = (id: statement.objectID(0), position: statement.integer(1))
        if which == .last {
            self.lastEnd = OrderEnd(owner: owner, place: place, id: found.id, position: found.position)
        }
        return found
    }

    /// Returns the objects of an owner with positions in a range, in order.
    func objects(
        ofOwner owner: ObjectID,
        place: Int,
        in range: ClosedRange<Int64>,
        limit: Int
    ) throws(StoreError) -> [(id: ObjectID, position: Int64)] {
        let statement = try self.placeStatements[place].range.get()
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        statement.bind(2, range.lowerBound)
        statement.bind(3, range.upperBound)
        statement.bind(4, Int64(limit))
        var objects: [(id: ObjectID, position: Int64)] = []
        while try statement.step() { objects.append((statement.objectID(0), statement.integer(1))) }
        return objects
    }

    /// Returns the object at an index of an owner's order. Ignores `excluding`. O(index).
    func object(
        at index: Int,
        ofOwner owner: ObjectID,
        place: Int,
        excluding: ObjectID?
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        let statement = try self.placeStatements[place].atIndex.get()
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        statement.bind(2, excluding?.rawValue ?? 0)
        statement.bind(3, Int64(index))
        guard try statement.step() else { return nil }
        return (statement.objectID(0), statement.integer(1))
    }

    /// Changes only a sparse position, which is not an edit.
    func reposition(_ id: ObjectID, place: Int, to position: Int64) throws(StoreError) {
        self.lastEnd = nil
        let statement = try self.placeStatements[place].reposition.get()
        statement.bind(1, id.rawValue)
        statement.bind(2, position)
        try statement.run()
    }
}

import NestModel

/// Reads and writes the rows of one entity's table.
struct EntityTable {
    let layout: EntityLayout
    private let connection: Connection
    private let table: String
    private let columns: [String]
    private let placeColumns: [String]
    private let selectSQL: String
    private let insertSQL: String
    private let deleteSQL: String
    private let existsSQL: String

    init(_ layout: EntityLayout, _ connection: Connection) {
        self.layout = layout
        self.connection = connection
        self.table = Schema.table(layout.entity)
        self.columns = layout.slots.map { slot in
            switch slot {
            case .attribute(let attribute): Schema.column(attribute.name)
            case .toOne(let relationship, _): Schema.column(relationship.name)
            }
        }
        self.placeColumns = layout.placedSlots.flatMap { slot -> [String] in
            guard case .toOne(let relationship, _) = layout.slots[slot] else { return [] }
            return [Schema.positionColumn(relationship), Schema.placedColumn(relationship)]
        }
        let all = ["nest_revision"] + self.columns + self.placeColumns
        self.selectSQL = "SELECT \(all.joined(separator: ", ")) FROM \(self.table) WHERE id = ?1"
        let marks = (0...all.count).map { "?\($0 + 1)" }.joined(separator: ", ")
        self.insertSQL = "INSERT INTO \(self.table) (id, \(all.joined(separator: ", "))) VALUES (\(marks))"
        self.deleteSQL = "DELETE FROM \(self.table) WHERE id = ?1"
        self.existsSQL = "SELECT 1 FROM \(self.table) WHERE id = ?1"
    }

    /// The whole row, or `nil` when there is no such object in this entity.
    func row(_ id: ObjectID) throws(StoreError) -> ObjectRow? {
        let statement = try self.connection.statement(self.selectSQL)
        defer { statement.reset() }
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return nil }
        return self.row(statement, firstColumn: 0)
    }

    private func row(_ statement: Statement, firstColumn: Int32) -> ObjectRow {
        var values: [AttributeValue] = []
        values.reserveCapacity(self.layout.slots.count)
        var column = firstColumn + 1
        for slot in self.layout.slots {
            values.append(statement.value(column, slot))
            column += 1
        }
        var places: [SparsePlace] = []
        places.reserveCapacity(self.layout.placedSlots.count)
        for _ in self.layout.placedSlots {
            places.append(
                SparsePlace(position: statement.integer(column), stamp: UInt64(statement.integer(column + 1))))
            column += 2
        }
        return ObjectRow(
            revision: Revision(UInt64(statement.integer(firstColumn))), values: values, places: places)
    }

    func exists(_ id: ObjectID) throws(StoreError) -> Bool {
        let statement = try self.connection.statement(self.existsSQL)
        defer { statement.reset() }
        statement.bind(1, id.rawValue)
        return try statement.step()
    }

    func insert(_ id: ObjectID, _ row: ObjectRow) throws(StoreError) {
        let statement = try self.connection.statement(self.insertSQL)
        statement.bind(1, id.rawValue)
        statement.bind(2, Int64(row.revision.rawValue))
        var index: Int32 = 3
        for value in row.values {
            statement.bind(index, value)
            index += 1
        }
        for (place, slot) in self.layout.placedSlots.enumerated() {
            self.bind(statement, &index, row.places[place], isPlaced: !row.values[slot].isNull)
        }
        try statement.run()
    }

    private func bind(_ statement: Statement, _ index: inout Int32, _ place: SparsePlace, isPlaced: Bool) {
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
        var sets = ["nest_revision = ?2"]
        var slots: [Int] = []
        var places: [Int] = []
        var index = 3
        for slot in new.values.indices where new.values[slot] != old.values[slot] {
            sets.append("\(self.columns[slot]) = ?\(index)")
            slots.append(slot)
            index += 1
        }
        for place in new.places.indices where new.places[place] != old.places[place] {
            sets.append("\(self.placeColumns[2 * place]) = ?\(index), \(self.placeColumns[2 * place + 1]) = ?\(index + 1)")
            places.append(place)
            index += 2
        }
        let statement = try self.connection.statement(
            "UPDATE \(self.table) SET \(sets.joined(separator: ", ")) WHERE id = ?1")
        statement.bind(1, id.rawValue)
        statement.bind(2, Int64(new.revision.rawValue))
        var parameter: Int32 = 3
        for slot in slots {
            statement.bind(parameter, new.values[slot])
            parameter += 1
        }
        for place in places {
            let isPlaced = !new.values[self.layout.placedSlots[place]].isNull
            self.bind(statement, &parameter, new.places[place], isPlaced: isPlaced)
        }
        try statement.run()
    }

    func delete(_ id: ObjectID) throws(StoreError) {
        let statement = try self.connection.statement(self.deleteSQL)
        statement.bind(1, id.rawValue)
        try statement.run()
    }

    // MARK: Objects of one owner

    /// Calls `body` with the objects that point to `owner` by `slot`, in order; with the wanted slots in the byte form of
    /// values when `projection` is given.
    func forEach(
        ofOwner owner: ObjectID,
        slot: Int,
        _ body: (ObjectID, _ position: Int64) throws -> Void
    ) throws {
        let (column, position) = self.orderColumns(slot)
        let statement = try self.connection.statement(
            "SELECT id, \(position ?? "0") FROM \(self.table) WHERE \(column) = ?1 ORDER BY \(position ?? "id")")
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        while try statement.step() {
            try body(statement.objectID(0), statement.integer(1))
        }
    }

    /// Writes id and projected values of the rows of one owner, in order, as `ByteWriter.write(row:)` does; asks `body`
    /// after each.
    func writeRows(
        ofOwner owner: ObjectID,
        slot: Int,
        projection: [Int],
        into writer: inout ByteWriter,
        _ body: (ObjectID, inout ByteWriter) throws -> Void
    ) throws {
        let (column, position) = self.orderColumns(slot)
        let columns = projection.map { ", " + self.columns[$0] }.joined()
        let statement = try self.connection.statement(
            "SELECT id\(columns) FROM \(self.table) WHERE \(column) = ?1 ORDER BY \(position ?? "id")")
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        while try statement.step() {
            let id = statement.objectID(0)
            writer.write(objectID: id)
            for (index, slot) in projection.enumerated() {
                statement.write(Int32(index + 1), self.layout.slots[slot], into: &writer)
            }
            try body(id, &writer)
        }
    }

    /// Up to `limit` objects of an owner after a position, in order, each with its projected values in the byte form.
    func page(
        ofOwner owner: ObjectID,
        slot: Int,
        after previous: (position: Int64, id: ObjectID)?,
        limit: Int,
        projection: [Int]
    ) throws(StoreError) -> [(id: ObjectID, position: Int64, values: [UInt8])] {
        let (column, position) = self.orderColumns(slot)
        let columns = projection.map { ", " + self.columns[$0] }.joined()
        let order = position ?? "id"
        let start = previous == nil ? "" : "AND \(order) > ?3 "
        let statement = try self.connection.statement(
            "SELECT id, \(order)\(columns) FROM \(self.table) WHERE \(column) = ?1 \(start)ORDER BY \(order) LIMIT ?2")
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        statement.bind(2, Int64(limit))
        if let previous { statement.bind(3, previous.position) }
        var page: [(id: ObjectID, position: Int64, values: [UInt8])] = []
        while try statement.step() {
            var writer = ByteWriter(capacity: 32)
            for (index, slot) in projection.enumerated() {
                statement.write(Int32(index + 2), self.layout.slots[slot], into: &writer)
            }
            page.append((statement.objectID(0), statement.integer(1), writer.bytes))
        }
        return page
    }

    /// One object's projected values in the byte form, or `nil`.
    func encodedValues(_ id: ObjectID, projection: [Int]) throws(StoreError) -> [UInt8]? {
        let columns = projection.isEmpty ? "1" : projection.map { self.columns[$0] }.joined(separator: ", ")
        let statement = try self.connection.statement("SELECT \(columns) FROM \(self.table) WHERE id = ?1")
        defer { statement.reset() }
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return nil }
        var writer = ByteWriter(capacity: 32)
        for (index, slot) in projection.enumerated() {
            statement.write(Int32(index), self.layout.slots[slot], into: &writer)
        }
        return writer.bytes
    }

    func count(ofOwner owner: ObjectID, slot: Int) throws(StoreError) -> Int {
        let statement = try self.connection.statement(
            "SELECT count(*) FROM \(self.table) WHERE \(self.columns[slot]) = ?1")
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        _ = try statement.step()
        return Int(statement.integer(0))
    }

    func hasObject(ofOwner owner: ObjectID, slot: Int) throws(StoreError) -> Bool {
        let statement = try self.connection.statement(
            "SELECT 1 FROM \(self.table) WHERE \(self.columns[slot]) = ?1 LIMIT 1")
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        return try statement.step()
    }

    private func orderColumns(_ slot: Int) -> (column: String, position: String?) {
        let place = self.layout.placedSlots.firstIndex(of: slot)
        return (self.columns[slot], place.map { self.placeColumns[2 * $0] })
    }

    // MARK: Sparse order

    enum Neighbour: String {
        case first = "ORDER BY ?p ASC"
        case last = "ORDER BY ?p DESC"
        case before = "AND ?p < ?2 ORDER BY ?p DESC"
        case after = "AND ?p > ?2 ORDER BY ?p ASC"
    }

    /// The object at an end of an owner's order, or next to a position.
    func neighbour(
        _ which: Neighbour,
        owner: ObjectID,
        place: Int,
        position: Int64 = 0
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        let column = self.columns[self.layout.placedSlots[place]]
        let order = self.placeColumns[2 * place]
        let tail = which.rawValue.split(separator: "?p", omittingEmptySubsequences: false).joined(separator: order)
        let statement = try self.connection.statement(
            "SELECT id, \(order) FROM \(self.table) WHERE \(column) = ?1 \(tail) LIMIT 1")
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        if which == .before || which == .after { statement.bind(2, position) }
        guard try statement.step() else { return nil }
        return (statement.objectID(0), statement.integer(1))
    }

    /// The objects of an owner with positions in a range, in order.
    func objects(
        ofOwner owner: ObjectID,
        place: Int,
        in range: ClosedRange<Int64>,
        limit: Int
    ) throws(StoreError) -> [(id: ObjectID, position: Int64)] {
        let column = self.columns[self.layout.placedSlots[place]]
        let order = self.placeColumns[2 * place]
        let statement = try self.connection.statement(
            """
            SELECT id, \(order) FROM \(self.table) WHERE \(column) = ?1 AND \(order) BETWEEN ?2 AND ?3
            ORDER BY \(order) LIMIT ?4
            """)
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        statement.bind(2, range.lowerBound)
        statement.bind(3, range.upperBound)
        statement.bind(4, Int64(limit))
        var objects: [(id: ObjectID, position: Int64)] = []
        while try statement.step() { objects.append((statement.objectID(0), statement.integer(1))) }
        return objects
    }

    /// The object at an index of an owner's order, not counting `excluding`. O(index).
    func object(
        at index: Int,
        ofOwner owner: ObjectID,
        place: Int,
        excluding: ObjectID?
    ) throws(StoreError) -> (id: ObjectID, position: Int64)? {
        let column = self.columns[self.layout.placedSlots[place]]
        let order = self.placeColumns[2 * place]
        let statement = try self.connection.statement(
            """
            SELECT id, \(order) FROM \(self.table) WHERE \(column) = ?1 AND id <> ?2 ORDER BY \(order)
            LIMIT 1 OFFSET ?3
            """)
        defer { statement.reset() }
        statement.bind(1, owner.rawValue)
        statement.bind(2, excluding?.rawValue ?? 0)
        statement.bind(3, Int64(index))
        guard try statement.step() else { return nil }
        return (statement.objectID(0), statement.integer(1))
    }

    /// Changes a sparse position, and nothing else: no edit.
    func reposition(_ id: ObjectID, place: Int, to position: Int64) throws(StoreError) {
        let statement = try self.connection.statement(
            "UPDATE \(self.table) SET \(self.placeColumns[2 * place]) = ?2 WHERE id = ?1")
        statement.bind(1, id.rawValue)
        statement.bind(2, position)
        try statement.run()
    }
}

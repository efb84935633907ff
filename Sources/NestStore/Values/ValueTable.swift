import NestModel
import NestProtocol
import NestSchema

/// The tables of large values. A value never changes. First it is *staged*: only its session may set it. From then on
/// it belongs to one property of one object: it is *held*, or *freed* since the revision that took its place. Undo
/// restores a freed value, because the journal has its `LargeValue`.
///
/// A store has the tables if its model has large values, or had them. An older nestd cannot read such a model.
package struct ValueTable {
    let connection: Connection

    /// What may set a value.
    enum Setter {
        /// A request of a session: values that it has staged, and those that the property had before and that a
        /// revision after `base` has freed.
        case session(UInt64, base: Revision)
        /// A part of a request that only restores objects.
        case restoration
        /// A record of the cluster's log: what its writer has checked.
        case record
    }

    /// A row of the table before an object has the value.
    package struct Row: Equatable, Sendable {
        package var session: UInt64
        package var type: AttributeType
        package var value: LargeValue
        /// Microseconds since 1970-01-01 UTC.
        package var staged: Int64

        package init(session: UInt64, type: AttributeType, value: LargeValue, staged: Int64) {
            self.session = session
            self.type = type
            self.value = value
            self.staged = staged
        }
    }

    init(_ connection: Connection) {
        self.connection = connection
    }

    static func create(_ connection: Connection) throws(StoreError) {
        for sql in self.statements { try connection.execute(sql) }
    }

    private static let statements = [
        // `object` and `property` are set once, `freed` by every change. `descriptor` is empty while the value arrives.
        """
        CREATE TABLE IF NOT EXISTS nest_value (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            session INTEGER NOT NULL,
            type INTEGER NOT NULL,
            length INTEGER NOT NULL,
            descriptor BLOB NOT NULL,
            object INTEGER,
            property INTEGER,
            staged INTEGER NOT NULL,
            freed INTEGER
        ) STRICT
        """,
        """
        CREATE TABLE IF NOT EXISTS nest_value_piece (
            id INTEGER NOT NULL,
            number INTEGER NOT NULL,
            bytes BLOB NOT NULL,
            PRIMARY KEY (id, number)
        ) STRICT, WITHOUT ROWID
        """,
        "CREATE INDEX IF NOT EXISTS nest_value_holder ON nest_value (object, property)",
        "CREATE INDEX IF NOT EXISTS nest_value_freed ON nest_value (freed, length) WHERE freed NOTNULL",
        "CREATE INDEX IF NOT EXISTS nest_value_staged ON nest_value (session) WHERE object ISNULL",
        "CREATE INDEX IF NOT EXISTS nest_value_unset ON nest_value (staged, length) WHERE object ISNULL",
    ]

    static func isThere(_ connection: Connection) throws(StoreError) -> Bool {
        let statement = try connection.statement("SELECT 1 FROM sqlite_schema WHERE name = 'nest_value'")
        defer { statement.reset() }
        return try statement.step()
    }

    // MARK: Staging

    /// Returns the number of the next value. No number is used twice.
    func nextID() throws(StoreError) -> Int64 {
        let statement = try self.connection.statement("SELECT seq FROM sqlite_sequence WHERE name = 'nest_value'")
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) + 1 : 1
    }

    /// Writes a part of a value. Throws a refusal if the session has lost the parts before it: it has sent too many
    /// values meanwhile, or was forgotten.
    func write(_ part: ValuePart) throws(StoreError) {
        if part.first == 0 {
            try self.insert(part.row, isWhole: part.isLast)
        } else if !(try self.isArriving(part.row)) {
            throw .refused(
                .limitExceeded,
                "the session has sent \(Limits.stagedValuesPerSessionMax) other large values before this one was "
                    + "complete: send fewer at a time"
            )
        }
        for (index, piece) in part.pieces.enumerated() {
            try self.insertPiece(part.row.value.id, part.first + index, piece)
        }
        guard part.isLast, part.first > 0 else { return }
        let statement = try self.connection.statement("UPDATE nest_value SET descriptor = ?2 WHERE id = ?1")
        statement.bind(1, part.row.value.id)
        statement.bind(2, blob: part.row.value.bytes)
        try statement.run()
    }

    private func isArriving(_ row: Row) throws(StoreError) -> Bool {
        let statement = try self.connection.statement(
            "SELECT 1 FROM nest_value WHERE id = ?1 AND session = ?2 AND object ISNULL AND descriptor = x''"
        )
        defer { statement.reset() }
        statement.bind(1, row.value.id)
        statement.bind(2, Int64(clamping: row.session))
        return try statement.step()
    }

    /// Throws a refusal if the values that no object has yet are more than a store may hold.
    func requireRoomForStaged() throws(StoreError) {
        let statement = try self.connection.statement(
            "SELECT count(*), ifnull(sum(length), 0) FROM nest_value WHERE object ISNULL"
        )
        defer { statement.reset() }
        guard try statement.step() else { return }
        let (count, bytes) = (statement.integer(0), statement.integer(1))
        guard count > Limits.stagedValuesMax || bytes > Limits.stagedValueBytesMax else { return }
        throw .refused(
            .limitExceeded,
            "the store holds large values that no object has yet: at most \(Limits.stagedValuesMax) with "
                + "\(Limits.stagedValueBytesMax) bytes; set them, or send this one later: each is dropped "
                + "\(Limits.stagedValueSeconds / 3_600) hours after it was sent"
        )
    }

    /// Inserts a staged value, without its pieces. The session loses its oldest staged ones if it has too many.
    func insert(_ row: Row, isWhole: Bool = true) throws(StoreError) {
        let statement = try self.connection.statement(
            "INSERT INTO nest_value (id, session, type, length, descriptor, staged) VALUES (?1, ?2, ?3, ?4, ?5, ?6)"
        )
        statement.bind(1, row.value.id)
        statement.bind(2, Int64(clamping: row.session))
        statement.bind(3, Int64(row.type.rawValue))
        statement.bind(4, Int64(row.value.length))
        statement.bind(5, blob: isWhole ? row.value.bytes : [])
        statement.bind(6, row.staged)
        try statement.run()
        let surplus = try self.connection.statement(
            "SELECT id FROM nest_value WHERE session = ?1 AND object ISNULL ORDER BY id DESC LIMIT -1 OFFSET ?2"
        )
        surplus.bind(1, Int64(clamping: row.session))
        surplus.bind(2, Int64(Limits.stagedValuesPerSessionMax))
        try self.delete(surplus)
    }

    func insertPiece(_ id: Int64, _ number: Int, _ bytes: [UInt8]) throws(StoreError) {
        let statement = try self.connection.statement(
            "INSERT INTO nest_value_piece (id, number, bytes) VALUES (?1, ?2, ?3)"
        )
        statement.bind(1, id)
        statement.bind(2, Int64(number))
        statement.bind(3, blob: bytes)
        try statement.run()
    }

    // MARK: Setting

    /// Follows the change of an object in the open transaction. Returns the slot of a value that may not be set there;
    /// `nil` if there is none. `revision`: that of the change.
    func follow(
        _ object: ChangedRow,
        _ layout: EntityLayout,
        _ revision: Revision,
        by setter: Setter
    ) throws(StoreError) -> Int? {
        for slot in layout.largeSlots {
            let before = object.before?.values[slot] ?? .null
            let after = object.after?.values[slot] ?? .null
            guard before != after, case .attribute(let attribute) = layout.slots[slot] else { continue }
            if let value = LargeValue(before) { try self.free(value, revision) }
            guard !after.isNull else { continue }
            guard let value = LargeValue(after), try self.hold(value, object.id, attribute, by: setter) else {
                return slot
            }
        }
        return nil
    }

    private func free(_ value: LargeValue, _ revision: Revision) throws(StoreError) {
        let statement = try self.connection.statement("UPDATE nest_value SET freed = ?2 WHERE id = ?1")
        statement.bind(1, value.id)
        statement.bind(2, Int64(clamping: revision.rawValue))
        try statement.run()
    }

    /// Gives a value to a property of an object. Returns `false` if the property may not have it.
    private func hold(
        _ value: LargeValue,
        _ object: ObjectID,
        _ attribute: AttributeDescription,
        by setter: Setter
    ) throws(StoreError) -> Bool {
        let found = try self.connection.statement(
            "SELECT session, type, object, property, freed FROM nest_value WHERE id = ?1 AND descriptor = ?2"
        )
        found.bind(1, value.id)
        found.bind(2, blob: value.bytes)
        guard try found.step() else {
            found.reset()
            return false
        }
        let (session, type, isStaged) = (found.integer(0), found.integer(1), found.isNull(2))
        let (holder, property) = (found.integer(2), found.integer(3))
        let freed = found.isNull(4) ? nil : found.integer(4)
        found.reset()
        guard type == Int64(attribute.type.rawValue) else { return false }
        if !isStaged {
            guard holder == object.rawValue, property == Int64(attribute.number.rawValue), let freed else {
                return false
            }
            // What only dropped history could restore is going to be deleted.
            if case .session(_, let base) = setter, freed <= Int64(clamping: base.rawValue) { return false }
            let statement = try self.connection.statement("UPDATE nest_value SET freed = NULL WHERE id = ?1")
            statement.bind(1, value.id)
            try statement.run()
            return true
        }
        switch setter {
        case .session(let own, _): guard session == Int64(clamping: own) else { return false }
        case .restoration: return false
        case .record: break
        }
        let statement = try self.connection.statement(
            "UPDATE nest_value SET object = ?2, property = ?3 WHERE id = ?1"
        )
        statement.bind(1, value.id)
        statement.bind(2, object.rawValue)
        statement.bind(3, Int64(attribute.number.rawValue))
        try statement.run()
        return true
    }

    /// Inserts a value that an object has from the beginning.
    func adopt(_ bytes: [UInt8], _ attribute: AttributeDescription, of object: ObjectID) throws(StoreError)
        -> LargeValue
    {
        var hash = RunningHash()
        hash.update(bytes)
        let value = LargeValue(id: try self.nextID(), length: bytes.count, digest: hash.finishWhole())
        try self.insert(Row(session: 0, type: attribute.type, value: value, staged: 0))
        for (number, start) in stride(from: 0, to: bytes.count, by: Limits.largeValuePieceBytes).enumerated() {
            let end = min(start + Limits.largeValuePieceBytes, bytes.count)
            try self.insertPiece(value.id, number, Array(bytes[start..<end]))
        }
        _ = try self.hold(value, object, attribute, by: .session(0, base: Revision(0)))
        return value
    }

    // MARK: Deleting

    /// Which values can no longer be set or restored: those freed up to a revision, and those staged before a time that
    /// no object has.
    struct Unreachable {
        let revision: Revision
        let stagedBefore: Int64
    }

    /// Whether there are values to drop.
    func has(_ unreachable: Unreachable) throws(StoreError) -> Bool {
        let statement = try self.connection.statement(
            """
            SELECT EXISTS (SELECT 1 FROM nest_value WHERE freed <= ?1)
                OR EXISTS (SELECT 1 FROM nest_value WHERE object ISNULL AND staged < ?2)
            """
        )
        defer { statement.reset() }
        statement.bind(1, Int64(clamping: unreachable.revision.rawValue))
        statement.bind(2, unreachable.stagedBefore)
        return try statement.step() && statement.integer(0) != 0
    }

    /// Deletes unreachable values, the longest unreachable ones first: at most `Limits.droppedValuesMax`, and none more
    /// when they have `Limits.droppedValueBytesMax`. What is deleted depends on the table alone: every node of a
    /// cluster deletes the same.
    func drop(_ unreachable: Unreachable) throws(StoreError) {
        var (countLeft, bytesLeft) = (Limits.droppedValuesMax, Int64(Limits.droppedValueBytesMax))
        for (sql, bound) in [
            (
                "SELECT id, length FROM nest_value WHERE freed <= ?1 ORDER BY freed, length, id LIMIT ?2",
                Int64(clamping: unreachable.revision.rawValue)
            ),
            (
                "SELECT id, length FROM nest_value WHERE object ISNULL AND staged < ?1 "
                    + "ORDER BY staged, length, id LIMIT ?2",
                unreachable.stagedBefore
            ),
        ] {
            let statement = try self.connection.statement(sql)
            statement.bind(1, bound)
            statement.bind(2, Int64(countLeft))
            var ids: [Int64] = []
            while bytesLeft > 0, try statement.step() {
                ids.append(statement.integer(0))
                bytesLeft -= statement.integer(1)
            }
            statement.reset()
            try self.delete(ids)
            countLeft -= ids.count
        }
    }

    /// Deletes a value that has not arrived completely.
    func dropArriving(_ id: Int64) throws(StoreError) {
        let statement = try self.connection.statement(
            "SELECT id FROM nest_value WHERE id = ?1 AND object ISNULL AND descriptor = x''"
        )
        statement.bind(1, id)
        try self.delete(statement)
    }

    /// Deletes the values that a session has staged and not set: only it could set them.
    func drop(stagedBy session: UInt64) throws(StoreError) {
        let statement = try self.connection.statement("SELECT id FROM nest_value WHERE session = ?1 AND object ISNULL")
        statement.bind(1, Int64(clamping: session))
        try self.delete(statement)
    }

    /// Deletes all values: the model has none any more, and its history was pruned.
    func deleteAll() throws(StoreError) {
        try self.connection.execute("DELETE FROM nest_value_piece")
        try self.connection.execute("DELETE FROM nest_value")
    }

    /// Deletes the values that a statement returns.
    private func delete(_ statement: Statement) throws(StoreError) {
        var ids: [Int64] = []
        while try statement.step() { ids.append(statement.integer(0)) }
        statement.reset()
        try self.delete(ids)
    }

    private func delete(_ ids: [Int64]) throws(StoreError) {
        for id in ids {
            for sql in ["DELETE FROM nest_value_piece WHERE id = ?1", "DELETE FROM nest_value WHERE id = ?1"] {
                let statement = try self.connection.statement(sql)
                statement.bind(1, id)
                try statement.run()
            }
        }
    }

    /// Deletes the values that no object has any more, because a model has lost their property or its entity. Freed
    /// ones go with the journal.
    func dropLost(_ layout: ModelLayout) throws(StoreError) {
        var terms: [String] = []
        for table in layout.entities {
            let sql = EntitySQL(table)
            for slot in table.largeSlots {
                let property = table.properties[slot].rawValue
                terms.append(
                    "EXISTS (SELECT 1 FROM \(sql.table) t WHERE nest_value.property = \(property) "
                        + "AND t.id = nest_value.object AND t.\(sql.columns[slot]) = nest_value.descriptor)"
                )
            }
        }
        let isHad = terms.isEmpty ? "FALSE" : terms.joined(separator: " OR ")
        try self.delete(
            try self.connection.statement(
                "SELECT id FROM nest_value WHERE object NOTNULL AND freed ISNULL AND NOT (\(isHad))"
            )
        )
    }

    /// Returns the bytes of the values that were freed after a revision, and up to another one: they count as a part of
    /// the journal.
    func freedBytes(after base: Revision, through last: Revision = Revision(.max)) throws(StoreError) -> Int64 {
        let statement = try self.connection.statement(
            "SELECT ifnull(sum(length), 0) FROM nest_value WHERE freed > ?1 AND freed <= ?2"
        )
        defer { statement.reset() }
        statement.bind(1, Int64(clamping: base.rawValue))
        statement.bind(2, Int64(clamping: last.rawValue))
        return try statement.step() ? statement.integer(0) : 0
    }

    // MARK: Reading

    /// Calls `body` with the pieces of a value from a number on, in order, one at a time.
    func forEachPiece(
        of id: Int64,
        from first: Int = 0,
        _ body: (_ number: Int, [UInt8]) throws(StoreError) -> Void
    ) throws(StoreError) {
        let statement = try self.connection.prepare(
            "SELECT number, bytes FROM nest_value_piece WHERE id = ?1 AND number >= ?2 ORDER BY number"
        )
        defer { statement.reset() }
        statement.bind(1, id)
        statement.bind(2, Int64(first))
        while try statement.step() { try body(Int(statement.integer(0)), statement.blob(1)) }
    }
}

import NestModel
import NestSchema

/// Creates stores, and distinguishes them from other files.
extension Store {
    /// Creates the store under a temporary name, and renames it when it is complete: a crash leaves either no store or
    /// a complete one.
    static func create(_ path: String, _ model: ManagedObjectModel, historyID: Identifier128) throws(StoreError) {
        let partial = path + ".being-made"
        StoreFile.removePartial(partial)
        do {
            let connection = try Connection(path: partial, role: .copy)
            defer { try? connection.close() }
            try connection.access { () throws(StoreError) in
                let layout = ModelLayout(model)
                let tables = layout.entities.map { EntityTable($0, connection) }
                try connection.execute("BEGIN IMMEDIATE")
                try self.fill(connection, layout, tables, historyID: historyID)
                try connection.execute("COMMIT")
            }
            try connection.close()
            StoreFile.handOver(partial)
            Failpoint.storeMade.pass()
            try StoreFile.publish(partial, as: path)
            Failpoint.storeNamed.pass()
        } catch {
            StoreFile.removePartial(partial)
            throw error
        }
    }

    private static func fill(
        _ connection: Connection,
        _ layout: ModelLayout,
        _ tables: [EntityTable],
        historyID: Identifier128
    ) throws(StoreError) {
        try self.makeOwnTables(connection, layout, historyID: historyID)
        for sql in Schema.statements(layout) { try connection.execute(sql) }
        var nextObjectID: Int64 = 1
        for table in tables { nextObjectID = max(nextObjectID, try self.insertRoot(table)) }
        try self.beginJournal(connection, nextObjectID: nextObjectID)
    }

    /// Makes what a store has besides the tables of the model.
    static func makeOwnTables(
        _ connection: Connection,
        _ layout: ModelLayout,
        historyID: Identifier128
    ) throws(StoreError) {
        try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
        try connection.execute("PRAGMA user_version = \(Schema.version)")
        for sql in Schema.ownTables { try connection.execute(sql) }
        try self.setHistoryID(connection, historyID)
        try self.writeModel(connection, layout.model)
        try self.writeEntities(connection, layout.model)
    }

    /// Inserts the root object of a table, if it has one. Returns the first id after it, or 1.
    static func insertRoot(_ table: EntityTable) throws(StoreError) -> Int64 {
        guard let root = table.layout.root else { return 1 }
        try table.insert(root.object, self.rootRow(table.layout))
        return root.object.rawValue + 1
    }

    /// Writes the state before the first transaction: revision 0. Its row holds the next object id.
    static func beginJournal(_ connection: Connection, nextObjectID: Int64) throws(StoreError) {
        let statement = try connection.statement(
            """
            INSERT INTO nest_journal (last_revision, first_revision, next_object_id, time, headers, changes)
            VALUES (0, 1, ?1, 0, x'00', x'00')
            """
        )
        statement.bind(1, nextObjectID)
        try statement.run()
    }

    /// Returns the row of a root object. It has the defaults of its attributes, "" for a required string, and no owner.
    private static func rootRow(_ layout: EntityLayout) -> ObjectRow {
        ObjectRow(
            entity: layout.number,
            revision: Revision(0),
            values: layout.slots.map { slot in
                guard case .attribute(let attribute) = slot else { return .null }
                let isBlank = attribute.defaultValue.isNull && !attribute.isOptional && attribute.type == .string
                // The root exists before any transaction: its time is 0.
                if attribute.defaultsToNow { return attribute.isOptional ? .null : .date(0) }
                return isBlank ? .string("") : attribute.kept(attribute.defaultValue)
            },
            places: SparsePlaces(count: layout.placedSlots.count)
        )
    }

    /// Refuses a file that is not a store of nest, or has another format, without changing it.
    static func refuseStrangers(_ path: String) throws(StoreError) {
        let connection = try Connection(path: path, role: .reader)
        defer { try? connection.close() }
        try connection.access { () throws(StoreError) in _ = try self.storedModel(connection, path: path) }
    }

    /// Returns the model of a store. Refuses a file that is not a store of nest.
    static func storedModel(_ connection: Connection, path: String) throws(StoreError) -> ManagedObjectModel {
        let application = try self.pragma(connection, "application_id")
        guard application == Schema.applicationID else {
            throw .notAStore(path: path, reason: "it is an SQLite file of another program")
        }
        try Schema.checkVersion(self.pragma(connection, "user_version"), path: path)
        guard let bytes = try self.meta(connection, "model") else {
            throw .corrupt(path: path, reason: "its model is missing")
        }
        let stored: ManagedObjectModel
        do {
            stored = try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try reader.model() }
        } catch {
            throw .corrupt(path: path, reason: "its model cannot be read: \(error)")
        }
        guard stored.faults.isEmpty else {
            throw .corrupt(path: path, reason: "its model is inconsistent: \(stored.faults[0])")
        }
        return stored
    }

    /// Upgrades a store of an older format, in one transaction. An older nestd cannot open it afterwards.
    static func bringUpToDate(_ connection: Connection) throws(StoreError) {
        let version = try self.pragma(connection, "user_version")
        guard version < Schema.version else { return }
        try connection.execute("BEGIN IMMEDIATE")
        do {
            let statements =
                (version < 3 ? Schema.fromFormat2 : []) + (version < 4 ? Schema.fromFormat3 : [])
                + Schema.fromFormat9 + [Schema.setVersion(from: version)]
            for sql in statements { try connection.execute(sql) }
            try connection.execute("COMMIT")
        } catch {
            try connection.rollBack()
            throw error
        }
    }

    static func writeModel(_ connection: Connection, _ model: ManagedObjectModel) throws(StoreError) {
        var bytes = ByteWriter()
        bytes.write(model: model)
        try self.setMeta(connection, "model", bytes.bytes)
    }

    /// The key of the numbers of parts that earlier models had.
    static let usedNumbersKey = "used_numbers"

    /// Returns the numbers of parts that earlier models of the store had.
    static func usedNumbers(_ connection: Connection, path: String) throws(StoreError) -> ModelNumbers {
        guard let bytes = try self.meta(connection, self.usedNumbersKey) else { return ModelNumbers() }
        do {
            return try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try reader.modelNumbers() }
        } catch {
            throw .corrupt(path: path, reason: "the numbers of its earlier models cannot be read: \(error)")
        }
    }

    /// Fills the table of the entities' names, which is for people who read the file.
    static func writeEntities(_ connection: Connection, _ model: ManagedObjectModel) throws(StoreError) {
        for entity in model.entities {
            let statement = try connection.statement("INSERT INTO nest_entity (number, name) VALUES (?1, ?2)")
            statement.bind(1, Int64(entity.number.rawValue))
            statement.bind(2, text: entity.name)
            try statement.run()
        }
    }

    /// The key that marks a copy of a store. A store made from the copy gets its own history id.
    private static let copyMark = "is_copy"

    /// Marks a copy of a store, which leaves the store's cluster. The copy must not be in use.
    static func markAsCopy(_ path: String) throws(StoreError) {
        let connection = try Connection(path: path, role: .copy)
        defer { try? connection.close() }
        try connection.access { () throws(StoreError) in
            try connection.execute("BEGIN IMMEDIATE")
            try self.setMeta(connection, self.copyMark, [])
            try LogTable.drop(connection)
            try connection.execute("COMMIT")
        }
    }

    /// Gives a copied store a new history id when it is first opened, because two stores must not share the names of
    /// their states. This happens before the file has a write-ahead log, so that the file alone shows whether a log is
    /// its own. Returns the history of which it is a copy; `nil` if it is none.
    static func beginHistoryOfCopy(
        _ path: String,
        _ newHistoryID: Identifier128,
        hasLog: Bool
    ) throws(StoreError) -> Identifier128? {
        let connection = try Connection(path: path, role: .copy)
        defer { try? connection.close() }
        let former = try connection.access { () throws(StoreError) -> Identifier128? in
            _ = try self.storedModel(connection, path: path)
            guard try self.meta(connection, self.copyMark) != nil else { return nil }
            guard !hasLog else { throw LogMembership.ordinary(path) }
            let former = try self.historyID(connection, path: path)
            try connection.execute("BEGIN IMMEDIATE")
            do throws(StoreError) {
                try self.setHistoryID(connection, newHistoryID)
                try connection.execute("DELETE FROM nest_meta WHERE key = '\(self.copyMark)'")
                try connection.execute("COMMIT")
            } catch {
                try connection.rollBack()
                throw error
            }
            return former
        }
        try connection.close()
        Failpoint.copyBegun.pass()
        return former
    }

    static func setHistoryID(_ connection: Connection, _ historyID: Identifier128) throws(StoreError) {
        var id = ByteWriter()
        id.write(identifier: historyID)
        try self.setMeta(connection, "history_id", id.bytes)
    }

    static func historyID(_ connection: Connection, path: String) throws(StoreError) -> Identifier128 {
        guard let bytes = try self.meta(connection, "history_id"),
            let id = try? ByteReader.read(
                bytes,
                { (reader) throws(DecodingFailure) in try reader.identifier("history id") }
            )
        else { throw .corrupt(path: path, reason: "its history id is missing") }
        return id
    }

    static func pragma(_ connection: Connection, _ name: String) throws(StoreError) -> Int64 {
        let statement = try connection.statement("PRAGMA \(name)")
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    static func meta(_ connection: Connection, _ key: String) throws(StoreError) -> [UInt8]? {
        let statement = try connection.statement("SELECT value FROM nest_meta WHERE key = ?1")
        defer { statement.reset() }
        statement.bind(1, text: key)
        return try statement.step() ? statement.blob(0) : nil
    }

    static func setMeta(_ connection: Connection, _ key: String, _ value: [UInt8]) throws(StoreError) {
        let statement = try connection.statement("INSERT OR REPLACE INTO nest_meta (key, value) VALUES (?1, ?2)")
        statement.bind(1, text: key)
        statement.bind(2, blob: value)
        try statement.run()
    }
}

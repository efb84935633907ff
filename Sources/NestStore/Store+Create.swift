import NestModel

/// Making a store, and telling one from other files.
extension Store {
    static func create(
        _ connection: Connection,
        _ layout: ModelLayout,
        _ tables: [EntityTable],
        historyID: Identifier128
    ) throws {
        try connection.execute("BEGIN IMMEDIATE")
        do {
            try connection.execute("PRAGMA application_id = \(Schema.applicationID)")
            try connection.execute("PRAGMA user_version = \(Schema.version)")
            for sql in Schema.ownTables + Schema.statements(layout) { try connection.execute(sql) }
            var id = ByteWriter()
            id.write(identifier: historyID)
            try self.setMeta(connection, "history_id", id.bytes)
            try self.writeModel(connection, layout.model)
            try self.writeEntities(connection, layout.model)
            var nextObjectID: Int64 = 1
            for table in tables {
                guard let root = table.layout.root else { continue }
                try table.insert(root.object, self.rootRow(table.layout))
                nextObjectID = max(nextObjectID, root.object.rawValue + 1)
            }
            // The state before the first transaction is revision 0; its row carries the next id.
            let statement = try connection.statement(
                """
                INSERT INTO nest_journal (last_revision, first_revision, next_object_id, time, headers, changes)
                VALUES (0, 1, ?1, 0, x'00', x'00')
                """
            )
            statement.bind(1, nextObjectID)
            try statement.run()
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try connection.execute("ROLLBACK") }
            throw error
        }
    }

    /// A root has the defaults of its attributes, "" for a required string, and no owner.
    private static func rootRow(_ layout: EntityLayout) -> ObjectRow {
        ObjectRow(
            entity: layout.number,
            revision: Revision(0),
            values: layout.slots.map { slot in
                guard case .attribute(let attribute) = slot else { return .null }
                let isBlank = attribute.defaultValue.isNull && !attribute.isOptional && attribute.type == .string
                // A root is there from the beginning of time.
                if attribute.defaultsToNow { return attribute.isOptional ? .null : .date(0) }
                return isBlank ? .string("") : attribute.kept(attribute.defaultValue)
            },
            places: [SparsePlace](repeating: .none, count: layout.placedSlots.count)
        )
    }

    /// Whether the file is an SQLite database that nobody has put anything into, not even a mark of whose it is.
    static func isBlank(_ connection: Connection) throws -> Bool {
        guard try self.pragma(connection, "application_id") == 0, try self.pragma(connection, "user_version") == 0
        else {
            return false
        }
        let statement = try connection.statement("SELECT 1 FROM sqlite_master LIMIT 1")
        defer { statement.reset() }
        return try !statement.step()
    }

    /// The model of the store; refuses a file that is not one of ours.
    static func storedModel(_ connection: Connection, path: String) throws -> ManagedObjectModel {
        let application = try self.pragma(connection, "application_id")
        guard application == Schema.applicationID else {
            throw StoreError.notAStore(path: path, reason: "it is an SQLite file of another program")
        }
        let version = try self.pragma(connection, "user_version")
        guard (Schema.oldestVersion...Schema.version).contains(version) else {
            let advice =
                version > Schema.version
                ? "a newer nestd made it: start that one" : "export its objects with the nestd that made it"
            throw StoreError.notAStore(
                path: path,
                reason:
                    "its format is version \(version), this nestd reads \(Schema.oldestVersion) to \(Schema.version); \(advice)"
            )
        }
        guard let bytes = try self.meta(connection, "model") else {
            throw StoreError.corrupt(path: path, reason: "its model is missing")
        }
        let stored: ManagedObjectModel
        do {
            stored = try ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try reader.model() }
        } catch {
            throw StoreError.corrupt(path: path, reason: "its model cannot be read: \(error)")
        }
        guard stored.faults.isEmpty else {
            throw StoreError.corrupt(path: path, reason: "its model is inconsistent: \(stored.faults[0])")
        }
        return stored
    }

    /// Gives a store of an older format what it lacks, in one transaction. An older nestd cannot open it afterwards.
    static func bringUpToDate(_ connection: Connection) throws {
        let version = try self.pragma(connection, "user_version")
        guard version < Schema.version else { return }
        try connection.execute("BEGIN IMMEDIATE")
        do {
            for sql in (version == 2 ? Schema.fromFormat2 : []) + Schema.fromFormat3 { try connection.execute(sql) }
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try connection.execute("ROLLBACK") }
            throw error
        }
    }

    static func writeModel(_ connection: Connection, _ model: ManagedObjectModel) throws {
        var bytes = ByteWriter()
        bytes.write(model: model)
        try self.setMeta(connection, "model", bytes.bytes)
    }

    /// Fills the table that names entities for people.
    static func writeEntities(_ connection: Connection, _ model: ManagedObjectModel) throws {
        for entity in model.entities {
            let statement = try connection.statement("INSERT INTO nest_entity (number, name) VALUES (?1, ?2)")
            statement.bind(1, Int64(entity.number.rawValue))
            statement.bind(2, text: entity.name)
            try statement.run()
        }
    }

    /// In a copy of a store: one made of it begins a history of its own.
    static let copyMark = "is_copy"

    /// A store that was copied gets a new history id when it is first opened: two stores must not share the names of their
    /// states.
    static func beginHistoryOfCopy(_ connection: Connection, _ newHistoryID: Identifier128) throws {
        guard try self.meta(connection, self.copyMark) != nil else { return }
        try connection.execute("BEGIN IMMEDIATE")
        do {
            var id = ByteWriter()
            id.write(identifier: newHistoryID)
            try self.setMeta(connection, "history_id", id.bytes)
            try connection.execute("DELETE FROM nest_meta WHERE key = '\(self.copyMark)'")
            try connection.execute("COMMIT")
        } catch {
            if connection.isInTransaction { try connection.execute("ROLLBACK") }
            throw error
        }
    }

    static func historyID(_ connection: Connection, path: String) throws -> Identifier128 {
        guard let bytes = try self.meta(connection, "history_id"),
            let id = try? ByteReader.read(
                bytes,
                { (reader) throws(DecodingFailure) in try reader.identifier("history id") }
            )
        else { throw StoreError.corrupt(path: path, reason: "its history id is missing") }
        return id
    }

    private static func pragma(_ connection: Connection, _ name: String) throws -> Int64 {
        let statement = try connection.statement("PRAGMA \(name)")
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    static func meta(_ connection: Connection, _ key: String) throws -> [UInt8]? {
        let statement = try connection.statement("SELECT value FROM nest_meta WHERE key = ?1")
        defer { statement.reset() }
        statement.bind(1, text: key)
        return try statement.step() ? statement.blob(0) : nil
    }

    static func setMeta(_ connection: Connection, _ key: String, _ value: [UInt8]) throws {
        let statement = try connection.statement("INSERT OR REPLACE INTO nest_meta (key, value) VALUES (?1, ?2)")
        statement.bind(1, text: key)
        statement.bind(2, blob: value)
        try statement.run()
    }
}

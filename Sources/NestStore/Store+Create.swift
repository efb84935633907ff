import NestModel

extension Store {
    static func create(
        _ connection: Connection,
        _ layout: ModelLayout,
        _ tables: [EntityTable],
        _ journal: Journal,
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
            var model = ByteWriter()
            model.write(model: layout.model)
            try self.setMeta(connection, "model", model.bytes)
            for entity in layout.model.entities {
                let statement = try connection.statement("INSERT INTO nest_entity (number, name) VALUES (?1, ?2)")
                statement.bind(1, Int64(entity.number.rawValue))
                statement.bind(2, text: entity.name)
                try statement.run()
            }
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

    static func check(_ connection: Connection, _ layout: ModelLayout, path: String) throws {
        let application = try self.pragma(connection, "application_id")
        guard application == Schema.applicationID else {
            throw StoreError.notAStore(path: path, reason: "it is an SQLite file of another program")
        }
        let version = try self.pragma(connection, "user_version")
        guard version == Schema.version else {
            throw StoreError.notAStore(
                path: path,
                reason: "its format is version \(version), this nestd reads version \(Schema.version)"
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
        let differences = self.differences(stored, layout.model)
        guard differences.isEmpty else { throw StoreError.modelDiffers(path: path, differences: differences) }
    }

    /// What differs between two models, in words.
    private static func differences(_ stored: ManagedObjectModel, _ wanted: ManagedObjectModel) -> [String] {
        var differences: [String] = []
        for entity in stored.entities {
            guard let other = wanted.entity(entity.number) else {
                differences.append("the store has the entity \(entity.name), the model has not")
                continue
            }
            if entity != other { differences.append("the entity \(entity.name) differs") }
        }
        for entity in wanted.entities where stored.entity(entity.number) == nil {
            differences.append("the model has the entity \(entity.name), the store has not")
        }
        return differences
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

    private static func meta(_ connection: Connection, _ key: String) throws -> [UInt8]? {
        let statement = try connection.statement("SELECT value FROM nest_meta WHERE key = ?1")
        defer { statement.reset() }
        statement.bind(1, text: key)
        return try statement.step() ? statement.blob(0) : nil
    }

    private static func setMeta(_ connection: Connection, _ key: String, _ value: [UInt8]) throws {
        let statement = try connection.statement("INSERT OR REPLACE INTO nest_meta (key, value) VALUES (?1, ?2)")
        statement.bind(1, text: key)
        statement.bind(2, blob: value)
        try statement.run()
    }
}

import Glibc
import NestModel
import NestSchema

/// Migrates a store from its stored model to a new one: copies the file first, then rebuilds the changed tables in one
/// transaction. The store is always either fully migrated or unchanged.
struct Migration {
    private let connection: Connection
    private let path: String
    private let old: ModelLayout
    private let new: ModelLayout
    private let differences: [ModelDifference]
    private let head: Revision

    /// Throws all differences that cannot be migrated. `wanted` has the numbers of `stored`.
    init(
        _ connection: Connection,
        path: String,
        from stored: ManagedObjectModel,
        to wanted: ManagedObjectModel,
        head: Revision
    ) throws(StoreError) {
        let differences = wanted.differences(from: stored)
        let refused = differences.filter { $0.kind == .refused }
        guard refused.isEmpty else { throw .modelDiffers(path: path, differences: refused.map(\.text)) }
        self.connection = connection
        self.path = path
        self.old = ModelLayout(stored)
        self.new = ModelLayout(wanted)
        self.differences = differences
        self.head = head
    }

    /// Migrates the store and returns the path of the copy of its old state. Call it outside a transaction.
    func run() throws(StoreError) -> String {
        let copy = try self.copyStore()
        Failpoint.migrationCopied.pass()
        // References may be broken while tables are replaced; all are checked at the end.
        try self.connection.execute("PRAGMA foreign_keys = OFF")
        defer { try? self.connection.execute("PRAGMA foreign_keys = ON") }
        try self.connection.execute("BEGIN IMMEDIATE")
        do {
            try self.rebuild()
            try self.refuseObjects()
            try self.checkReferences()
            try Store.writeModel(self.connection, self.new.model)
            Failpoint.migrationWritten.pass()
            try self.connection.execute("COMMIT")
            Failpoint.migrationDurable.pass()
        } catch {
            if self.connection.isInTransaction { try self.connection.execute("ROLLBACK") }
            // After a disk failure it is unknown whether the store is migrated: keep the copy.
            if !error.isFatal { unlink(copy) }
            throw error
        }
        return copy
    }

    // MARK: The copy

    /// Copies the whole store to a file next to it and returns the file's path. The copy is durable before anything is
    /// changed. It is marked as a copy, so that a store made from it gets its own history id.
    private func copyStore() throws(StoreError) -> String {
        let copy = try self.copyName()
        let partial = "\(self.path).before-migration.partial"
        StoreFile.removePartial(partial)
        do {
            let statement = try self.connection.prepare("VACUUM INTO ?1")
            statement.bind(1, text: partial)
            try statement.run()
            try Store.markAsCopy(partial)
            try StoreFile.publish(partial, as: copy)
        } catch {
            // The partial copy may have filled the disk.
            StoreFile.removePartial(partial)
            if case .sqlite(let code, let message) = error {
                throw .sqlite(
                    code: code,
                    message: "copying the store to \(copy) before the migration: \(message)"
                )
            }
            throw error
        }
        return copy
    }

    /// Returns a name that no copy has yet, or the name of a copy of exactly this state, which a killed migration has
    /// left. Two migrations may start from the same revision, and the later one must not replace the copy of the
    /// earlier one.
    private func copyName() throws(StoreError) -> String {
        let name = "\(self.path).before-migration-\(self.head)"
        var candidate = name
        var number = 1
        while try Self.exists(candidate), try !self.isOfSameState(candidate) {
            number += 1
            candidate = "\(name)-\(number)"
        }
        return candidate
    }

    private static func exists(_ path: String) throws(StoreError) -> Bool {
        var status = stat()
        if lstat(path, &status) == 0 { return true }
        guard errno == ENOENT else { throw .io(operation: "looking for \(path)", errno: errno) }
        return false
    }

    /// Whether a file is a copy of this store at this revision with this model.
    private func isOfSameState(_ path: String) throws(StoreError) -> Bool {
        guard let copy = try? Connection(path: path, role: .copy) else { return false }
        defer { try? copy.close() }
        let own = try self.names(self.connection)
        return copy.access { (try? self.names(copy)) == own }
    }

    /// Returns the values that identify one state of a store: its history id, model and revision.
    private func names(_ connection: Connection) throws(StoreError) -> [[UInt8]?] {
        var head = ByteWriter()
        head.write(revision: try Journal(connection: connection, layout: self.old).newest()?.revision ?? Revision(0))
        return [try Store.meta(connection, "history_id"), try Store.meta(connection, "model"), head.bytes]
    }

    // MARK: Tables

    private func rebuild() throws(StoreError) {
        try self.connection.execute("DELETE FROM nest_entity")
        try Store.writeEntities(self.connection, self.new.model)
        let changed = self.new.entities.filter { layout in
            guard let before = self.counterpart(layout) else { return true }
            return Self.statements(layout, self.new) != Self.statements(before, self.old)
        }
        // Entities may swap their names: create all new tables before the old ones are dropped.
        for layout in changed {
            try self.connection.execute(Schema.table(layout, self.new, name: Self.temporaryName(layout)))
            if let before = self.counterpart(layout) { try self.copyRows(before, layout) }
        }
        for layout in changed {
            guard let before = self.counterpart(layout) else { continue }
            try self.connection.execute("DROP TABLE \(EntitySQL.quoted(before.name))")
        }
        for layout in changed {
            try self.connection.execute(
                "ALTER TABLE \(EntitySQL.quoted(Self.temporaryName(layout))) RENAME TO \(EntitySQL.quoted(layout.name))"
            )
        }
        for layout in changed {
            for index in Schema.indexes(layout) { try self.connection.execute(index) }
        }
    }

    private func counterpart(_ layout: EntityLayout) -> EntityLayout? {
        self.old.entities.first { $0.number == layout.number }
    }

    private static func statements(_ layout: EntityLayout, _ model: ModelLayout) -> [String] {
        [Schema.table(layout, model, name: layout.name)] + Schema.indexes(layout)
    }

    private static func temporaryName(_ layout: EntityLayout) -> String { "nest_migrating_\(layout.number.rawValue)" }

    private func copyRows(_ before: EntityLayout, _ after: EntityLayout) throws(StoreError) {
        let source = EntitySQL(before)
        let target = EntitySQL(after)
        var values: [AttributeValue] = []
        var columns = ["id", "nest_revision"]
        var expressions = ["id", "nest_revision"]
        if after.hasKinds {
            columns.append("nest_entity")
            expressions.append(before.hasKinds ? "nest_entity" : "\(before.number.rawValue)")
        }
        for slot in after.slots.indices {
            columns.append(target.columns[slot])
            let known = before.slot(of: after.properties[slot])
            expressions.append(known.map { source.columns[$0] } ?? self.filling(slot, before, after, &values))
        }
        for (place, slot) in after.placedSlots.enumerated() {
            columns += [target.position(place), target.placed(place)]
            let known = before.slot(of: after.properties[slot])
            if let known, before.placeOfSlot[known] >= 0 {
                expressions += [
                    source.position(before.placeOfSlot[known]), source.placed(before.placeOfSlot[known]),
                ]
            } else if let known {
                // A relationship that had no order starts with the order of the ids.
                let owner = source.columns[known]
                let index = "row_number() OVER (PARTITION BY \(owner) ORDER BY id)"
                expressions += [
                    "CASE WHEN \(owner) IS NOT NULL THEN \(index) * \(Int64(1) << 32) END",
                    "CASE WHEN \(owner) IS NOT NULL THEN \(self.head) END",
                ]
            } else {
                expressions += ["NULL", "NULL"]
            }
        }
        let statement = try self.connection.prepare(
            """
            INSERT INTO \(EntitySQL.quoted(Self.temporaryName(after))) (\(columns.joined(separator: ", ")))
            SELECT \(expressions.joined(separator: ", ")) FROM \(source.table)
            """
        )
        for (index, value) in values.enumerated() { statement.bind(Int32(index + 1), value) }
        try statement.run()
    }

    /// Returns the SQL expression for the value that existing objects get for a new property.
    private func filling(
        _ slot: Int,
        _ before: EntityLayout,
        _ after: EntityLayout,
        _ values: inout [AttributeValue]
    ) -> String {
        guard case .attribute(let attribute) = after.slots[slot] else { return "NULL" }
        let value: String
        if !attribute.defaultValue.isNull {
            values.append(attribute.kept(attribute.defaultValue))
            value = "?\(values.count)"
        } else if attribute.defaultsToNow {
            value = "CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)"
        } else {
            return "NULL"
        }
        guard before.hasKinds else {
            return after.kind(before.number).slots.contains(slot) ? value : "NULL"
        }
        let owners = before.kinds.map(\.entity.number).filter { after.kind($0).slots.contains(slot) }
        let list = owners.map { "\($0.rawValue)" }.joined(separator: ", ")
        return "CASE WHEN nest_entity IN (\(list)) THEN \(value) END"
    }

    // MARK: Objects that prevent the migration

    private func refuseObjects() throws(StoreError) {
        guard self.differences.contains(where: { $0.kind == .dependsOnData }) else { return }
        var found: [String] = []
        for layout in self.new.entities where !layout.isJoin && self.counterpart(layout) != nil {
            for kind in layout.kinds { try self.check(kind, layout, &found) }
            for uniqueness in layout.uniquenesses { try self.check(uniqueness, layout, &found) }
        }
        guard found.isEmpty else { throw .modelDiffers(path: self.path, differences: found) }
    }

    private func count(_ layout: EntityLayout, _ condition: String) throws(StoreError) -> Int64 {
        let statement = try self.connection.prepare(
            "SELECT count(*) FROM \(EntitySQL.quoted(layout.name)) WHERE \(condition)"
        )
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    private func check(_ kind: EntityLayout.Kind, _ layout: EntityLayout, _ found: inout [String]) throws(StoreError) {
        let isOwn = layout.hasKinds ? "nest_entity = \(kind.number.rawValue)" : "1"
        let notRoot = layout.root.map { "id <> \($0.object)" } ?? "1"
        let name = kind.entity.name
        let objectCount = try self.count(layout, isOwn)
        guard objectCount > 0 else { return }
        if kind.entity.isAbstract { found.append("\(name) becomes abstract, but has \(objectCount) objects") }
        let sql = EntitySQL(layout)
        for slot in kind.requiredSlots {
            let missing = try self.count(layout, "\(isOwn) AND \(notRoot) AND \(sql.columns[slot]) IS NULL")
            guard missing > 0 else { continue }
            let property = layout.fullName(slot, kind.number)
            found.append("\(property) is required and has no default, but \(missing) objects would have no value")
        }
        let known = self.old.model.entity(kind.number)
        for relationship in kind.entity.relationships
        where relationship.isToMany && !relationship.admits(count: 0)
            && known?.relationship(relationship.number) == nil && known != nil
        {
            found.append("\(name).\(relationship.name) is required, but would be empty in \(objectCount) objects")
        }
    }

    private func check(_ uniqueness: EntityLayout.Uniqueness, _ layout: EntityLayout, _ found: inout [String])
        throws(StoreError)
    {
        let sql = EntitySQL(layout)
        let columns = uniqueness.slots.map { sql.columns[$0] }
        var terms = columns.map { "\($0) IS NOT NULL" }
        if layout.hasKinds {
            let list = uniqueness.entities.map { "\($0.rawValue)" }.joined(separator: ", ")
            terms.append("nest_entity IN (\(list))")
        }
        let statement = try self.connection.prepare(
            """
            SELECT min(id), max(id), count(*) FROM \(sql.table) WHERE \(terms.joined(separator: " AND "))
            GROUP BY \(columns.joined(separator: ", ")) HAVING count(*) > 1 LIMIT 3
            """
        )
        defer { statement.reset() }
        let names = uniqueness.slots.map { layout.propertyName(layout.properties[$0]) ?? "" }.joined(separator: ", ")
        while try statement.step() {
            let count = statement.integer(2)
            found.append(
                "\(layout.name): \(names) must be unique, but \(count) objects have the same values "
                    + "(\(statement.integer(0)), \(statement.integer(1))…)"
            )
        }
    }

    private func checkReferences() throws(StoreError) {
        let statement = try self.connection.prepare("PRAGMA foreign_key_check")
        defer { statement.reset() }
        guard try !statement.step() else {
            throw .corrupt(
                path: self.path,
                reason: "an object of \(statement.text(0)) refers to an object that does not exist"
            )
        }
    }
}

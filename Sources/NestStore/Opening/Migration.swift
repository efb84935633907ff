import Glibc
import NestModel
import NestSchema

/// Brings a store from the model it was made with to another: copies the file first, then rebuilds what differs in one
/// transaction. The store is migrated or as it was, never between.
struct Migration {
    private let connection: Connection
    private let path: String
    private let old: ModelLayout
    private let new: ModelLayout
    private let differences: [ModelDifference]
    private let head: Revision

    /// Throws all differences that stand against it. `wanted` is numbered as `stored` is.
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

    /// Answers where the copy of the store as it was lies. Call outside a transaction.
    func run() throws(StoreError) -> String {
        let copy = try self.copyStore()
        Failpoint.migrationCopied.pass()
        // References may lead nowhere while tables are exchanged; all are checked at the end.
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
            // After a failure of the disk it is unknown whether the store is migrated: then the copy stays.
            if !error.isFatal { unlink(copy) }
            throw error
        }
        return copy
    }

    // MARK: The copy

    /// The whole store in a file beside it, durable before anything is changed, and marked so that a store made of it
    /// begins a history of its own.
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
            // It may have filled the disk.
            StoreFile.removePartial(partial)
            if case .sqlite(let code, let message) = error {
                throw .sqlite(
                    code: code,
                    message: "copying the store to \(copy), before it is migrated: \(message)"
                )
            }
            throw error
        }
        return copy
    }

    /// A name that no copy has yet, or only one of the very same state: a migration that was killed has left it. Two
    /// migrations may meet one revision, and nobody's copy is to be replaced by a later one.
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

    /// What identifies one state of a store.
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
        // Names may be exchanged: all new tables are there before the old ones go.
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
                // What had no order begins with that of the ids.
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

    /// What the objects there are get for a new property.
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

    // MARK: Objects that stand against it

    private func refuseObjects() throws(StoreError) {
        guard self.differences.contains(where: { $0.kind == .dependsOnData }) else { return }
        var found: [String] = []
        for layout in self.new.entities where !layout.isJoin && self.counterpart(layout) != nil {
            for kind in layout.kinds { try self.judge(kind, layout, &found) }
            for uniqueness in layout.uniquenesses { try self.judge(uniqueness, layout, &found) }
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

    private func judge(_ kind: EntityLayout.Kind, _ layout: EntityLayout, _ found: inout [String]) throws(StoreError) {
        let isOwn = layout.hasKinds ? "nest_entity = \(kind.number.rawValue)" : "1"
        let notRoot = layout.root.map { "id <> \($0.object)" } ?? "1"
        let name = kind.entity.name
        let objectCount = try self.count(layout, isOwn)
        guard objectCount > 0 else { return }
        if kind.entity.isAbstract { found.append("\(name) is to be abstract, but the store has \(objectCount) of it") }
        let sql = EntitySQL(layout)
        for slot in kind.requiredSlots {
            let missing = try self.count(layout, "\(isOwn) AND \(notRoot) AND \(sql.columns[slot]) IS NULL")
            guard missing > 0 else { continue }
            let property = layout.fullName(slot, kind.number)
            found.append("\(property) is required and without a default, but \(missing) objects would have none")
        }
        let known = self.old.model.entity(kind.number)
        for relationship in kind.entity.relationships
        where relationship.isToMany && !relationship.admits(count: 0)
            && known?.relationship(relationship.number) == nil && known != nil
        {
            found.append("\(name).\(relationship.name) is required, but \(objectCount) objects would lead to none")
        }
    }

    private func judge(_ uniqueness: EntityLayout.Uniqueness, _ layout: EntityLayout, _ found: inout [String])
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
                "\(layout.name): \(names) must be unique, but \(count) objects have the same "
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
                reason: "an object of \(statement.text(0)) leads to one that is not there"
            )
        }
    }
}

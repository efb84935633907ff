import Glibc
import NestModel
import NestSchema

/// Migrates a store from its stored model to a new one: copies the file first, then rebuilds the changed tables in one
/// transaction. The store is always either fully migrated or unchanged.
struct Migration {
    private let plan: MigrationPlan
    private let connection: Connection
    /// The store's history id after a loss: clients must not take older states of the store for parts of this one.
    private let newHistoryID: Identifier128

    /// Precondition: the plan does not refuse what is to be removed.
    init(_ plan: MigrationPlan, newHistoryID: Identifier128) {
        self.plan = plan
        self.connection = plan.connection
        self.newHistoryID = newHistoryID
    }

    /// Migrates the store and returns the path of the copy of its old state. Call it outside a transaction.
    func run() throws(StoreError) -> String {
        let copy = try MigrationCopy(
            connection: self.connection,
            path: self.plan.path,
            layout: self.plan.old,
            head: self.plan.head
        ).make()
        Failpoint.migrationCopied.pass()
        // References may be broken while tables are replaced; all are checked at the end.
        try self.connection.execute("PRAGMA foreign_keys = OFF")
        defer { try? self.connection.execute("PRAGMA foreign_keys = ON") }
        try self.connection.execute("BEGIN IMMEDIATE")
        do {
            try self.rebuild()
            try self.checkReferences()
            if self.plan.report.differences.contains(where: { $0.removedPart != nil }) {
                try HistoryPruning(self.connection, self.plan.old, self.plan.new).run()
                try self.keepNumbers()
                if try ValueTable.isThere(self.connection) {
                    let values = ValueTable(self.connection)
                    if self.plan.new.hasLargeValues {
                        try values.dropLost(self.plan.new)
                    } else {
                        try values.deleteAll()
                    }
                }
            }
            if !self.plan.report.losses.isEmpty { try Store.setHistoryID(self.connection, self.newHistoryID) }
            try Store.forgetReplacedModels(self.connection)
            try Store.writeModel(self.connection, self.plan.new.model)
            Failpoint.migrationWritten.pass()
            try self.connection.execute("COMMIT")
            Failpoint.migrationDurable.pass()
        } catch {
            try self.connection.rollBack()
            // After a disk failure it is unknown whether the store is migrated: keep the copy.
            if !error.isFatal { unlink(copy) }
            throw error
        }
        return copy
    }

    private func rebuild() throws(StoreError) {
        try self.connection.execute("DELETE FROM nest_entity")
        try Store.writeEntities(self.connection, self.plan.new.model)
        // Entities may swap their names: create all new tables before the old ones are dropped.
        for (layout, rows) in self.plan.rebuilt {
            let name = Self.temporaryName(layout)
            try self.connection.execute(Schema.table(layout, self.plan.new, name: name))
            try rows?.write(into: EntitySQL.quoted(name), self.connection)
        }
        let replaced = self.plan.rebuilt.compactMap { self.plan.counterpart($0.layout) }
        for layout in replaced + self.plan.dropped {
            try self.connection.execute("DROP TABLE \(EntitySQL.quoted(layout.name))")
        }
        for (layout, _) in self.plan.rebuilt {
            try self.connection.execute(
                "ALTER TABLE \(EntitySQL.quoted(Self.temporaryName(layout))) RENAME TO \(EntitySQL.quoted(layout.name))"
            )
        }
        for (layout, _) in self.plan.rebuilt {
            for index in Schema.indexes(layout) { try self.connection.execute(index) }
        }
    }

    private static func temporaryName(_ layout: EntityLayout) -> String { "nest_migrating_\(layout.number.rawValue)" }

    /// Remembers the numbers of the removed parts, so that no later part gets them.
    private func keepNumbers() throws(StoreError) {
        var numbers = try Store.usedNumbers(self.connection, path: self.plan.path)
        numbers.add(self.plan.old.model)
        var writer = ByteWriter()
        writer.write(numbers: numbers)
        try Store.setMeta(self.connection, Store.usedNumbersKey, writer.bytes)
    }

    private func checkReferences() throws(StoreError) {
        let statement = try self.connection.prepare("PRAGMA foreign_key_check")
        defer { statement.reset() }
        guard try !statement.step() else {
            throw .corrupt(
                path: self.plan.path,
                reason: "an object of \(statement.text(0)) refers to an object that does not exist"
            )
        }
    }
}

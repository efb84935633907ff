import NestModel
import NestSchema

extension Store {
    /// Returns what opening a store with a model would do to it; `nil` if the store has this model. Changes nothing.
    package static func migrationReport(
        _ path: String,
        to model: ManagedObjectModel
    ) throws(StoreError) -> MigrationReport? {
        let faults = model.faults + model.patternFaults
        guard faults.isEmpty else { throw .invalidModel(faults) }
        // Checks that sort many rows do it in files, like those of a migration.
        return try self.reading(path, sortsInFiles: true) { (connection, path) throws(StoreError) in
            let stored = try self.storedModel(connection, path: path)
            let wanted = model.renumbered(like: stored, used: try self.usedNumbers(connection, path: path))
            guard wanted.hash != stored.hash else { return nil }
            return try MigrationPlan(connection, path: path, from: stored, to: wanted).report
        }
    }
}

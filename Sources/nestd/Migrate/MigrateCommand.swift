import ArgumentParser
import Glibc
import NestModel
import NestStore

/// `nestd migrate`: gives a store whose nestd is stopped another model.
struct MigrateCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Give a store whose nestd is stopped another model, or show what that would do.",
        discussion: """
            nestd itself migrates a store when it starts with a changed model, unless something in the store would be \
            lost. A removed entity, attribute or relationship loses something if there are objects, values or links \
            of it.

            Examples:
              nestd migrate --store shop.sqlite --model Shop.xcdatamodeld --dry-run
              nestd migrate --store shop.sqlite --model Shop.xcdatamodeld
              nestd migrate --store shop.sqlite --model Shop.xcdatamodeld --allow-loss

            nestd first copies the store to STORE.before-migration-REVISION next to it, and migrates it in one \
            transaction. To go back, put the copy in the store's place.

            Exit status: 0 the store has the model now (with --dry-run: it could), 66 there is no such store, 75 a \
            nestd has the store open, 78 the model has faults, or the migration was (would be) refused: nothing was \
            changed.
            """
    )

    @Option(help: ArgumentHelp("The store.", valueName: "file"))
    var store = "nest.sqlite"

    @Option(
        help: ArgumentHelp(
            "The new model: an .xcdatamodeld, .xcdatamodel, 'contents' or JSON file.",
            valueName: "path"
        )
    )
    var model: String

    @Flag(name: [.customShort("n"), .long], help: "Show what the migration would do, and change nothing.")
    var dryRun = false

    @Flag(help: "Remove what the new model has no place for, with the objects, values and links in the store.")
    var allowLoss = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        guard self.store != "" else { throw ValidationError("--store needs the name of a file") }
        guard self.model != "" else { throw ValidationError("--model needs the name of a file") }
    }

    func run() throws {
        let model = try Nestd.readModel(self.model) { Nestd.printMessage("\(self.model): \($0)") }
        let path = Nestd.path(ofStore: self.store)
        // SQLite's temporary files are on the store's disk, unless the user specifies another directory.
        setenv("SQLITE_TMPDIR", Store.directory(of: path), 0)
        do {
            guard access(path, F_OK) == 0 else { throw Nestd.failure(66, "there is no store \(self.store)") }
            guard let report = try Store.migrationReport(path, to: model) else {
                return try MigrationOutput(.unchanged, .init()).print(self.store, asJSON: self.json)
            }
            let isRefused = !report.obstacles.isEmpty || !self.allowLoss && !report.losses.isEmpty
            if self.dryRun || isRefused {
                let output = MigrationOutput(isRefused ? .refused : .possible, report)
                try output.print(self.store, asJSON: self.json)
                guard isRefused else { return }
                throw Nestd.failure(78, Self.refusal(report, isDryRun: self.dryRun))
            }
            let migrated = try self.migrate(path, model)
            try MigrationOutput(.migrated, migrated).print(self.store, asJSON: self.json)
        } catch let error as StoreError {
            throw Nestd.failure(error.exitStatus, "\(error)")
        }
    }

    private func migrate(_ path: String, _ model: ManagedObjectModel) throws -> MigrationReport {
        var configuration = Store.Configuration(location: .file(path), model: model)
        configuration.removals = self.allowLoss ? .all : .unused
        var generator = SystemRandomNumberGenerator()
        let store = try Store(configuration, newHistoryID: .random(using: &generator))
        let report = store.migration
        try store.close()
        return report ?? MigrationReport()
    }

    static func refusal(_ report: MigrationReport, isDryRun: Bool) -> String {
        let subject = isDryRun ? "the migration would be refused" : "the migration was refused; nothing was changed"
        guard report.obstacles.isEmpty else {
            let count = report.obstacles.count
            return "\(subject): \(count == 1 ? "1 change is" : "\(count) changes are") not possible with this store"
        }
        return "\(subject): it would lose data; --allow-loss removes it, after a copy of the store"
    }
}

import ArgumentParser
import Foundation
import NestModel
import NestServer
import NestStore

/// `nestd cluster migrate`: gives the store of a cluster another model.
struct ClusterMigrate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract: "Give the store of a cluster another model while its nodes run, or show what that would do.",
        discussion: """
            Examples:
              nestd cluster migrate --log postgres://nest@db.example/nest --model Shop2.xcdatamodeld --dry-run
              nestd cluster migrate --log postgres://nest@db.example/nest --model Shop2.xcdatamodeld
              nestd cluster migrate --log postgres://nest@db.example/nest --model Shop2.xcdatamodeld --allow-loss

            nestd loads the store into a temporary directory (TMPDIR), takes the lead, migrates the copy and adds it to \
            the log. Reads go on; writes wait or are refused until it is done. Then every node ends its connections \
            with SCHEMA_CHANGED and loads the result. Make a copy first, with 'nestc backup': there is no way back.

            Exit status: 0 the store has the model now (with --dry-run: it could), 69 PostgreSQL cannot be reached, 74 \
            reading or writing failed, 75 another node took the lead meanwhile, 78 the model has faults, or the \
            migration was (would be) refused: nothing was changed.
            """
    )

    @OptionGroup var log: ClusterCommand.LogOption

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
        guard self.model != "" else { throw ValidationError("--model needs the name of a file") }
    }

    func run() throws {
        let url = try self.log.url()
        let model = try Nestd.readModel(self.model) { Nestd.printMessage("\(self.model): \($0)") }
        let directory = FileManager.default.temporaryDirectory.appending(path: "nestd-migrate-\(UUID().uuidString)")
        try ClusterCommand.run {
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
            defer { try? FileManager.default.removeItem(at: directory) }
            setenv("SQLITE_TMPDIR", directory.path(percentEncoded: false), 0)
            let log = try ClusterSupport.connect(url, node: "nestd cluster migrate", address: "")
            let migration = ClusterMigration(
                log,
                path: directory.appending(path: "nest.sqlite").path(percentEncoded: false),
                model: model,
                removals: self.allowLoss ? .all : .unused,
                progress: ClusterCommand.progress
            )
            let outcome: ClusterMigration.Outcome
            do throws(ClusterMigration.Failure) {
                outcome = try migration.run(isDryRun: self.dryRun)
            } catch {
                throw Nestd.failure(error.exitStatus, "\(error)")
            }
            try self.print(outcome)
        }
    }

    private func print(_ outcome: ClusterMigration.Outcome) throws {
        let subject = "the cluster's store"
        switch outcome {
        case .unchanged:
            try MigrationOutput(.unchanged, .init()).print(subject, asJSON: self.json)
        case .planned(let report, let isRefused):
            try MigrationOutput(isRefused ? .refused : .possible, report).print(subject, asJSON: self.json)
            if isRefused { throw Nestd.failure(78, MigrateCommand.refusal(report, isDryRun: self.dryRun)) }
        case .migrated(var report):
            // It is a copy of the temporary file.
            report.copyPath = nil
            try MigrationOutput(.migrated, report).print(subject, asJSON: self.json)
        }
    }
}

extension ClusterMigration.Failure {
    fileprivate var exitStatus: Int32 {
        switch self {
        case .log(let failure): failure.exitStatus
        case .store(let error): error.exitStatus
        case .overtaken, .unknown: 75
        }
    }
}

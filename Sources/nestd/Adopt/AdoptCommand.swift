import ArgumentParser
import Glibc
import NestDocuments
import NestModel
import NestStore

/// `nestd adopt`: makes a store of nest from a store of Core Data.
struct AdoptCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adopt",
        abstract: "Make a store of nest from an SQLite store that Core Data wrote, or show what that would do.",
        usage: "nestd adopt <file> --model <path> [--store <file>] [<options>]",
        discussion: """
            Of a directory with several versions of a model, nestd finds the one that fits the store by the names of \
            its entities and columns. Objects keep their order and their relationships. The id of an object is its \
            Z_PK plus a number that the report has for each entity.

            Examples:
              nestd adopt Shop.sqlite --model Shop.xcdatamodeld --dry-run
              nestd adopt Shop.sqlite --model Shop.xcdatamodeld --store shop.sqlite
              nestd adopt Shop.sqlite --model Shop.xcdatamodeld --version 'Shop 2'

            Core Data's file is only read. Close the app that uses it, and keep its files together: STORE-wal, and \
            .STORE_SUPPORT with large data. The new store appears when it is complete.

            Exit status: 0 the store is adopted (with --dry-run: it could be), 65 Core Data's file is damaged, or has \
            values or objects that were (would be) refused, 66 there is no such file, 73 the new store exists \
            already, 74 reading or writing failed, 75 another program changed Core Data's file, or a nestd has the \
            new store open, 78 the model has faults, or no version of it fits. Unless it is 0, there is no new store.
            """
    )

    @Argument(help: ArgumentHelp("The store of Core Data.", valueName: "file"))
    var source: String

    @Option(
        help: ArgumentHelp(
            "The app's model: an .xcdatamodeld, .xcdatamodel, 'contents' or JSON file.",
            valueName: "path"
        )
    )
    var model: String

    @Option(help: ArgumentHelp("The new store.", valueName: "file"))
    var store = "nest.sqlite"

    @Option(help: ArgumentHelp("The version of the model. (default: the one that fits)", valueName: "name"))
    var version: String?

    @Flag(name: [.customShort("n"), .long], help: "Show what would be adopted, and leave no store.")
    var dryRun = false

    @Flag(help: "Leave out values that are larger than 64 KiB.")
    var skipLarge = false

    @Flag(help: "Leave out values that the model or nest refuses: they become null, or their default.")
    var skipInvalid = false

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        guard self.source != "" else { throw ValidationError("the store of Core Data needs the name of a file") }
        guard self.store != "" else { throw ValidationError("--store needs the name of a file") }
        guard self.model != "" else { throw ValidationError("--model needs the name of a file") }
    }

    func run() throws {
        let versions = try self.readVersions()
        let path = Nestd.path(ofStore: self.store)
        // SQLite's temporary files are on the store's disk, unless the user specifies another directory.
        setenv("SQLITE_TMPDIR", Store.directory(of: path), 0)
        var options = AdoptOptions()
        options.skipsLarge = self.skipLarge
        options.skipsInvalid = self.skipInvalid
        options.isDryRun = self.dryRun
        options.version = self.version
        var generator = SystemRandomNumberGenerator()
        let report: AdoptReport
        do {
            report = try Store.adopt(
                Nestd.path(ofStore: self.source),
                versions: versions,
                into: path,
                options: options,
                newHistoryID: .random(using: &generator)
            ) { step in
                guard isatty(STDERR_FILENO) == 1 else { return }
                Nestd.printMessage("\(step.number) of \(step.count): \(step.name)")
            }
        } catch let error as AdoptFailure {
            throw Nestd.failure(error.reason.exitStatus, "\(error)")
        } catch let error as StoreError {
            throw Nestd.failure(error.exitStatus, "\(error)")
        }
        let output = AdoptOutput(report, store: self.store, isDryRun: self.dryRun)
        try output.print(asJSON: self.json)
        guard report.refused.isEmpty else { throw Nestd.failure(65, output.refusal(self)) }
    }

    /// Returns the versions of the model that nest can use, and prints what is wrong with the others.
    private func readVersions() throws -> [AdoptedVersion] {
        let found: [ModelVersion]
        do {
            found = try ModelFile.versions(path: self.model)
        } catch {
            throw Nestd.failure(78, error.description)
        }
        var versions: [AdoptedVersion] = []
        for version in found where self.version == nil || self.version == version.name {
            do {
                let content = try version.content.get()
                versions.append(
                    AdoptedVersion(
                        name: version.name,
                        isCurrent: version.isCurrent,
                        model: try content.document.draft.compile(),
                        externalData: content.externalData,
                        leftOut: content.derived
                    )
                )
            } catch let error as ModelFileError {
                Nestd.printMessage(error.description)
            } catch let faults as ModelFaults {
                for fault in faults.faults { Nestd.printMessage("\(version.name): \(fault)") }
            }
        }
        if let name = self.version, !found.contains(where: { $0.name == name }) {
            let list = found.map(\.name).joined(separator: ", ")
            throw Nestd.failure(78, "the model has no version '\(name)'; its versions are: \(list)")
        }
        guard !versions.isEmpty else { throw Nestd.failure(78, "nest can use no version of the model") }
        return versions
    }
}

extension AdoptFailure.Reason {
    fileprivate var exitStatus: Int32 {
        switch self {
        case .missing: 66
        case .damaged: 65
        case .exists: 73
        case .unreadable: 74
        case .changed: 75
        case .otherModel: 78
        }
    }
}

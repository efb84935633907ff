import ArgumentParser
import Foundation
import NestDocuments
import NestModel
import NestServer
import NestStore

/// `nestd cluster init`: makes the tables of the log, and a store its first state.
struct ClusterInit: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Begin a cluster: make the tables of its log, and a store its first state.",
        discussion: """
            Examples:
              nestd cluster init --log postgres://nest@db.example/nest --store nest.sqlite
              nestd cluster init --log postgres://nest@db.example/nest --model Shop.xcdatamodeld
              nestd cluster init --log postgres://nest@db.example/nest

            --store brings the store of a stopped nestd in, with its objects, history, tokens and undo. The file then \
            is a node's file: start nestd with it and --log. Otherwise the cluster begins with an empty store; without \
            --model it has the nested list as its model.

            The database must exist, and its role must be allowed to create a schema in it. The name of the schema is \
            nest. If init fails, run it again: the store is unchanged.

            Exit status: 0 the cluster exists, 65 the store is damaged, 66 there is no such store, 69 PostgreSQL \
            cannot be reached, 75 a nestd has the store open, 78 the database cannot have a log or has one already, or \
            the model has faults.
            """
    )

    @OptionGroup var log: ClusterCommand.LogOption

    @Option(help: ArgumentHelp("The store of a stopped nestd to begin with.", valueName: "file"))
    var store: String?

    @Option(
        help: ArgumentHelp(
            "The model of an empty store: an .xcdatamodeld, .xcdatamodel, 'contents' or JSON file.",
            valueName: "path"
        )
    )
    var model: String?

    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
        guard self.store == nil || self.model == nil else {
            throw ValidationError("--store and --model exclude each other: a store has its model")
        }
        guard self.store != "" else { throw ValidationError("--store needs the name of a file") }
        guard self.model != "" else { throw ValidationError("--model needs the name of a file") }
    }

    func run() throws {
        let url = try self.log.url()
        try ClusterCommand.run {
            let made: Made
            if let store = self.store {
                made = try self.begin(url, path: Nestd.path(ofStore: store))
            } else {
                let model = try self.model.map { path in
                    try Nestd.readModel(path) { Nestd.printMessage("\(path): \($0)") }
                }
                let path = try Store.makeVolatilePath()
                defer { Store.removeVolatile(path) }
                made = try self.begin(url, path: path, newModel: model ?? .nestedList)
            }
            try self.print(made)
        }
    }

    private struct Made {
        var historyID: Identifier128
        var revision: Revision
        var snapshotBytes: Int64
    }

    /// `newModel`: `nil` if the store must exist.
    private func begin(_ url: String, path: String, newModel: ManagedObjectModel? = nil) throws -> Made {
        let interrupted = newModel == nil ? try self.interruptedHistory(path) : nil
        // SQLite's temporary files are on the store's disk, unless the user specifies another directory.
        setenv("SQLITE_TMPDIR", Store.directory(of: path), 0)
        ClusterCommand.progress("making the tables of the log")
        let setup = try ClusterSupport.setUp(url)
        let number = try setup.reserveStore()
        // The log has no record yet, so the file is not one of its nodes'.
        if let interrupted { _ = try Store.leaveCluster(path, newHistoryID: interrupted) }
        let location = Store.Configuration.Location.file(path)
        guard let model = try newModel ?? Store.storedModel(at: location) else {
            throw Nestd.failure(66, "there is no store \(path)")
        }
        var generator = SystemRandomNumberGenerator()
        let store = try Store(
            Store.Configuration(location: location, model: model),
            newHistoryID: .random(using: &generator)
        )
        let made = Made(historyID: store.historyID, revision: store.head, snapshotBytes: 0)
        do {
            return try self.enter(store, number, setup, made)
        } catch {
            // The log does not have the store: it becomes an ordinary one again, with the history that it had.
            try? store.close()
            if newModel == nil { _ = try? Store.leaveCluster(path, newHistoryID: made.historyID) }
            throw error
        }
    }

    private func enter(_ store: Store, _ number: Int64, _ setup: LogSetup, _ made: Made) throws -> Made {
        var generator = SystemRandomNumberGenerator()
        let writer = LogRecord.Writer(node: .random(using: &generator), epoch: 0)
        // The next leader compares with the timeline that it finds; the first record says nothing about a standby.
        let server = LogServer(timeline: 0, isReplicated: true)
        let (record, position) = try store.enterCluster(store: number, writer: writer, server: server, now: Self.now())
        ClusterCommand.progress("making a snapshot")
        let snapshot = try store.reader.snapshot(bytesLeftMin: 0)
        let partCount = snapshot.description.partCount
        try setup.createStore(record, position.chain, snapshot.description) { (index) throws(LogFailure) in
            ClusterCommand.progress("storing the snapshot: \(index + 1) of \(partCount)")
            do throws(StoreError) { return try snapshot.part(index) } catch { throw .unusable("\(error)") }
        }
        try store.close()
        var made = made
        made.snapshotBytes = snapshot.description.byteCount
        return made
    }

    /// Returns the history id of a file that an interrupted init left behind; `nil` for an ordinary store.
    private func interruptedHistory(_ path: String) throws -> Identifier128? {
        switch try Store.replicaFile(at: path) {
        case .missing: throw Nestd.failure(66, "there is no store \(self.store ?? path)")
        case .ordinary: return nil
        case .replica(let state, let historyID):
            guard state.position.position == 0 else {
                let leave = "nestd cluster leave --store \(self.store ?? path)"
                throw Nestd.failure(
                    78,
                    "\(self.store ?? path) belongs to a cluster already: start nestd with its --log, or make it an "
                        + "ordinary store with a new history first: \(leave)"
                )
            }
            return historyID
        }
    }

    private static func now() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000_000) }

    private func print(_ made: Made) throws {
        if self.json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            let object = Output(
                history: "\(made.historyID)",
                revision: made.revision.rawValue,
                snapshotBytes: made.snapshotBytes,
                store: ClusterSupport.storeName
            )
            return Swift.print(String(decoding: try encoder.encode(object), as: UTF8.self))
        }
        Swift.print("the cluster begins at revision \(made.revision), history \(made.historyID)")
        let file = self.store.map { " --store \($0)" } ?? ""
        Swift.print("start a node: nestd --log URL --node NAME --advertise HOST:PORT\(file)")
    }

    private struct Output: Encodable {
        let history: String
        let revision: UInt64
        let snapshotBytes: Int64
        let store: String
    }
}

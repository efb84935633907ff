import GRDB
import GRDBSQLite
import NestModel
import NestProtocol
import NestSchema

/// A store: the object graph in one SQLite file, and the only connection that writes it.
///
/// Synchronous and not Sendable: created, used and closed on one thread. Other threads read through `reader`.
package final class Store {
    package struct Configuration: Sendable {
        package enum Location: Sendable, Equatable {
            case file(String)
            /// A private directory of the machine's memory file system, removed at the end.
            case memory
        }

        package var location: Location
        package var model: ManagedObjectModel
        /// Whether the store keeps a model that a running server has applied when it is opened with one of those that
        /// it has replaced.
        package var keepsAppliedModel = false
        /// What a migration to the model may remove.
        package var removals = MigrationRemovals.unused
        /// The number of changed objects that a bulk write keeps in memory; it streams the others to the journal. For
        /// tests.
        package var streamedFrom = 4_096
        /// The largest number of entries that each collection of a bulk write keeps in memory. For tests.
        package var bulkObjectsInMemoryMax = Limits.bulkObjectsInMemoryMax
        /// Larger change sets are stored in blocks, so that a group's journal row stays small. For tests.
        package var inlineBytesMax = 64 << 10
        /// The distance between the sparse positions of appended objects. For tests.
        package var orderStep: Int64 = 1 << 32
        /// The number of pages in the write-ahead log at which it is checkpointed. With a larger number a page that
        /// changes often is written to the file less often, but a checkpoint takes longer. For tests.
        package var checkpointPages = 2_000
        /// The object counts of relationships of at least this size are cached. For tests.
        package var countedFrom = OwnedCounts.countMin
        /// The cluster's log, if the store belongs to a cluster.
        package var log: (any SharedLog)?
        /// Whether a store of a cluster may get another model: for `nestd cluster migrate`.
        package var migratesReplica = false
        /// Ends the writer's work early.
        package var stopSignal = StopSignal()

        package init(location: Location, model: ManagedObjectModel) {
            self.location = location
            self.model = model
        }
    }

    package let path: String
    package private(set) var layout: ModelLayout
    /// The history id. Each new store gets a new one; revisions are numbered within a history.
    package internal(set) var historyID: Identifier128
    /// The history of the backup that the file was until now, whose states have the same revisions; `nil` if it was
    /// none.
    package let restoredHistoryID: Identifier128?
    /// The newest committed revision; see `logSync`.
    package internal(set) var head: Revision
    /// Revisions after this one are in the journal.
    package internal(set) var oldestBase: Revision
    package internal(set) var nextObjectID: Int64
    /// Whether a session may have reserved ids.
    var hasReservedIDs: Bool
    /// The report of the migration when the store was opened; `nil`: there was none.
    package let migration: MigrationReport?
    /// Whether the store was opened with a model that a running server has replaced, and kept its newer one.
    package let hasKeptModel: Bool

    /// `nil`: the store is a single node's.
    let membership: LogMembership?
    let connection: Connection
    private(set) var journal: Journal
    package let streamedFrom: Int
    let inlineBytesMax: Int
    let bulkMemory: BulkMemory
    private let stopSignal: StopSignal
    let orderStep: Int64
    private let checkpointPages: Int
    private(set) var tables: [EntityTable]
    /// Reads the current state, including the changes of an open transaction.
    package let objects: ObjectReader
    var journalBytes: Int64
    var ownedCounts: OwnedCounts
    var objectBodies = ObjectBodies()
    var visibleRevisions = VisibleRevisions()
    var preparations = Preparations()
    /// Makes commits durable; `nil`: each one is durable when it returns, or need not be.
    package private(set) var logSync: LogSync?
    /// Held until `close`.
    private var lock: StoreLock?
    private let volatileDirectory: String?
    /// The graph of the last request of a group that was committed, for the next one.
    private var spareGraph: ObjectGraph?

    /// Opens the store, or creates it if its file does not exist. A new store, or a copy that is opened for the first
    /// time, gets the history id `newHistoryID`.
    package init(_ configuration: Configuration, newHistoryID: Identifier128) throws(StoreError) {
        let faults = configuration.model.faults + configuration.model.patternFaults
        guard faults.isEmpty else { throw .invalidModel(faults) }
        switch configuration.location {
        case .file(let path):
            self.path = try StoreFile.resolve(path)
            self.volatileDirectory = nil
        case .memory:
            let directory = try StoreFile.makeVolatileDirectory()
            self.path = directory + "/nest.sqlite"
            self.volatileDirectory = directory
        }
        self.streamedFrom = configuration.streamedFrom
        self.inlineBytesMax = configuration.inlineBytesMax
        self.orderStep = configuration.orderStep
        self.checkpointPages = configuration.checkpointPages
        self.stopSignal = configuration.stopSignal
        self.ownedCounts = OwnedCounts(countMin: configuration.countedFrom)
        try StoreFile.checkKind(self.path)
        self.lock = try StoreLock(storePath: self.path)
        // A killed process may have left partial backups and snapshots.
        for name in StoreReader.backupNames(self.path) + [StoreReader.snapshotName(self.path)] {
            StoreFile.removePartial(name)
        }
        var restored: Identifier128?
        do throws(StoreError) {
            switch try StoreFile.check(self.path) {
            case .missing where configuration.log != nil: throw LogMembership.missing(self.path)
            case .missing: try Self.create(self.path, configuration.model, historyID: newHistoryID)
            case .store(isCopy: true):
                restored = try Self.beginHistoryOfCopy(
                    self.path,
                    newHistoryID,
                    hasLog: configuration.log != nil
                )
            case .store(isCopy: false): break
            case .doubtful: try Self.refuseStrangers(self.path)
            }
        } catch {
            throw Self.openingError(error, path: self.path)
        }
        self.restoredHistoryID = restored
        do {
            self.connection = try Connection(
                path: self.path,
                role: .writer(
                    configuration.location == .memory ? .volatile : configuration.log == nil ? .full : .replica
                ),
                stopSignal: configuration.stopSignal
            )
        } catch {
            throw Self.openingError(error, path: self.path)
        }
        let connection = self.connection
        do {
            let opened = try connection.access { [path] () throws(StoreError) -> Opened in
                try Self.open(connection, configuration, path: path, newHistoryID: newHistoryID)
            }
            self.bulkMemory = BulkMemory(
                connection: connection,
                directory: Self.directory(of: self.path),
                countMax: configuration.bulkObjectsInMemoryMax
            )
            self.membership = opened.membership
            self.layout = opened.layout
            self.tables = opened.tables
            self.objects = ObjectReader(connection, opened.layout, opened.tables)
            self.journal = opened.journal
            self.historyID = opened.historyID
            self.head = opened.head
            self.oldestBase = opened.base
            self.nextObjectID = opened.nextObjectID
            self.hasReservedIDs = opened.hasReservedIDs
            self.preparations = opened.preparations
            self.journalBytes = opened.journalBytes
            self.migration = opened.migration
            self.hasKeptModel = opened.hasKeptModel
        } catch {
            throw Self.openingError(error, path: self.path)
        }
    }

    private struct Opened {
        var layout: ModelLayout
        var tables: [EntityTable]
        var journal: Journal
        var historyID: Identifier128
        var head: Revision
        var base: Revision
        var nextObjectID: Int64
        var hasReservedIDs: Bool
        var preparations = Preparations()
        var journalBytes: Int64
        var membership: LogMembership?
        var migration: MigrationReport?
        var hasKeptModel = false

        init(
            _ connection: Connection,
            _ model: ManagedObjectModel,
            path: String,
            membership: LogMembership?,
            migration: MigrationReport? = nil
        ) throws(StoreError) {
            self.layout = ModelLayout(model)
            self.tables = self.layout.entities.map { EntityTable($0, connection) }
            self.journal = Journal(connection: connection, layout: self.layout)
            if self.layout.hasLargeValues { try ValueTable.create(connection) }
            self.membership = membership
            self.migration = migration
            guard let newest = try self.journal.newest(), let base = try self.journal.oldestBase() else {
                throw .corrupt(path: path, reason: "the journal is empty")
            }
            self.historyID = try Store.historyID(connection, path: path)
            self.head = newest.revision
            self.base = base
            // A nestd that was killed may have left prepared rows, with ids that no transaction has used.
            let prepared = try PreparedRows.read(connection)
            connection.preparedRows = prepared ?? PreparedRows()
            if let prepared { self.preparations.finish(prepared) }
            let reserved = try ReservedIDs.next(connection)
            self.hasReservedIDs = try ReservedIDs.areThere(connection)
            let hidden = connection.hidden.runs.last.map { $0.upperBound + 1 } ?? 0
            self.nextObjectID = max(newest.nextObjectID, hidden, reserved)
            self.journalBytes = try self.journal.size().bytes
        }
    }

    private static func open(
        _ connection: Connection,
        _ configuration: Configuration,
        path: String,
        newHistoryID: Identifier128
    ) throws(StoreError) -> Opened {
        let stored = try self.storedModel(connection, path: path)
        let membership = try LogMembership(connection, configuration.log, path: path)
        // After a failed fsync the end of the log may exist only in the kernel's memory and still look complete.
        // Nothing may be appended after it: move the log into the file first. If the disk is full the log stays, and
        // reads still work.
        do throws(StoreError) {
            try connection.checkpointAll()
        } catch {
            if error.isFatal { throw error }
        }
        var wanted = configuration.model.renumbered(like: stored, used: try self.usedNumbers(connection, path: path))
        var hasKeptModel = false
        if configuration.keepsAppliedModel, wanted.hash != stored.hash {
            hasKeptModel = try self.replacedModels(connection, path: path).contains(wanted.hash)
            if hasKeptModel { wanted = stored }
        }
        try self.bringUpToDate(connection)
        if wanted.hash != stored.hash || membership != nil {
            try PreparedRows.finishAll(connection, ModelLayout(stored))
        }
        guard wanted.hash != stored.hash else {
            var opened = try Opened(connection, wanted, path: path, membership: membership)
            opened.hasKeptModel = hasKeptModel
            return opened
        }
        if membership != nil, !configuration.migratesReplica { throw LogMembership.otherModel(path) }
        let plan = try MigrationPlan(connection, path: path, from: stored, to: wanted)
        try plan.refuse(configuration.removals)
        var report = plan.report
        report.copyPath = try Migration(plan, newHistoryID: newHistoryID).run()
        return try Opened(connection, wanted, path: path, membership: membership, migration: report)
    }

    /// Returns the directory part of a store's path.
    package static func directory(of path: String) -> String {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        return directory.isEmpty ? "/" : directory
    }

    /// Uses a layout that the store's file has now. It has all of the old one.
    func adopt(_ layout: ModelLayout) {
        self.layout = layout
        self.tables = layout.entities.map { EntityTable($0, self.connection) }
        self.journal = Journal(connection: self.connection, layout: layout)
        self.objects.adopt(layout, self.tables)
        // It has the old tables.
        self.spareGraph = nil
        // Bodies have all attributes of their object.
        self.objectBodies = ObjectBodies()
    }

    func takeSpareGraph() -> ObjectGraph? {
        defer { self.spareGraph = nil }
        return self.spareGraph
    }

    func keep(_ graph: ObjectGraph) {
        graph.rest()
        self.spareGraph = graph
    }

    /// Reads the store while the writer works, on any thread.
    package var reader: StoreReader {
        StoreReader(path: self.path, layout: self.layout, spoolDirectory: self.bulkMemory.directory)
    }

    /// Takes health samples of the store's file, on any thread.
    package var health: StoreHealth { StoreHealth(path: self.path, directory: self.reader.spoolDirectory) }

    /// The version of the SQLite library in use, such as "3.40.1".
    package static var sqliteVersion: String { String(cString: sqlite3_libversion()) }

    /// Runs work on the writer's connection. Calls inside of `body` cost nothing.
    package func access<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        try self.connection.access(body)
    }

    /// From now on a commit is durable only after `logSync` has made it so, and nothing that it changed may be handed
    /// out before. Call it once. Does nothing if commits need not survive a power loss.
    package func deferSync() throws(StoreError) {
        guard self.volatileDirectory == nil, self.membership == nil else { return }
        self.logSync = try self.access { () throws(StoreError) in try self.connection.deferSync() }
    }

    /// Moves committed pages from the write-ahead log into the file if the log is long enough. Call it regularly,
    /// outside a group, when no request is waiting. After a failure do not write to the store any more.
    package func checkpointIfDue() throws(StoreError) {
        guard self.isCheckpointDue else { return }
        try self.access { () throws(StoreError) in try self.connection.checkpoint() }
    }

    /// Whether the stop signal is raised: no new transaction may begin.
    package var isStopping: Bool { self.stopSignal.isRaised }
    /// Whether the log is long enough for `checkpointIfDue`.
    package var isCheckpointDue: Bool { self.connection.hasLogPages(self.checkpointPages) }

    /// Moves everything from the write-ahead log into the file and closes it. The last call.
    ///
    /// After the stop signal the log stays as it is, because moving it may take long; the next start reads it.
    package func close() throws(StoreError) {
        if self.volatileDirectory == nil {
            guard !self.isStopping, try self.checkpointAllUnlessStopped() else { return self.leaveLog() }
        }
        try self.connection.close()
        if let directory = self.volatileDirectory {
            StoreFile.removeVolatileDirectory(directory, store: self.path)
        }
        self.lock = nil
    }

    /// Returns `false` if the stop signal interrupted the checkpoint.
    private func checkpointAllUnlessStopped() throws(StoreError) -> Bool {
        do throws(StoreError) {
            try self.checkpointAll()
            return true
        } catch {
            guard self.isStopping, case .sqlite(let code, _) = error, code & 0xff == SQLITE_INTERRUPT else {
                throw error
            }
            return false
        }
    }

    /// Leaves the connection open until the process ends, because closing it would make SQLite checkpoint the log.
    private func leaveLog() {
        self.stopSignal.detach()
        self.logSync?.end(.stopping)
        self.lock = nil
        _ = Unmanaged.passRetained(self)
    }

    private func checkpointAll() throws(StoreError) {
        try self.access { () throws(StoreError) in try self.connection.checkpointAll() }
    }

    /// Leaves a failed store open until the process ends: the checkpoint on closing could make a failed write look like
    /// a success. The last call.
    package func abandon(_ failure: StoreError) {
        self.logSync?.end(failure)
        if case .replaced = failure {
            // The log is next to the new file. The checkpoint moves its content into the old file, wherever that is
            // now, and an empty log does no harm to the new one.
            try? self.checkpointAll()
        }
        _ = Unmanaged.passRetained(self)
    }

    /// Returns the error that opening a store reports for an SQLite error.
    package static func openingError(_ error: StoreError, path: String) -> StoreError {
        guard case .sqlite(let code, let message) = error else { return error }
        switch code & 0xff {
        case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM:
            return .cannotOpen(path: path, reason: message)
        case SQLITE_CORRUPT:
            return .corrupt(path: path, reason: message)
        case SQLITE_NOTADB:
            return .notAStore(path: path, reason: message)
        default:
            return error
        }
    }
}

import GRDB
import GRDBSQLite
import NestModel

/// What a migration on opening has done.
package struct MigrationReport: Sendable {
    /// In which the model differs from that of before, in words.
    package var differences: [String]
    /// The store as it was.
    package var copyPath: String
}

/// A store: the object graph in one SQLite file, and the only connection that writes it.
///
/// Synchronous and not Sendable: created, used and closed on one thread. Others read through `reader`.
package final class Store {
    package struct Configuration: Sendable {
        package enum Location: Sendable, Equatable {
            case file(String)
            /// A private directory of the machine's memory file system, removed at the end.
            case memory
        }

        package var location: Location
        package var model: ManagedObjectModel
        /// Objects of a bulk write from which on they are streamed to the journal. For tests.
        package var streamedFrom = 4_096
        /// What a bulk write holds in memory of each thing that it must remember. For tests.
        package var bulkObjectsInMemoryMax = Limits.bulkObjectsInMemoryMax
        /// Change sets above this go into blocks, so that a group's row of the journal stays small. For tests.
        package var inlineBytesMax = 64 << 10
        /// The distance of the sparse positions of objects that are appended. For tests.
        package var orderStep: Int64 = 1 << 32

        package init(location: Location, model: ManagedObjectModel) {
            self.location = location
            self.model = model
        }
    }

    package let path: String
    package let layout: ModelLayout
    /// Names the line of states that revisions count: new when a store is created.
    package let historyID: Identifier128
    /// The newest durable revision.
    package internal(set) var head: Revision
    /// Revisions after this one are in the journal.
    package internal(set) var oldestBase: Revision
    package internal(set) var nextObjectID: Int64
    /// What was migrated when the store was opened.
    package let migration: MigrationReport?

    let connection: Connection
    let journal: Journal
    package let streamedFrom: Int
    let inlineBytesMax: Int
    let bulkMemory: BulkMemory
    let orderStep: Int64
    let tables: [EntityTable]
    /// Reads what the store holds now, inside a transaction what that has done too.
    package let objects: ObjectReader
    var journalBytes: Int64
    /// Held until `close`.
    private var lock: StoreLock?
    private let volatileDirectory: String?

    /// Opens the store, or creates it when there is no file; `newHistoryID` is used for a new one.
    package init(_ configuration: Configuration, newHistoryID: Identifier128) throws(StoreError) {
        let faults = configuration.model.faults
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
        self.lock = try StoreLock(storePath: self.path)
        let exists = try StoreFile.check(self.path)
        do {
            self.connection = try Connection(
                path: self.path,
                role: .writer(isVolatile: configuration.location == .memory)
            )
        } catch {
            throw Self.openingError(error, path: self.path)
        }
        let connection = self.connection
        do {
            let opened = try connection.access { [path] () throws -> Opened in
                // A process killed while it made the store leaves an SQLite file with nothing in it.
                let isNew = try !exists || Self.isBlank(connection)
                return try isNew
                    ? Self.make(connection, configuration.model, path: path, historyID: newHistoryID)
                    : Self.open(connection, configuration.model, path: path, newHistoryID: newHistoryID)
            }
            self.bulkMemory = BulkMemory(
                connection: connection,
                directory: Self.directory(of: self.path),
                countMax: configuration.bulkObjectsInMemoryMax
            )
            self.layout = opened.layout
            self.tables = opened.tables
            self.objects = ObjectReader(connection, opened.layout, opened.tables)
            self.journal = opened.journal
            self.historyID = opened.historyID
            self.head = opened.head
            self.oldestBase = opened.base
            self.nextObjectID = opened.nextObjectID
            self.journalBytes = opened.journalBytes
            self.migration = opened.migration
        } catch {
            throw Self.openingError(StoreError(error), path: self.path)
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
        var journalBytes: Int64
        var migration: MigrationReport?

        init(
            _ connection: Connection,
            _ model: ManagedObjectModel,
            path: String,
            migration: MigrationReport? = nil
        ) throws {
            self.layout = ModelLayout(model)
            self.tables = self.layout.entities.map { EntityTable($0, connection) }
            self.journal = Journal(connection: connection, layout: self.layout)
            self.migration = migration
            guard let newest = try self.journal.newest(), let base = try self.journal.oldestBase() else {
                throw StoreError.corrupt(path: path, reason: "the journal is empty")
            }
            self.historyID = try Store.historyID(connection, path: path)
            self.head = newest.revision
            self.base = base
            self.nextObjectID = newest.nextObjectID
            self.journalBytes = try self.journal.size().bytes
        }
    }

    private static func make(
        _ connection: Connection,
        _ model: ManagedObjectModel,
        path: String,
        historyID: Identifier128
    ) throws -> Opened {
        let layout = ModelLayout(model)
        try self.create(connection, layout, layout.entities.map { EntityTable($0, connection) }, historyID: historyID)
        return try Opened(connection, model, path: path)
    }

    private static func open(
        _ connection: Connection,
        _ model: ManagedObjectModel,
        path: String,
        newHistoryID: Identifier128
    ) throws -> Opened {
        let stored = try self.storedModel(connection, path: path)
        let wanted = model.renumbered(like: stored)
        try self.bringUpToDate(connection)
        try self.beginHistoryOfCopy(connection, newHistoryID)
        guard wanted.hash != stored.hash else { return try Opened(connection, wanted, path: path) }
        guard let newest = try Journal(connection: connection, layout: ModelLayout(stored)).newest() else {
            throw StoreError.corrupt(path: path, reason: "the journal is empty")
        }
        let migration = try Migration(connection, path: path, from: stored, to: wanted, head: newest.revision)
        let copy = try migration.run()
        let report = MigrationReport(differences: wanted.differences(from: stored).map(\.text), copyPath: copy)
        return try Opened(connection, wanted, path: path, migration: report)
    }

    /// The directory that a store is in, as its path says.
    package static func directory(of path: String) -> String {
        let directory = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        return directory.isEmpty ? "/" : directory
    }

    /// Reads beside the writer, from any thread.
    package var reader: StoreReader {
        StoreReader(path: self.path, layout: self.layout, spoolDirectory: self.bulkMemory.directory)
    }

    /// The SQLite library in use, like "3.40.1".
    package static var sqliteVersion: String { String(cString: sqlite3_libversion()) }

    /// Does a batch of work on the writer's connection.
    package func access<Result>(_ body: () throws -> Result) rethrows -> Result {
        try self.connection.access(body)
    }

    /// Moves everything from the write-ahead log into the file and closes it. The last call.
    package func close() throws(StoreError) {
        if self.volatileDirectory == nil {
            do {
                try self.connection.access { try self.connection.statement("PRAGMA wal_checkpoint(TRUNCATE)").run() }
            } catch {
                throw StoreError(error)
            }
        }
        try self.connection.close()
        if let directory = self.volatileDirectory {
            StoreFile.removeVolatileDirectory(directory, store: self.path)
        }
        self.lock = nil
    }

    private static func openingError(_ error: StoreError, path: String) -> StoreError {
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

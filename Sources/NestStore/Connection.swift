import GRDB
import GRDBSQLite
import NestModel

/// One SQLite connection with nest's settings. Not Sendable: it is used where it was made.
///
/// GRDB opens, configures and closes it. Work happens inside `access`, which takes GRDB's queue once for a whole batch;
/// calls inside it nest without cost.
final class Connection {
    enum Role {
        /// The only connection that writes, and the only one that checkpoints: SQLite before 3.51.3 can corrupt a
        /// write-ahead log that two connections checkpoint.
        case writer(isVolatile: Bool)
        case reader
        /// Writes a copy of a store that nobody uses yet.
        case copy
    }

    let path: String
    private let queue: DatabaseQueue
    private let database: Database
    private var statements: [String: Statement] = [:]
    /// Every statement prepared, so that closing leaves none behind.
    private var prepared: [Statement] = []

    init(path: String, role: Role) throws(StoreError) {
        self.path = path
        var configuration = Configuration()
        configuration.allowsUnsafeTransactions = true
        configuration.foreignKeysEnabled = true
        configuration.busyMode = .timeout(5)
        configuration.label = "nest"
        if case .reader = role { configuration.readonly = true }
        configuration.prepareDatabase { database in
            for pragma in Self.pragmas(role) { try database.execute(sql: "PRAGMA \(pragma)") }
        }
        do {
            // An absolute or ./ path is never taken for a URI or for :memory:.
            self.queue = try DatabaseQueue(path: path, configuration: configuration)
            self.database = self.queue.unsafeReentrantWrite { $0 }
        } catch {
            throw StoreError(error)
        }
    }

    /// Pages in the write-ahead log at which a commit checkpoints it: more of them are written once for many changes, and the
    /// commit that does it takes longer.
    private static let checkpointPages = 2_000

    private static func pragmas(_ role: Role) -> [String] {
        let common = ["trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"]
        switch role {
        case .writer(let isVolatile):
            // What a savepoint has changed is kept outside the memory too: that grows with the change.
            return common + [
                "temp_store = \(isVolatile ? "MEMORY" : "FILE")", "page_size = 4096", "journal_mode = WAL",
                "synchronous = \(isVolatile ? "OFF" : "FULL")",
                "wal_autocheckpoint = \(Self.checkpointPages)", "secure_delete = OFF", "cache_size = -65536",
            ]
        case .copy:
            return common + ["temp_store = MEMORY", "synchronous = FULL"]
        case .reader:
            return common + ["temp_store = MEMORY", "wal_autocheckpoint = 0", "query_only = ON", "cache_size = -8192"]
        }
    }

    func access<Result>(_ body: () throws -> Result) rethrows -> Result {
        try self.queue.unsafeReentrantWrite { _ in try body() }
    }

    /// A statement of the caller's own, who keeps it no longer than the connection is open.
    func prepare(_ sql: String) throws(StoreError) -> Statement {
        let statement = try Statement(self.database, sql)
        self.prepared.append(statement)
        return statement
    }

    /// The statement for this SQL, prepared once; found by its text, so not for what every row needs.
    func statement(_ sql: String) throws(StoreError) -> Statement {
        if let statement = self.statements[sql] { return statement }
        let statement = try self.prepare(sql)
        self.statements[sql] = statement
        return statement
    }

    /// Runs SQL that is not on the row path.
    func execute(_ sql: String) throws(StoreError) {
        do {
            try self.database.execute(sql: sql)
        } catch {
            throw StoreError(error)
        }
    }

    var isInTransaction: Bool { self.database.isInsideTransaction }

    /// Foreign keys that the open transaction would break.
    func deferredForeignKeyViolations() -> Int {
        var current: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(self.database.sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return Int(current)
    }

    func close() throws(StoreError) {
        self.statements.removeAll()
        for statement in self.prepared { statement.finalize() }
        self.prepared.removeAll()
        do {
            try self.queue.close()
        } catch {
            throw StoreError(error)
        }
    }
}

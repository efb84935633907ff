import CSQLite
import GRDB
import GRDBSQLite
import NestModel
import NestSchema

/// One SQLite connection with nest's settings. Not Sendable: it is used on the thread that created it.
///
/// GRDB opens, configures and closes it. Work runs inside `access`, which enters GRDB's queue. That takes as long as a
/// tenth of a small commit, so the engine's thread enters it once; nested calls cost nothing.
final class Connection {
    enum Role {
        /// The only connection that writes, and the only one that checkpoints: SQLite before 3.51.3 can corrupt a
        /// write-ahead log that two connections checkpoint.
        case writer(Durability)
        case reader
        /// Creates a store or a copy that is not in use yet: without a write-ahead log.
        case copy
    }

    /// What a commit of the writer survives.
    enum Durability {
        /// A power loss.
        case full
        /// A power loss, except for the newest commits: the store is a copy of the cluster's log, which has them.
        case replica
        /// Nothing: the store ends with the process.
        case volatile
    }

    let path: String
    private let queue: DatabaseQueue
    private let database: Database
    /// Whether this thread is inside of `access`.
    private var isEntered = false
    private var statements: [String: Statement] = [:]
    /// All prepared statements, so that `close` can finalize them.
    private var prepared: [Statement] = []
    /// What SQLite reports after each commit of the writer, on the thread that commits.
    private final class Log {
        /// The number of pages in the write-ahead log.
        var pageCount = 0
        var sync: LogSync?
    }

    private let log = Log()
    /// Measures the requests that run on this connection.
    let meter: WorkMeter
    let pendingInserts = PendingInserts()
    private let stopSignal: StopSignal?
    /// The rows of the tables that differ from the graph, as the open transaction sees them.
    var preparedRows = PreparedRows() {
        didSet {
            self.hasHiddenRows = !self.preparedRows.hidden.isEmpty
            self.hasPreparedRows = self.hasHiddenRows || self.preparedRows.stamping != nil
        }
    }
    /// Every read of a row asks for these: they cost one comparison.
    private(set) var hasHiddenRows = false
    private(set) var hasPreparedRows = false
    var hidden: IDRuns { self.preparedRows.hidden }

    /// `nil` if all rows are as in the graph.
    var preparedRowsIfAny: PreparedRows? { self.hasPreparedRows ? self.preparedRows : nil }

    /// Whether a row is not in the graph.
    @inline(__always)
    func isHidden(_ id: ObjectID) -> Bool { self.hasHiddenRows && self.preparedRows.hidden.contains(id) }

    /// A process that has used SQLite before goes on counting.
    private static let isWithoutMemoryCounts = nest_sqlite_without_memory_counts() == SQLITE_OK

    init(path: String, role: Role, stopSignal: StopSignal? = nil) throws(StoreError) {
        _ = Self.isWithoutMemoryCounts
        self.path = path
        self.meter = WorkMeter(stopSignal)
        self.stopSignal = stopSignal
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
            // SQLite never treats an absolute or ./ path as a URI or as :memory:.
            self.queue = try DatabaseQueue(path: path, configuration: configuration)
            self.database = self.queue.unsafeReentrantWrite { $0 }
        } catch {
            throw StoreError(grdb: error)
        }
        // GRDB would hear of each commit for observers, of which there are none.
        sqlite3_commit_hook(self.database.sqliteConnection, nil, nil)
        sqlite3_rollback_hook(self.database.sqliteConnection, nil, nil)
        if case .writer = role { self.watchLog() }
        stopSignal?.attach(self.database.sqliteConnection)
    }

    private static func pragmas(_ role: Role) -> [String] {
        let common = ["trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"]
        switch role {
        case .writer(let durability):
            let synchronous =
                switch durability {
                case .full: "FULL"
                case .replica: "NORMAL"
                case .volatile: "OFF"
                }
            // SQLite keeps a savepoint's changes in a file, because they grow with the request.
            return common + [
                "temp_store = \(durability == .volatile ? "MEMORY" : "FILE")", "page_size = 4096",
                "journal_mode = WAL", "synchronous = \(synchronous)", "wal_autocheckpoint = 0", "secure_delete = OFF",
                "cache_size = -65536",
            ]
        case .copy:
            return common + ["temp_store = MEMORY", "synchronous = FULL"]
        case .reader:
            return common + ["temp_store = MEMORY", "wal_autocheckpoint = 0", "query_only = ON", "cache_size = -8192"]
        }
    }

    var handle: OpaquePointer? { self.database.sqliteConnection }

    func access<Result, Failure: Error>(_ body: () throws(Failure) -> Result) throws(Failure) -> Result {
        if self.isEntered { return try body() }
        self.isEntered = true
        defer { self.isEntered = false }
        // GRDB rethrows untyped errors: the `Result` keeps the type.
        let result = self.queue.unsafeReentrantWrite { _ in
            Swift.Result { () throws(Failure) in try body() }
        }
        return try result.get()
    }

    /// Returns a new statement that the caller owns. It is valid until the connection closes.
    func prepare(_ sql: String) throws(StoreError) -> Statement {
        let statement = try Statement(self.handle, sql, self.meter, self.pendingInserts)
        self.prepared.append(statement)
        return statement
    }

    /// Returns the statement for this SQL, prepared once. It is looked up by its text: do not use it for statements
    /// that run for every row.
    func statement(_ sql: String) throws(StoreError) -> Statement {
        if let statement = self.statements[sql] { return statement }
        let statement = try self.prepare(sql)
        self.statements[sql] = statement
        return statement
    }

    /// Returns a statement whose SQL may leave hidden rows out. While there are hidden rows it is not kept: the next
    /// ones have other ids.
    func statementForGraph(_ sql: String) throws(StoreError) -> Statement {
        if !self.hasHiddenRows { return try self.statement(sql) }
        return try Statement(self.handle, sql, self.meter, self.pendingInserts)
    }

    /// The statements that begin and end each commit.
    private var beginStatement: Statement?
    private var commitStatement: Statement?

    /// Begins a transaction that writes.
    func beginWriting() throws(StoreError) {
        if self.beginStatement == nil { self.beginStatement = try self.prepare("BEGIN IMMEDIATE") }
        try self.beginStatement?.run()
    }

    func commit() throws(StoreError) {
        if self.commitStatement == nil { self.commitStatement = try self.prepare("COMMIT") }
        try self.commitStatement?.run()
    }

    /// The number of cached statements.
    var statementCount: Int { self.statements.count }

    /// Runs SQL. Not for statements that run for every row.
    func execute(_ sql: String) throws(StoreError) {
        try self.pendingInserts.write()
        do {
            try self.database.execute(sql: sql)
        } catch {
            throw StoreError(grdb: error)
        }
    }

    // MARK: Checkpoints

    private func watchLog() {
        let hook: @convention(c) (UnsafeMutableRawPointer?, OpaquePointer?, UnsafePointer<CChar>?, Int32) -> Int32 = {
            log,
            _,
            _,
            count in
            guard let log else { return SQLITE_OK }
            let watched = Unmanaged<Log>.fromOpaque(log).takeUnretainedValue()
            watched.pageCount = Int(count)
            watched.sync?.commitEnds()
            return SQLITE_OK
        }
        // The connection keeps it.
        sqlite3_wal_hook(self.database.sqliteConnection, hook, Unmanaged.passUnretained(self.log).toOpaque())
    }

    /// Notes when a commit begins, and when one that has begun is rolled back.
    private func watchCommits() {
        let log = Unmanaged.passUnretained(self.log).toOpaque()
        sqlite3_commit_hook(
            self.handle,
            { log in
                if let log { Unmanaged<Log>.fromOpaque(log).takeUnretainedValue().sync?.commitBegins() }
                return 0
            },
            log
        )
        sqlite3_rollback_hook(
            self.handle,
            { log in
                if let log { Unmanaged<Log>.fromOpaque(log).takeUnretainedValue().sync?.commitEnds() }
            },
            log
        )
    }

    /// Whether the write-ahead log has at least `pages` pages.
    func hasLogPages(_ pages: Int) -> Bool { self.log.pageCount >= pages }

    /// From now on a commit only writes; what is returned makes it durable.
    func deferSync() throws(StoreError) -> LogSync {
        var file: UnsafeMutablePointer<sqlite3_file>?
        // SQLite opens the log when it reads for the first time.
        try self.execute("SELECT count(*) FROM sqlite_schema")
        let code = sqlite3_file_control(self.handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        guard code == SQLITE_OK, let file, file.pointee.pMethods != nil else {
            throw StoreError(database: self.handle, code: code == SQLITE_OK ? SQLITE_CANTOPEN : code)
        }
        let sync = LogSync(file, path: "\(self.path)-wal")
        // The first sync of a new log syncs its directory, too: not on another thread.
        try sync.sync()
        try self.execute("PRAGMA synchronous = NORMAL")
        self.log.sync = sync
        self.watchCommits()
        return sync
    }

    /// Moves as much as possible from the write-ahead log into the file. SQLite's automatic checkpoint within a commit
    /// hides failures.
    func checkpoint() throws(StoreError) {
        Failpoint.checkpointBegun.pass()
        let code = sqlite3_wal_checkpoint_v2(
            self.database.sqliteConnection,
            nil,
            SQLITE_CHECKPOINT_PASSIVE,
            nil,
            nil
        )
        // With readers or a full disk the log stays longer. An interrupted checkpoint has moved nothing: the next start
        // reads the log.
        if code & 0xff == SQLITE_INTERRUPT { return }
        guard [SQLITE_OK, SQLITE_BUSY, SQLITE_FULL].contains(code & 0xff) else {
            throw StoreError(database: self.database.sqliteConnection, code: code)
        }
        self.log.pageCount = 0
        Failpoint.checkpointDone.pass()
    }

    /// Moves everything from the write-ahead log into the file, and empties the log.
    func checkpointAll() throws(StoreError) {
        Failpoint.checkpointBegun.pass()
        try self.statement("PRAGMA wal_checkpoint(TRUNCATE)").run()
        Failpoint.checkpointDone.pass()
    }

    /// Begins a read transaction.
    func beginReading() throws(StoreError) {
        try self.statement("BEGIN").run()
        self.preparedRows = try PreparedRows.read(self) ?? PreparedRows()
    }

    /// The number of rows that the last statement has inserted, updated or deleted.
    var changedRowCount: Int { Int(sqlite3_changes64(self.database.sqliteConnection)) }

    var isInTransaction: Bool { self.database.isInsideTransaction }

    /// Rolls back the open transaction, if there is one: SQLite ends it itself after some errors.
    func rollBack() throws(StoreError) {
        self.pendingInserts.discard()
        if self.isInTransaction { try self.statement("ROLLBACK").run() }
    }

    /// Rolls back to a savepoint, which stays.
    func rollBack(to savepoint: String) throws(StoreError) {
        self.pendingInserts.discard()
        try self.statement("ROLLBACK TO \(savepoint)").run()
    }

    /// Returns the number of foreign keys that the open transaction would break.
    func deferredForeignKeyViolations() -> Int {
        var current: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(self.database.sqliteConnection, SQLITE_DBSTATUS_DEFERRED_FKS, &current, &highest, 0)
        return Int(current)
    }

    func close() throws(StoreError) {
        self.stopSignal?.detach()
        self.log.sync?.end(.stopping)
        self.statements.removeAll()
        (self.beginStatement, self.commitStatement) = (nil, nil)
        for statement in self.prepared { statement.finalize() }
        self.prepared.removeAll()
        do {
            try self.queue.close()
        } catch {
            throw StoreError(grdb: error)
        }
    }
}

extension StoreError {
    /// GRDB declares no error type; the errors that it throws here are always `DatabaseError`s.
    fileprivate init(grdb error: any Error) {
        guard let error = error as? DatabaseError else {
            self = .sqlite(code: SQLITE_ERROR, message: "\(error)")
            return
        }
        self = .sqlite(code: error.extendedResultCode.rawValue, message: error.message ?? "unknown error")
    }
}

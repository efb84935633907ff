import GRDB
import Logging
import NestClient
import NestModel
import NestProtocol

/// The tables of a cache in its file. Every row has a checksum, because SQLite finds only some damage by itself.
///
///     model   the last model
///     view    one state: what `CachedView` has, without frames, and when it was shown last
///     piece   frames of a view, those of one batch together. Its id is the id of the view, and a number from 0
struct CacheStorage: Sendable {
    private let database: DatabaseQueue
    private let lock: CacheLock

    /// What a batch has done.
    struct Written {
        var evictionCount = 0
        /// Why views were dropped.
        var faults: [String] = []
    }

    /// "nest" in ASCII.
    static let applicationID = 0x6e65_7374
    private static let version = 2
    private static let busySeconds = 2.0

    private static let tables = """
        CREATE TABLE model (
            id INTEGER PRIMARY KEY CHECK (id = 1), identity INTEGER NOT NULL, hash INTEGER NOT NULL, bytes BLOB NOT NULL,
            checksum INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE view (
            id INTEGER PRIMARY KEY, request BLOB NOT NULL UNIQUE, identity INTEGER NOT NULL,
            modelHash INTEGER NOT NULL, historyID BLOB NOT NULL, revision INTEGER NOT NULL, digest INTEGER NOT NULL, recording INTEGER NOT NULL, sequence INTEGER NOT NULL,
            pieces INTEGER NOT NULL, snapshotBytes INTEGER NOT NULL, bytes INTEGER NOT NULL, shown INTEGER NOT NULL,
            checksum INTEGER NOT NULL
        ) STRICT;
        CREATE TABLE piece (id INTEGER PRIMARY KEY, frames BLOB NOT NULL, checksum INTEGER NOT NULL) STRICT;
        """

    // MARK: Opening

    /// Opens the file, or makes it. `nil`: it is damaged, and another process has it open. `isDamaged`: a read or
    /// write has found damage.
    static func open(_ path: String, _ logger: Logger, isDamaged: Bool = false) throws -> CacheStorage? {
        let lock = try CacheLock(path: path + "-lock")
        do {
            if !isDamaged { return CacheStorage(database: try Self.connect(path), lock: lock) }
        } catch  where Self.isDamage(error) {
            logger.warning("the cache \(path) is damaged, or is no cache of this version: \(error)")
        }
        guard lock.isAlone() else {
            logger.warning("the cache \(path) is not used: it is damaged, and another process has it open")
            return nil
        }
        defer { lock.share() }
        try makeOwnFile(path)
        for suffix in ["", "-wal", "-shm"] { try removeFile(path + suffix) }
        return CacheStorage(database: try Self.connect(path), lock: lock)
    }

    private static func connect(_ path: String) throws -> DatabaseQueue {
        try makeOwnFile(path)
        var configuration = Configuration()
        configuration.busyMode = .timeout(Self.busySeconds)
        configuration.label = "nest.cache"
        configuration.prepareDatabase { database in
            // Before anything else is written: a file that is not empty always says that it is a cache.
            if try Int.fetchOne(database, sql: "PRAGMA application_id") == 0 {
                try database.execute(sql: "PRAGMA application_id = \(Self.applicationID)")
            }
            for pragma in [
                "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0", "secure_delete = ON",
                "journal_mode = WAL", "synchronous = NORMAL", "journal_size_limit = 4194304",
            ] {
                try database.execute(sql: "PRAGMA \(pragma)")
            }
        }
        // SQLite never treats an absolute or ./ path as a URI or as :memory:.
        let safe = path.hasPrefix("/") ? path : "./\(path)"
        let queue = try DatabaseQueue(path: safe, configuration: configuration)
        try queue.write { database in
            let application = try Int.fetchOne(database, sql: "PRAGMA application_id") ?? 0
            let version = try Int.fetchOne(database, sql: "PRAGMA user_version") ?? 0
            let isNew = try Int.fetchOne(database, sql: "SELECT count(*) FROM sqlite_schema") == 0
            if isNew, application == Self.applicationID, version == 0 {
                try database.execute(sql: Self.tables)
                try database.execute(sql: "PRAGMA user_version = \(Self.version)")
            } else if application != Self.applicationID || version != Self.version {
                throw CacheDamage("application \(application), version \(version)")
            }
            // Both tables can be read.
            _ = try SQLRow.fetchOne(database, sql: "SELECT * FROM model")
            _ = try SQLRow.fetchOne(database, sql: "SELECT * FROM view LIMIT 1")
            _ = try SQLRow.fetchOne(database, sql: "SELECT * FROM piece LIMIT 1")
        }
        return queue
    }

    func close() {
        try? self.database.close()
        self.lock.release()
    }

    /// Whether an error means that the file is damaged.
    static func isDamage(_ error: any Error) -> Bool {
        if error is CacheDamage || error is DecodingFailure { return true }
        guard let error = error as? DatabaseError else { return false }
        // A statement that does not compile does so because the schema is not that of a cache. A file that can be
        // written is read-only if its header says so.
        let codes: [ResultCode] = [
            .SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_FORMAT, .SQLITE_MISMATCH, .SQLITE_READONLY,
            .SQLITE_CONSTRAINT,
        ]
        return codes.contains(error.resultCode)
    }

    // MARK: Reading

    func model() throws -> CachedModel? {
        try self.database.read { database in
            guard let row = try SQLRow.fetchOne(database, sql: "SELECT * FROM model") else { return nil }
            let model = CachedModel(
                identity: try row.number("identity"),
                hash: try row.number("hash"),
                bytes: try row.bytes("bytes")
            )
            guard try row.number("checksum") == model.checksum else { throw CacheDamage("the model") }
            return model
        }
    }

    func view(_ request: [UInt8]) throws -> CachedView? {
        try self.database.read { database in
            try StoredView.find(request, database)?.view(database)
        }
    }

    // MARK: Writing

    func clear() throws {
        try self.database.write { database in
            for table in ["model", "view", "piece"] { try database.execute(sql: "DELETE FROM \(table)") }
        }
        try self.database.writeWithoutTransaction { database in
            try database.execute(sql: "VACUUM")
            _ = try database.checkpoint(.truncate)
        }
    }

    func write(_ changes: UnwrittenChanges, byteCountMax: Int) throws -> Written {
        try self.database.write { database in
            var written = Written()
            if let model = changes.model {
                try database.execute(
                    sql: "INSERT OR REPLACE INTO model (id, identity, hash, bytes, checksum) VALUES (1, ?, ?, ?, ?)",
                    arguments: [
                        model.identity.stored, model.hash.stored, model.bytes.stored, model.checksum.stored,
                    ]
                )
            }
            for (request, list) in changes.views {
                for change in list { try Self.write(change, request, database, &written) }
            }
            for request in changes.shown {
                try database.execute(
                    sql: "UPDATE view SET shown = (SELECT max(shown) + 1 FROM view) WHERE request = ?",
                    arguments: [request.stored]
                )
            }
            try Self.evict(byteCountMax, database, &written)
            return written
        }
    }

    private static func write(
        _ change: UnwrittenChanges.ViewChange,
        _ request: [UInt8],
        _ database: Database,
        _ written: inout Written
    ) throws {
        if let append = change.append { return try Self.write(append, database, &written) }
        let old = try StoredView.find(request, database)
        try old?.delete(database)
        if let view = change.replacement {
            guard view.frames.encoded.count <= Limits.cacheViewBytesMax else {
                written.faults.append("it is too large")
                return
            }
            var stored = StoredView(view, shown: old?.shown ?? 0)
            try stored.insert(database)
            try stored.replacePieces(with: view.frames, database)
        }
    }

    private static func write(_ append: CacheAppend, _ database: Database, _ written: inout Written) throws {
        guard var stored = try StoredView.find(append.request, database),
            append.follows(
                recording: stored.head.recording,
                sequence: stored.head.sequence,
                revision: stored.head.revision
            )
        else { return }
        stored.head.sequence += append.frames.count
        stored.head.revision = append.revision
        stored.head.digest = append.digest
        if !append.frames.isEmpty { try stored.add(append.frames, database) }
        guard stored.needsRewrite else { return try stored.update(database) }
        let view = try stored.view(database)
        let rewritten: CachedView
        do throws(CacheFault) {
            rewritten = try view.rewritten()
        } catch {
            written.faults.append("\(error)")
            return try stored.delete(database)
        }
        guard rewritten.frames.encoded.count <= Limits.cacheViewBytesMax else {
            written.faults.append("it has become too large")
            return try stored.delete(database)
        }
        try stored.replacePieces(with: rewritten.frames, database)
    }

    /// Removes the views that were least recently shown.
    private static func evict(_ byteCountMax: Int, _ database: Database, _ written: inout Written) throws {
        var total = try Int.fetchOne(database, sql: "SELECT coalesce(sum(bytes), 0) FROM view") ?? 0
        while total > byteCountMax {
            let sql = "SELECT request FROM view ORDER BY shown, id LIMIT 1"
            guard let request = try SQLRow.fetchOne(database, sql: sql)?.bytes("request"),
                let oldest = try StoredView.find(request, database)
            else { throw CacheDamage("the sizes of the views") }
            try oldest.delete(database)
            total -= oldest.byteCount
            written.evictionCount += 1
        }
    }
}

/// A row, or a file, that is not what was written.
struct CacheDamage: Error, CustomStringConvertible {
    let description: String

    init(_ what: String) {
        self.description = "\(what) is not as it was written"
    }
}

import Glibc
import NestModel
import NestSchema

/// Files of stores as nodes of a cluster find, make and leave them.
extension Store {
    /// The store at a path that no server has open.
    package enum ReplicaFile: Sendable, Equatable {
        case missing
        /// A store of no cluster.
        case ordinary
        case replica(LogState, historyID: Identifier128)
    }

    /// Returns what is at a path. Changes nothing.
    package static func replicaFile(at path: String) throws(StoreError) -> ReplicaFile {
        let resolved = try StoreFile.resolve(path)
        if try StoreFile.check(resolved) == .missing { return .missing }
        return try self.reading(path) { (connection, path) throws(StoreError) in
            _ = try self.storedModel(connection, path: path)
            guard let state = try LogTable.read(connection, path: path) else { return .ordinary }
            return .replica(state, historyID: try self.historyID(connection, path: path))
        }
    }

    /// Makes an ordinary store the first state of a new log, and returns the record of position 0, a leader record.
    /// Durable on return. The last call but `close` and `reader.snapshot`: as a store of a cluster it is opened anew.
    /// Precondition: an ordinary store.
    package func enterCluster(
        store: Int64,
        writer: LogRecord.Writer,
        server: LogServer,
        now: Int64
    ) throws(StoreError) -> (record: LogRecord, position: LogPosition) {
        precondition(self.membership == nil, "an ordinary store")
        try self.access { () throws(StoreError) in try self.finishPreparations() }
        let newest = try self.access { () throws(StoreError) in try self.newestTime() }
        let record = try LogRecord(
            .leader,
            writer: writer,
            time: max(now, newest),
            head: self.head,
            notes: [.leader(server, historyID: self.historyID)],
            directory: self.bulkMemory.directory
        )
        let position = LogPosition(position: 0, chain: try Chain.empty.followed(by: record.bytes, at: 0))
        let state = LogState(store: store, position: position, writer: writer).behind(record, at: position)
        try self.inTransaction { () throws(StoreError) in try LogTable.create(state, self.connection) }
        return (record, position)
    }

    /// Returns the time of the newest transaction; 0 if there is none.
    private func newestTime() throws(StoreError) -> Int64 {
        let statement = try self.connection.statement("SELECT ifnull(max(time), 0) FROM nest_journal")
        defer { statement.reset() }
        return try statement.step() ? statement.integer(0) : 0
    }

    /// Makes the file of a node an ordinary store with a new history. Returns `false` if it is one already.
    package static func leaveCluster(_ path: String, newHistoryID: Identifier128) throws(StoreError) -> Bool {
        let path = try StoreFile.resolve(path)
        guard try StoreFile.check(path) != .missing else {
            throw .cannotOpen(path: path, reason: "there is no such file")
        }
        let lock = try StoreLock(storePath: path)
        defer { withExtendedLifetime(lock) {} }
        do {
            let connection = try Connection(path: path, role: .writer(.full))
            defer { try? connection.close() }
            return try connection.access { () throws(StoreError) in
                _ = try self.storedModel(connection, path: path)
                guard try LogTable.read(connection, path: path) != nil else { return false }
                try connection.execute("BEGIN IMMEDIATE")
                do throws(StoreError) {
                    try LogTable.drop(connection)
                    try self.setHistoryID(connection, newHistoryID)
                    try connection.execute("COMMIT")
                } catch {
                    try connection.rollBack()
                    throw error
                }
                try connection.checkpointAll()
                return true
            }
        } catch {
            throw self.openingError(error, path: path)
        }
    }

    /// Goes behind a `cut` record, for `nestd cluster migrate`: open the replica with the new model and
    /// `migratesReplica`, make the cut, add `reader.snapshot` to the log, and then append the record behind `after`.
    /// Only the file of this migration goes there, so a cut that is not appended changes nothing.
    package func makeCut(
        as writer: LogRecord.Writer,
        now: Int64
    ) throws(StoreError) -> (record: LogRecord, position: LogPosition, after: LogPosition) {
        guard let membership else { preconditionFailure("a store of a cluster") }
        let after = membership.state.position
        let record = try LogRecord(
            .cut,
            writer: writer,
            time: max(now, membership.state.time),
            head: self.head,
            directory: self.bulkMemory.directory
        )
        let chain = try after.chain.followed(by: record.bytes, at: after.position + 1)
        let position = LogPosition(position: after.position + 1, chain: chain)
        let state = membership.state.behind(record, at: position)
        try self.inTransaction { () throws(StoreError) in try LogTable.write(state, self.connection) }
        membership.state = state
        return (record, position, after)
    }

    private func inTransaction(_ body: () throws(StoreError) -> Void) throws(StoreError) {
        try self.access { () throws(StoreError) in
            try self.connection.execute("BEGIN IMMEDIATE")
            do throws(StoreError) {
                try body()
                try self.connection.execute("COMMIT")
            } catch {
                try self.connection.rollBack()
                throw error
            }
        }
    }

    // MARK: Files

    /// Renames the file of a node whose store is on another line than the log, and returns its new name. Nothing of it
    /// is removed. Precondition: no `Store` of this process has it open.
    package static func setAside(_ path: String, divergedAt position: Int64) throws(StoreError) -> String {
        let path = try StoreFile.resolve(path)
        let lock = try StoreLock(storePath: path)
        defer { withExtendedLifetime(lock) {} }
        // Together with its log if the log cannot be moved into the file, because it is damaged.
        try? self.emptyLog(of: path)
        let name = "\(path).diverged-\(position)"
        var aside = name
        var number = 1
        while StoreFile.exists(aside) || StoreFile.exists(aside + "-wal") {
            number += 1
            aside = "\(name)-\(number)"
        }
        for suffix in ["", "-wal"] where StoreFile.exists(path + suffix) {
            guard rename(path + suffix, aside + suffix) == 0 else {
                throw .io(operation: "renaming \(path + suffix) to \(aside + suffix)", errno: errno)
            }
        }
        unlink(path + "-shm")
        try StoreFile.synchronize(self.directory(of: path))
        return aside
    }

    /// Moves the write-ahead log of a closed store into its file, and removes it: a file that takes the store's place
    /// must not find it. Does nothing if there is no store. Call it while you hold the lock.
    static func emptyLog(of path: String) throws(StoreError) {
        guard StoreFile.exists(path) else { return }
        let connection = try Connection(path: path, role: .writer(.full))
        defer { try? connection.close() }
        try connection.access { () throws(StoreError) in try connection.checkpointAll() }
        try connection.close()
        StoreFile.removeEmptyLog(path)
    }

    /// Returns the path of a store in a private directory of the machine's memory file system. Remove it with
    /// `removeVolatile` at the end.
    package static func makeVolatilePath() throws(StoreError) -> String {
        try StoreFile.makeVolatileDirectory() + "/nest.sqlite"
    }

    package static func removeVolatile(_ path: String) {
        StoreFile.removeVolatileDirectory(self.directory(of: path), store: path)
    }
}

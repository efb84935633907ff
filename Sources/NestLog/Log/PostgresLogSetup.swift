import NestModel
import NestStore

/// Makes the tables of the log, and brings a store into it. Every step may be repeated after a failure.
package final class PostgresLogSetup: Sendable {
    private let session: PostgresSession
    private let storeName: String

    private static let storeNameMax = 128

    /// Connects. Throws `unusable` if the server must not have a log.
    package init(_ settings: PostgresLog.Settings) throws(LogFailure) {
        guard 1...Self.storeNameMax ~= settings.storeName.unicodeScalars.count else {
            throw .unusable("a store's name has 1 to \(Self.storeNameMax) characters")
        }
        self.storeName = settings.storeName
        // What is acknowledged here must survive a failover.
        self.session = PostgresSession(try settings.parsedAddress(), commit: .everywhere)
        _ = try self.session.server()
    }

    /// Makes the tables if there are none. Several programs may do so at once.
    package func installSchema() throws(LogFailure) {
        let catalog = LogCatalog(self.session)
        if try catalog.version() == nil {
            try self.session.transaction(lock: LogSchema.installLock) {
                (connection, deadline) throws(PostgresFailure) in
                // Another program may have made them while this one waited for the lock. Only reading the catalog
                // sees that: a function like to_regclass may answer from what the session remembers.
                let found = try connection.run(LogSchema.findFormat, until: deadline)
                guard found.rows.isEmpty else { return }
                try connection.run(LogSchema.script, until: deadline)
            }
        }
        try catalog.checkVersion()
    }

    /// Returns the number that the store has, or will have, in the log. Throws `unusable` if it has records.
    package func reserveStore() throws(LogFailure) -> Int64 {
        let catalog = LogCatalog(self.session)
        try catalog.checkVersion()
        try self.session.perform(Self.reserve, [.text(self.storeName)])
        guard let store = try catalog.reserved(self.storeName) else {
            throw .unavailable("the store was removed from the log while it was made")
        }
        guard try !catalog.hasRecords(store) else { throw self.exists }
        return store
    }

    private var exists: LogFailure {
        .unusable("the log has a store '\(self.storeName)' already: start nestd with --log to join it")
    }

    /// Stores the first snapshot and then the first record, at position 0, which makes the store one of the cluster.
    package func createStore(
        record: LogRecord,
        chain: Chain,
        snapshot: LogSnapshot,
        part: (Int) throws(LogFailure) -> [UInt8]
    ) throws(LogFailure) {
        let store = try self.reserveStore()
        let snapshots = LogSnapshots(self.session, store: store)
        // Of an earlier attempt that did not get to its record.
        try snapshots.remove(snapshot.position.position)
        guard try snapshots.add(snapshot, by: record.writer.node, part: part) else { throw self.exists }
        let body: [UInt8]
        do throws(StoreError) {
            body = try record.bytes.all()
        } catch {
            throw .unusable("the first record cannot be read: \(error)")
        }
        let added = try self.session.perform(
            Self.first,
            [
                .long(store), .bytes(chain.bytes), .long(record.writer.epoch), .short(Int16(record.kind.rawValue)),
                .long(Int64(record.head.rawValue)), .bytes(body),
            ]
        )
        guard added.affected == 1 else {
            throw .unavailable("another program creates the store '\(self.storeName)' at the same time")
        }
        // Confirmed by a standby, or what was just made may vanish with a failover.
        guard !added.hasWarning else { throw .unavailable("a standby has not confirmed the new store") }
    }

    /// Removes a node that does not come back from the cluster's status: returns `false` if there is none of that name.
    /// A node that runs registers itself again.
    package func forget(node name: String) throws(LogFailure) -> Bool {
        try LogCatalog(self.session).checkVersion()
        return try self.session.perform(Self.forget, [.text(name)]).affected > 0
    }

    private static let reserve = PostgresStatement(
        "reserve",
        [.text],
        "INSERT INTO nest.store (name) VALUES ($1) ON CONFLICT DO NOTHING"
    )

    private static let first = PostgresStatement(
        "first",
        [.long, .bytes, .long, .short, .long, .bytes],
        """
        WITH epoch AS (UPDATE nest.store SET epoch = greatest(epoch, $3) WHERE store = $1)
        INSERT INTO nest.log (store, position, chain, epoch, kind, revision, body) SELECT $1, 0, $2, $3, $4, $5, $6
        WHERE EXISTS (SELECT FROM nest.snapshot WHERE store = $1 AND position = 0 AND chain = $2 AND complete)
        ON CONFLICT DO NOTHING
        """
    )

    private static let forget = PostgresStatement(
        "forget",
        [.text],
        """
        WITH gone AS (DELETE FROM nest.node WHERE name = $1 RETURNING node),
            notes AS (DELETE FROM nest.replica r USING gone WHERE r.node = gone.node)
        SELECT node FROM gone
        """
    )
}

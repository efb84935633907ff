import NestModel
import NestProtocol
import NestStore

extension PostgresLog {
    package func snapshots() throws(LogFailure) -> [LogSnapshot] {
        let rows = try self.session.perform(Self.snapshots, [.long(self.store)]).rows
        return try Self.read { () throws(PostgresFailure) in
            var snapshots: [LogSnapshot] = []
            for row in rows {
                guard let chain = Chain(bytes: try row.bytes(1)), let checksum = Chain(bytes: try row.bytes(5)) else {
                    throw .damaged("a snapshot whose chain or checksum has another length")
                }
                snapshots.append(
                    LogSnapshot(
                        position: LogPosition(position: try row.long(0), chain: chain),
                        revision: Revision(UInt64(clamping: try row.long(2))),
                        modelHash: UInt64(bitPattern: try row.long(3)),
                        byteCount: try row.long(4),
                        checksum: checksum.rawValue,
                        partCount: Int(try row.int(6)),
                        made: try row.long(7)
                    )
                )
            }
            return snapshots
        }
    }

    package func add(
        _ snapshot: LogSnapshot,
        part: (Int) throws(LogFailure) -> [UInt8]
    ) throws(LogFailure) -> Bool {
        try LogSnapshots(self.snapshotSession, store: self.store).add(snapshot, by: self.node.id, part: part)
    }

    package func part(_ index: Int, of snapshot: LogSnapshot) throws(LogFailure) -> [UInt8] {
        let values: [PostgresValue] = [.long(self.store), .long(snapshot.position.position), .int(Int32(index))]
        guard let row = try self.snapshotSession.perform(Self.snapshotPart, values).rows.first else {
            throw .unavailable("the snapshot of \(snapshot.position) was removed: another one is newer")
        }
        return try Self.read { () throws(PostgresFailure) in try row.bytes(0) }
    }

    package func remove(_ snapshots: [LogSnapshot]) throws(LogFailure) {
        let stored = LogSnapshots(self.snapshotSession, store: self.store)
        for snapshot in snapshots { try stored.remove(snapshot.position.position) }
        try stored.removeAbandoned()
    }

    private static let snapshots = PostgresStatement(
        "snapshots",
        [.long],
        """
        SELECT position, chain, revision, model, bytes, checksum, parts, (extract(epoch FROM made) * 1000000)::bigint
        FROM nest.snapshot WHERE store = $1 AND complete ORDER BY position DESC
        """
    )

    private static let snapshotPart = PostgresStatement(
        "snapshot_part",
        [.long, .long, .int],
        "SELECT bytes FROM nest.snapshot_part WHERE store = $1 AND position = $2 AND part = $3"
    )
}

/// Writes and removes the snapshots of a store.
struct LogSnapshots {
    private let session: PostgresSession
    private let store: Int64

    private static let batchParts: Int64 = 64

    init(_ session: PostgresSession, store: Int64) {
        self.session = session
        self.store = store
    }

    /// Stores a snapshot, a transaction for each part. Returns `false` if it exists, or another node is storing it.
    func add(
        _ snapshot: LogSnapshot,
        by node: Identifier128,
        part: (Int) throws(LogFailure) -> [UInt8]
    ) throws(LogFailure) -> Bool {
        let position = snapshot.position.position
        let place: [PostgresValue] = [.long(self.store), .long(position)]
        try self.session.perform(Self.removeUnfinished, place + [.uuid(node), .int(Self.abandonedSeconds)])
        try self.session.deleteAll(Self.removeParts, place + [.long(Self.batchParts)])
        let values: [PostgresValue] = [
            .long(Int64(bitPattern: snapshot.revision.rawValue)), .bytes(snapshot.position.chain.bytes),
            .long(Int64(bitPattern: snapshot.modelHash)), .long(snapshot.byteCount),
            .bytes(Chain(snapshot.checksum).bytes), .int(Int32(snapshot.partCount)), .uuid(node),
        ]
        guard try self.session.perform(Self.begin, place + values).affected == 1 else { return false }
        do throws(LogFailure) {
            for index in 0..<snapshot.partCount {
                let bytes = try part(index)
                try self.session.perform(Self.addPart, place + [.int(Int32(index)), .bytes(bytes)])
            }
            guard try self.session.perform(Self.complete, place + [.uuid(node)]).affected == 1 else {
                throw .unavailable("the snapshot of \(position) was removed while it was stored")
            }
        } catch {
            // If this fails too, it is removed as abandoned later.
            do throws(LogFailure) { try self.remove(position) } catch {}
            throw error
        }
        return true
    }

    /// Removes a snapshot: first its row, so that no node begins to read it.
    func remove(_ position: Int64) throws(LogFailure) {
        let place: [PostgresValue] = [.long(self.store), .long(position)]
        try self.session.perform(Self.removeRow, place)
        try self.session.deleteAll(Self.removeParts, place + [.long(Self.batchParts)])
    }

    func removeAbandoned() throws(LogFailure) {
        let rows = try self.session.perform(Self.abandoned, [.long(self.store), .int(Self.abandonedSeconds)]).rows
        for row in rows {
            try self.remove(try PostgresLog.read { () throws(PostgresFailure) in try row.long(0) })
        }
    }

    private static let abandonedSeconds = Int32(Limits.snapshotAbandonedSeconds)

    private static let begin = PostgresStatement(
        "begin_snapshot",
        [.long, .long, .long, .bytes, .long, .long, .bytes, .int, .uuid],
        """
        INSERT INTO nest.snapshot (store, position, revision, chain, model, bytes, checksum, parts, node)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING
        """
    )

    private static let addPart = PostgresStatement(
        "add_snapshot_part",
        [.long, .long, .int, .bytes],
        """
        INSERT INTO nest.snapshot_part (store, position, part, bytes) VALUES ($1, $2, $3, $4)
        ON CONFLICT (store, position, part) DO UPDATE SET bytes = excluded.bytes
        """
    )

    private static let complete = PostgresStatement(
        "complete_snapshot",
        [.long, .long, .uuid],
        """
        UPDATE nest.snapshot SET complete = true, made = clock_timestamp()
        WHERE store = $1 AND position = $2 AND node = $3 AND NOT complete
        """
    )

    /// An unfinished snapshot of the same position that no node will finish: of this node, of one that is not alive, or
    /// an old one.
    private static let removeUnfinished = PostgresStatement(
        "remove_unfinished",
        [.long, .long, .uuid, .int],
        """
        DELETE FROM nest.snapshot s WHERE store = $1 AND position = $2 AND NOT complete
            AND (node = $3 OR made < clock_timestamp() - $4 * interval '1 second'
                OR NOT EXISTS (SELECT FROM nest.node n WHERE n.node = s.node AND n.expires > clock_timestamp()))
        """
    )

    private static let removeRow = PostgresStatement(
        "remove_snapshot",
        [.long, .long],
        "DELETE FROM nest.snapshot WHERE store = $1 AND position = $2"
    )

    /// Parts without a snapshot.
    private static let removeParts = PostgresStatement(
        "remove_snapshot_parts",
        [.long, .long, .long],
        """
        DELETE FROM nest.snapshot_part WHERE (store, position, part) IN (SELECT store, position, part
            FROM nest.snapshot_part p WHERE store = $1 AND position = $2
                AND NOT EXISTS (SELECT FROM nest.snapshot s WHERE s.store = $1 AND s.position = $2)
            ORDER BY part LIMIT $3)
        """
    )

    /// Positions of snapshots that were begun long ago, and of parts whose snapshot is gone.
    private static let abandoned = PostgresStatement(
        "abandoned_snapshots",
        [.long, .int],
        """
        SELECT position FROM nest.snapshot
            WHERE store = $1 AND NOT complete AND made < clock_timestamp() - $2 * interval '1 second'
        UNION SELECT DISTINCT position FROM nest.snapshot_part p WHERE store = $1
            AND NOT EXISTS (SELECT FROM nest.snapshot s WHERE s.store = p.store AND s.position = p.position)
        """
    )
}

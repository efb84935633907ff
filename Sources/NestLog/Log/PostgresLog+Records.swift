import NIOConcurrencyHelpers
import NestModel
import NestProtocol
import NestStore

extension PostgresLog {
    /// The bytes after which `records` ends with a record, so that a page fits into memory.
    private static let pageBytes: Int64 = 8 << 20
    /// The most rows that one statement removes.
    private static let batchRows: Int64 = 1_000
    private static let batchParts: Int64 = 64
    /// The records that one statement counts, which takes a fraction of a second.
    static let countRows: Int64 = 50_000
    /// The time after which the rest is left to the next count.
    private static let countTime = Duration.seconds(1)

    package func records(
        after position: Int64,
        countMax: Int,
        directory: String
    ) throws(LogFailure) -> [LogEntry] {
        let values: [PostgresValue] = [
            .long(self.store), .long(position), .long(Int64(countMax)), .long(Self.pageBytes),
            .long(Int64(Limits.logPartBytes)),
        ]
        let rows = try self.session.perform(Self.page, values).rows
        var entries: [LogEntry] = []
        for row in rows {
            let (place, parts, body) = try Self.read { () throws(PostgresFailure) in
                guard let chain = Chain(bytes: try row.bytes(1)) else { throw .damaged("a chain of another length") }
                return (LogPosition(position: try row.long(0), chain: chain), Int(try row.int(2)), try row.bytes(3))
            }
            let expected = position + Int64(entries.count) + 1
            guard place.position == expected else {
                return try self.entries(entries, without: expected, "the record \(expected) is missing")
            }
            guard parts > 0 else {
                entries.append(LogEntry(position: place, bytes: LogBytes(body)))
                continue
            }
            guard let bytes = try self.bytes(of: place.position, parts: parts, body: body, directory) else {
                return try self.entries(entries, without: expected, "the record \(expected) lacks a part")
            }
            entries.append(LogEntry(position: place, bytes: bytes))
        }
        return entries
    }

    /// The entries before a record that the log does not have whole: it was truncated meanwhile, or is damaged.
    private func entries(_ entries: [LogEntry], without position: Int64, _ reason: String) throws(LogFailure)
        -> [LogEntry]
    {
        let row = try self.session.perform(Self.base, [.long(self.store)]).rows.first
        let base = try Self.read { () throws(PostgresFailure) in try row?.long(0) ?? 0 }
        guard base >= position else { throw .damaged(reason) }
        return entries
    }

    /// Collects the parts of a large record in a spool file; `nil` if one is missing.
    private func bytes(
        of position: Int64,
        parts: Int,
        body: [UInt8],
        _ directory: String
    ) throws(LogFailure) -> LogBytes? {
        guard parts <= (Limits.logRecordBytesMax + Limits.logPartBytes - 1) / Limits.logPartBytes else {
            throw .damaged("the record \(position) has \(parts) parts")
        }
        var writer = LogBytesWriter(directory: directory)
        do throws(StoreError) {
            try writer.append(body)
        } catch { throw Self.spoolFailure(error) }
        for part in 0..<parts {
            let values: [PostgresValue] = [.long(self.store), .long(position), .int(Int32(part))]
            guard let row = try self.session.perform(Self.part, values).rows.first else { return nil }
            let bytes = try Self.read { () throws(PostgresFailure) in try row.bytes(0) }
            do throws(StoreError) {
                try writer.append(bytes)
            } catch { throw Self.spoolFailure(error) }
        }
        return writer.finish()
    }

    private static func spoolFailure(_ error: StoreError) -> LogFailure {
        .unavailable("a large record cannot be stored here while it is read: \(error)")
    }

    @discardableResult package func truncate(through position: Int64) throws(LogFailure) -> Bool {
        let row = try self.snapshotSession.perform(Self.raiseBase, [.long(self.store), .long(position)]).rows.first
        guard let row else { throw .unusable("the store was removed from the log") }
        let base = try Self.read { () throws(PostgresFailure) in try row.long(0) }
        let place: [PostgresValue] = [.long(self.store), .long(base)]
        let parts = try self.snapshotSession.perform(Self.deleteParts, place + [.long(Self.batchParts)]).affected
        // The parts of a record go first, so that none is left without it.
        guard parts < Self.batchParts else { return true }
        let records = try self.snapshotSession.perform(Self.deleteRecords, place + [.long(Self.batchRows)]).affected
        return records >= Self.batchRows
    }

    /// On the session for snapshots, so that leases do not wait for it.
    package func recordBytes(after position: Int64) throws(LogFailure) -> Int64 {
        var count = self.recordCount.withLockedValue { $0 }
        if count.after != position { count = RecordCount(after: position) }
        let deadline = Deadline(after: Self.countTime)
        var isEnd = false
        while !isEnd {
            let values: [PostgresValue] = [.long(self.store), .long(count.through), .long(Int64(Limits.logPartBytes))]
            let row = try self.snapshotSession.perform(Self.size, values).rows.first
            try Self.read { () throws(PostgresFailure) in
                guard let row else { throw .damaged("a SELECT without a row") }
                count.bytes += try row.long(0)
                count.through = try row.long(1)
                isEnd = try row.long(2) < Self.countRows || deadline.isOver
            }
            self.recordCount.withLockedValue { $0 = count }
        }
        return count.bytes
    }

    /// The records that were counted behind a position. Records do not change, so each is read once. After a failover
    /// that lost records the sum is an estimate.
    struct RecordCount: Sendable {
        let after: Int64
        var through: Int64
        var bytes: Int64 = 0

        init(after position: Int64) {
            self.after = position
            self.through = position
        }
    }

    // MARK: Statements

    /// At most `$3` records after `$2`, and none after the first that makes them `$4` bytes. Bodies are read for the
    /// returned rows only.
    private static let page = PostgresStatement(
        "page",
        [.long, .long, .long, .long, .long],
        """
        SELECT position, chain, parts, body FROM (
            SELECT *, sum(octet_length(body) + parts * $5) OVER (ORDER BY position) - octet_length(body) - parts * $5
                AS before
            FROM (SELECT position, chain, parts, body FROM nest.log WHERE store = $1 AND position > $2
                ORDER BY position LIMIT $3) r) t
        WHERE before < $4 ORDER BY position
        """
    )

    private static let part = PostgresStatement(
        "part",
        [.long, .long, .int],
        "SELECT bytes FROM nest.part WHERE store = $1 AND position = $2 AND part = $3"
    )

    private static let base = PostgresStatement("base", [.long], "SELECT base FROM nest.store WHERE store = $1")

    /// The newest record stays.
    private static let raiseBase = PostgresStatement(
        "raise_base",
        [.long, .long],
        """
        UPDATE nest.store SET base = greatest(base,
            least($2, (SELECT max(position) FROM nest.log WHERE store = $1) - 1)) WHERE store = $1 RETURNING base
        """
    )

    private static let deleteParts = PostgresStatement(
        "delete_parts",
        [.long, .long, .long],
        """
        DELETE FROM nest.part WHERE (store, position, part) IN (SELECT store, position, part FROM nest.part
            WHERE store = $1 AND position <= $2 ORDER BY position, part LIMIT $3)
        """
    )

    private static let deleteRecords = PostgresStatement(
        "delete_records",
        [.long, .long, .long],
        """
        DELETE FROM nest.log WHERE store = $1 AND position IN (SELECT position FROM nest.log
            WHERE store = $1 AND position <= $2 ORDER BY position LIMIT $3)
        """
    )

    /// Of `countRows` positions, which have no gap behind the base. A range bounds the scan under any plan; with LIMIT,
    /// a server without statistics would read and sort all records.
    private static let size = PostgresStatement(
        "size",
        [.long, .long, .long],
        """
        SELECT coalesce(sum(octet_length(l.body) + l.parts * $3), 0)::bigint, coalesce(max(l.position), $2), count(*)
        FROM nest.log l WHERE l.store = $1
            AND l.position > greatest($2, (SELECT base FROM nest.store WHERE store = $1))
            AND l.position <= greatest($2, (SELECT base FROM nest.store WHERE store = $1)) + \(PostgresLog.countRows)
        """
    )
}

extension PostgresSession {
    /// Performs a DELETE of a batch until it deletes nothing more.
    func deleteAll(_ statement: PostgresStatement, _ values: [PostgresValue]) throws(LogFailure) {
        while try self.perform(statement, values).affected > 0 {}
    }
}

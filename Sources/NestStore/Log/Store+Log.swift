import GRDBSQLite
import NestModel
import NestSchema

/// A store of a cluster: leading and following.
extension Store {
    /// The store's place in its cluster's log; `nil`: a single node's store.
    package var logState: LogState? { self.membership?.state }

    /// Whether the store's groups are appended to the log; otherwise it only applies records.
    package var isLeading: Bool { self.membership?.writer != nil }

    /// The record whose fate is open. Until it is settled every write is refused.
    package var uncertain: UncertainCommit? { self.membership?.uncertain }

    /// Returns the records that this store has appended since the last call, oldest first. Large ones, whose bytes are
    /// in a file, are missing.
    package func takeAppended() -> [LogEntry] { self.membership?.takeAppended() ?? [] }

    /// Ends the lead: every write is refused from now on.
    package func follow() { self.membership?.writer = nil }

    /// Appends a leader record, and leads from then on. `historyID`: a new one to renew the history, otherwise the
    /// store's own. Throws `overtaken` if another record has its place, and `uncertain` if the log does not answer: the
    /// store then leads if `settle` applies the record.
    package func lead(
        as writer: LogRecord.Writer,
        server: LogServer,
        historyID: Identifier128,
        now: Int64
    ) throws(StoreError) -> AppliedRecord {
        try self.appendAlone(.leader, writer: writer, [.leader(server, historyID: historyID)], now: now)
    }

    /// Appends a record behind which every node computes the digest of its tables.
    package func appendMark(now: Int64) throws(StoreError) -> AppliedRecord {
        guard let membership else { preconditionFailure("a store of a cluster") }
        return try self.appendAlone(.mark, writer: try membership.writerOrRefusal(), [], now: now)
    }

    private func appendAlone(
        _ kind: LogRecord.Kind,
        writer: LogRecord.Writer,
        _ notes: [LogNote],
        now: Int64
    ) throws(StoreError) -> AppliedRecord {
        guard let membership else { preconditionFailure("a store of a cluster") }
        guard membership.uncertain == nil else { throw LogMembership.noAnswer }
        let record = try LogRecord(
            kind,
            writer: writer,
            time: max(now, membership.state.time),
            head: self.head,
            notes: notes,
            directory: self.bulkMemory.directory
        )
        return try self.access { () throws(StoreError) in
            do throws(StoreError) {
                try self.connection.beginWriting()
                var application = RecordApplication(self, record, isConcerned: { _ in false })
                try application.run()
                try self.append(record, membership)
                return application.finish(at: membership.state.position)
            } catch {
                try self.rollBackRecord()
                throw error
            }
        }
    }

    /// Notes what became of the record whose fate was open. Returns what the record did if it is in the log:
    /// the store applies it as a follower would. `unknown`, or no open record: nothing happens.
    package func settle(
        _ outcome: AppendOutcome,
        isConcerned: @escaping (ChangedRow) -> Bool
    ) throws(StoreError) -> AppliedRecord? {
        guard let membership, let open = membership.uncertain else { return nil }
        switch outcome {
        case .unknown: return nil
        case .appended:
            let applied = try self.apply(open.entry, isConcerned: isConcerned)
            membership.noteAppended(open.entry)
            return applied
        case .refused: membership.uncertain = nil
        case .taken, .behind:
            membership.uncertain = nil
            self.follow()
        }
        return nil
    }

    // MARK: Appending

    /// Returns a record of notes.
    func record(
        _ notes: [LogNote],
        time: Int64? = nil,
        _ membership: LogMembership
    ) throws(StoreError) -> LogRecord {
        try LogRecord(
            .notes,
            writer: try membership.writerOrRefusal(),
            time: max(time ?? 0, membership.state.time),
            head: self.head,
            notes: notes,
            directory: self.bulkMemory.directory
        )
    }

    /// Commits changes that have no revision, with a record of the notes that `body` returns. Call it outside a
    /// transaction. Precondition: a store of a cluster.
    func commitNotes(time: Int64? = nil, _ body: () throws(StoreError) -> [LogNote]) throws(StoreError) {
        guard let membership else { preconditionFailure("a store of a cluster") }
        _ = try membership.writerOrRefusal()
        try self.connection.beginWriting()
        do throws(StoreError) {
            try self.append(try self.record(try body(), time: time, membership), membership)
        } catch {
            try self.rollBackRecord()
            throw error
        }
    }

    /// Appends a record to the log, and commits the open transaction, which has done what the record describes. Unless
    /// the record is in the log the transaction is rolled back.
    func append(_ record: LogRecord, _ membership: LogMembership) throws(StoreError) {
        let before = membership.state.position
        let chain = try before.chain.followed(by: record.bytes, at: before.position + 1)
        let position = LogPosition(position: before.position + 1, chain: chain)
        let state = membership.state.behind(record, at: position)
        try LogTable.write(state, self.connection)
        Failpoint.logAppending.pass()
        let outcome = membership.log.append(record, chain: chain, after: before)
        guard outcome != .appended else {
            Failpoint.logAppended.pass()
            try self.commitAppended(position)
            membership.state = state
            membership.noteAppended(LogEntry(position: position, bytes: record.bytes))
            if record.kind == .leader { membership.writer = record.writer }
            return
        }
        try self.rollBackRecord()
        switch outcome {
        case .appended: preconditionFailure("handled above")
        case .taken:
            self.follow()
            throw .overtaken
        case .behind:
            self.follow()
            throw .offTheLog
        case .refused(let error): throw .refused(error)
        case .unknown:
            membership.uncertain = UncertainCommit(record: record, position: position)
            throw .uncertain
        }
    }

    /// Commits a transaction whose record is in the log. If that fails nothing may be acknowledged or go on: the store
    /// applies the record when it is opened again.
    private func commitAppended(_ position: LogPosition) throws(StoreError) {
        var attempts = 3
        while true {
            do throws(StoreError) {
                return try self.connection.commit()
            } catch {
                attempts -= 1
                // The stop signal interrupts a statement, and not the transaction.
                if attempts > 0, case .sqlite(let code, _) = error, code & 0xff == SQLITE_INTERRUPT,
                    self.connection.isInTransaction
                {
                    continue
                }
                throw .sqlite(
                    code: SQLITE_IOERR,
                    message: "the record \(position) is in the cluster's log, but this node could not commit it "
                        + "(\(error)); it applies the record when it starts again"
                )
            }
        }
    }

    func rollBackRecord() throws(StoreError) {
        for table in self.tables { table.forgetFound() }
        try self.connection.rollBack()
    }
}

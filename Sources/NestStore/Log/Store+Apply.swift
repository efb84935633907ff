import GRDBSQLite
import NestModel
import NestSchema

extension Store {
    /// Applies the entry behind the store's place in the log, in one transaction, and goes there. A store that leads
    /// applies its own open record, and with any other record ends its lead.
    ///
    /// Throws `logDamaged` if the entry is not the one behind the store's place or its bytes are not whole. The reason
    /// may also be that the store is on another line: ask the log for the chain at the store's position. Throws
    /// `diverged` if a whole record does not fit the store. Nothing has changed then.
    ///
    /// Memory: the change sets hold at most `streamedFrom` objects of journal blocks, besides updated ones.
    package func apply(
        _ entry: LogEntry,
        isConcerned: @escaping (ChangedRow) -> Bool
    ) throws(StoreError) -> AppliedRecord {
        guard let membership else { preconditionFailure("a store of a cluster") }
        let here = membership.state.position
        let position = entry.position
        guard position.position == here.position + 1 else {
            throw .logDamaged("the cluster's log returned the record \(position) behind the record \(here)")
        }
        guard try here.chain.followed(by: entry.bytes, at: position.position) == position.chain else {
            throw .logDamaged("the record \(position) of the cluster's log does not follow the record \(here)")
        }
        let record: LogRecord
        do {
            record = try LogRecord(decoding: entry.bytes)
        } catch {
            throw .logDamaged("the record \(position) of the cluster's log: \(error)")
        }
        guard record.kind != .cut else {
            // An open record of this store is not in the log: this one has its place.
            membership.uncertain = nil
            self.follow()
            return AppliedRecord(record: record, position: position, reopen: .cut)
        }
        let applied = try self.access { () throws(StoreError) in
            try self.apply(record, at: position, membership, isConcerned)
        }
        if let open = membership.uncertain {
            membership.uncertain = nil
            membership.writer = open.position == position && record.kind == .leader ? record.writer : membership.writer
            if open.position != position { self.follow() }
        } else {
            self.follow()
        }
        return applied
    }

    private func apply(
        _ record: LogRecord,
        at position: LogPosition,
        _ membership: LogMembership,
        _ isConcerned: @escaping (ChangedRow) -> Bool
    ) throws(StoreError) -> AppliedRecord {
        guard !self.isStopping else { throw .stopping }
        do throws(StoreError) {
            try self.connection.beginWriting()
            var application = RecordApplication(self, record, isConcerned: isConcerned)
            try application.run()
            let state = membership.state.behind(record, at: position)
            try LogTable.write(state, self.connection)
            Failpoint.recordApplied.pass()
            try self.connection.commit()
            membership.state = state
            return application.finish(at: position)
        } catch {
            try self.rollBackRecord()
            switch error {
            case .sqlite(let code, let message) where code & 0xff == SQLITE_CONSTRAINT:
                throw .diverged("the record \(position) of the cluster's log does not fit this store: \(message)")
            case .diverged(let reason):
                throw .diverged("the record \(position) of the cluster's log does not fit this store: \(reason)")
            case .logDamaged(let reason):
                throw .logDamaged("the record \(position) of the cluster's log: \(reason)")
            default: throw error
            }
        }
    }
}

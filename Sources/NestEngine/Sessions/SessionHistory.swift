import NestModel
import NestProtocol
import NestStore

/// Pages of the journal, as a connection may see them.
struct SessionHistory {
    let store: Store
    let sessions: Sessions
    let admission: Admission

    /// Returns the entries before a revision (0: from the newest on), newest first. The object that the request names
    /// must be one that the connection may see.
    func page(for connection: EngineConnection, _ request: GetHistory) throws(StoreError) -> [HistoryEntry] {
        guard request.onlyMine || connection.scope == .everything else {
            throw StoreError.refused(
                .notPermitted,
                "a token that is confined to a sub-tree can read only the history of its own session"
            )
        }
        let session = connection.session
        let stacks = self.sessions[session]
        let headers = try self.headers(request, session, stacks)
        return headers.map { header in
            HistoryEntry(
                revision: header.revision,
                time: header.time,
                sessionNumber: header.sessionNumber,
                kind: header.kind,
                reverted: header.reverted,
                name: connection.scope.name(header.name, madeIn: header.scope),
                isMine: header.sessionNumber == session,
                isNextUndo: header.revision == stacks.nextUndo?.newest,
                isNextRedo: header.revision == stacks.nextRedo?.newest,
                isBlocked: header.sessionNumber == session && stacks.isBlocked(header.revision),
                entry: header.entry,
                user: connection.scope.user(of: header)
            )
        }
    }

    private func headers(
        _ request: GetHistory,
        _ session: UInt64,
        _ stacks: SessionStacks
    ) throws(StoreError) -> [JournalHeader] {
        let (before, limit) = (request.before, min(request.limit, Limits.historyPageMax))
        if let object = request.object {
            let read = try self.store.headers(
                changing: object,
                before: before,
                limit: limit,
                partsMax: Limits.objectHistoryPartsMax
            ) { header in
                !request.onlyMine || header.sessionNumber == session
            }
            self.admission.work += read.partCount * Admission.journalPartWork
            return read.headers
        }
        guard request.onlyMine else {
            let headers = try self.store.headers(before: before, limit: limit)
            self.admission.work += headers.count
            return headers
        }
        let revisions = stacks.revisions.newest(before: before, limit: limit)
        let read = try self.store.headers(of: revisions, readMax: Limits.historyHeadersMax)
        self.admission.work += read.count
        return read.headers
    }
}

import NestModel
import NestStore

/// Pages of the journal, as a connection may see them.
struct SessionHistory {
    let store: Store
    let sessions: Sessions
    let admission: Admission

    /// Returns the entries before a revision (0: from the newest on), newest first.
    func page(
        for connection: EngineConnection,
        before: Revision,
        limit: Int,
        onlyMine: Bool
    ) throws(StoreError) -> [HistoryEntry] {
        guard onlyMine || connection.scope == .everything else {
            throw StoreError.refused(
                .notPermitted,
                "a token that is confined to a sub-tree can read only the history of its own session"
            )
        }
        let session = connection.session
        let stacks = self.sessions[session]
        let limit = min(limit, Limits.historyPageMax)
        let headers: [JournalHeader]
        if onlyMine {
            let revisions = stacks.revisions.newest(before: before, limit: limit)
            let read = try self.store.headers(of: revisions, readMax: Limits.historyHeadersMax)
            self.admission.work += read.count
            headers = read.headers
        } else {
            headers = try self.store.headers(before: before, limit: limit)
            self.admission.work += headers.count
        }
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
}

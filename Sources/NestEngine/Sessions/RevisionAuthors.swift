import NestModel
import NestStore

/// Looks up who wrote revisions, as a connection may know it.
struct RevisionAuthors {
    /// The headers that one answer may read to find its users.
    private static let headersMax = 4_096

    let store: Store

    /// Returns the authors of the newest revisions after `base`, at most `countMax`, ascending.
    func authors(after base: Revision, countMax: Int, for scope: AuthorisationScope) throws(StoreError)
        -> [RevisionAuthor]
    {
        guard self.store.head > base else { return [] }
        let count = min(UInt64(countMax), self.store.head.rawValue - base.rawValue)
        let headers = try self.store.headers(before: Revision(0), limit: Int(count))
        return headers.reversed().compactMap { header in
            guard header.revision > base, scope.showsAuthor(of: header) else { return nil }
            return RevisionAuthor(
                revision: header.revision,
                sessionNumber: header.sessionNumber,
                user: scope.user(of: header)
            )
        }
    }

    /// Sets the users of the listed conflicts. They stay unknown where the journal no longer has the change, or very
    /// many transactions would have to be read.
    func fill(_ conflicts: inout UndoConflicts, for scope: AuthorisationScope) throws(StoreError) {
        let revisions = Set(conflicts.listed.compactMap { $0.sessionNumber == nil ? nil : $0.revision }).sorted(by: >)
        guard !revisions.isEmpty else { return }
        let headers = try self.store.headers(of: revisions, readMax: Self.headersMax).headers
        let users = Dictionary(uniqueKeysWithValues: headers.map { ($0.revision, scope.user(of: $0)) })
        conflicts.setUsers(conflicts.listed.map { $0.revision.flatMap { users[$0] ?? nil } })
    }
}

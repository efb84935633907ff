import NestModel
import NestStore

/// Looks up who wrote revisions, as a connection may know it. The headers that it reads are work of the turn.
struct RevisionAuthors {
    /// The headers that one answer may read to find its users: about as many as a journal row has.
    static let headersMax = 512

    let store: Store
    let admission: Admission

    /// Returns the headers of the newest revisions after `base`, at most `countMax`, ascending.
    func headers(after base: Revision, countMax: Int) throws(StoreError) -> [JournalHeader] {
        let read = try self.store.headers(after: base, countMax: countMax)
        self.admission.work += read.count
        return read.headers
    }

    /// Returns the authors that a connection may know.
    static func authors(of headers: [JournalHeader], for scope: AuthorisationScope) -> [RevisionAuthor] {
        headers.compactMap { header in
            guard scope.showsAuthor(of: header) else { return nil }
            return RevisionAuthor(
                revision: header.revision,
                sessionNumber: header.sessionNumber,
                user: scope.user(of: header)
            )
        }
    }

    /// Sets the users of the listed conflicts. They stay unknown where the journal no longer has the change, or too
    /// many transactions would have to be read.
    func fill(_ conflicts: inout UndoConflicts, for scope: AuthorisationScope) throws(StoreError) {
        let revisions = Set(conflicts.listed.compactMap { $0.sessionNumber == nil ? nil : $0.revision }).sorted(by: >)
        guard !revisions.isEmpty else { return }
        let read = try self.store.headers(of: revisions, readMax: Self.headersMax)
        self.admission.work += read.count
        let users = Dictionary(uniqueKeysWithValues: read.headers.map { ($0.revision, scope.user(of: $0)) })
        conflicts.setUsers(conflicts.listed.map { $0.revision.flatMap { users[$0] ?? nil } })
    }
}

import NestModel
import NestStore

/// The undo entry names and receipts that a connection may see.
///
/// A name or a conflict can reveal objects that were inside the scope of the write. A confined connection sees only
/// names and conflicts of writes within its own scope, because another scope may contain other objects.
extension AuthorisationScope {
    /// Shown instead of a name that the connection may not see.
    static let hiddenName = "a change made with another token"

    private func shows(_ limit: AccessConfinement?) -> Bool { self == .everything || self.limit == limit }

    func name(_ name: String, madeIn scope: WriteScope) -> String {
        self.shows(scope.nameLimit) ? name : Self.hiddenName
    }

    /// Returns the user of a transaction; `nil`: it has none, or was written with a token of another reach.
    func user(of header: JournalHeader) -> UserLabel? { self.shows(header.scope.limit) ? header.user : nil }

    /// Whether a connection may know who wrote a transaction.
    func showsAuthor(of header: JournalHeader) -> Bool { self.shows(header.scope.limit) }

    /// Removes from the receipt of a write what a connection with this scope may not see.
    func hide(from receipt: inout Receipt, madeIn scope: WriteScope) {
        guard case .subtree = self else { return }
        if !self.shows(scope.nameLimit) { receipt.name = Self.hiddenName }
        if !self.shows(scope.limit) { receipt.conflicts = UndoConflicts() }
    }

    /// Returns the scope to record with a write of this connection. `limit`: the confinement under which the write was
    /// named; `nil` if there was none.
    func write(namedIn limit: AccessConfinement?) -> WriteScope {
        WriteScope(limit: self.limit, hasOtherName: self.limit != limit)
    }
}

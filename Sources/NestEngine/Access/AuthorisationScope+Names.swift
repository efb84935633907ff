import NestModel
import NestStore

/// Names of undo entries, and receipts, as a connection may see them.
///
/// A name and a conflict reveal objects that the session reached when they were made. A confined connection is shown
/// those that were made within its own scope: any other scope may have reached more.
extension AuthorisationScope {
    /// Shown instead of a name that the connection may not see.
    static let hiddenName = "a change made with another token"

    private func shows(_ limit: AccessConfinement?) -> Bool { self == .everything || self.limit == limit }

    func name(_ name: String, madeIn scope: WriteScope) -> String {
        self.shows(scope.nameLimit) ? name : Self.hiddenName
    }

    func shown(_ receipt: Receipt, madeIn scope: WriteScope) -> Receipt {
        guard self != .everything else { return receipt }
        var receipt = receipt
        if !self.shows(scope.nameLimit) { receipt.name = Self.hiddenName }
        if !self.shows(scope.limit) { receipt.conflicts = UndoConflicts() }
        return receipt
    }

    /// The scope of what this connection writes, with a name that was made within a limit; `nil`: everything.
    func write(namedIn limit: AccessConfinement?) -> WriteScope {
        WriteScope(limit: self.limit, hasOtherName: self.limit != limit)
    }
}

import NestModel
import NestStore

/// What a client may see and change. Part of what makes two fetch requests equal, so that results are never shared
/// across it.
package enum AuthorisationScope: Hashable, Sendable {
    case everything
    /// An object and what is below it, and nothing else.
    case subtree(AccessConfinement)

    /// What limits it; `nil` when everything is allowed.
    var limit: AccessConfinement? {
        if case .subtree(let grant) = self { grant } else { nil }
    }

    /// What it means for a request that is about to be done; `nil` when everything is allowed.
    func confinement(_ store: Store, _ scopes: TokenScopes) throws(StoreError) -> Confinement? {
        switch self {
        case .everything: nil
        case .subtree(let grant): try Confinement(grant, store.objects, scopes.members(grant))
        }
    }
}

extension Store {
    /// Everything of one object that may be seen.
    func detail(of object: ObjectID, within confinement: Confinement?) throws(StoreError) -> ObjectDetail {
        var detail = try confinement.detail(of: object) { () throws(StoreError) in try self.detail(object) }
        guard let confinement else { return detail }
        let revision = try self.visibleRevision(of: object, from: detail.revision, confinement)
        detail.revision = revision ?? self.head
        return detail
    }
}

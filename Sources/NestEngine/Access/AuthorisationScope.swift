import NestModel
import NestProtocol
import NestStore

/// The objects that a client may read and change. It is part of the key of a result, so clients with different scopes
/// never share a result.
package enum AuthorisationScope: Hashable, Sendable {
    case everything
    /// One object and the objects below it.
    case subtree(AccessConfinement)

    /// The confinement; `nil` when everything is allowed.
    var limit: AccessConfinement? {
        if case .subtree(let grant) = self { grant } else { nil }
    }

    /// Resolves the scope for a request that is about to run. Returns `nil` when everything is allowed.
    func confinement(_ store: Store, _ scopes: TokenScopes) throws(StoreError) -> Confinement? {
        switch self {
        case .everything: nil
        case .subtree(let grant): try Confinement(grant, store.objects, scopes.members(grant))
        }
    }
}

extension Store {
    /// Returns the part of an object that the confinement allows the client to see.
    func body(of object: ObjectID, within confinement: Confinement?) throws(StoreError) -> ObjectBody {
        guard let confinement else {
            guard let body = try self.body(object) else { throw StoreError.noObject(object) }
            return body
        }
        var detail = try confinement.detail(of: object) { () throws(StoreError) in try self.detail(object) }
        let revision = try self.visibleRevision(of: object, from: detail.revision, confinement)
        detail.revision = revision ?? self.head
        return ObjectBody(detail)
    }
}

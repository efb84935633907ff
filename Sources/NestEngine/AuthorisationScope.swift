import NestModel
import NestStore

/// What may be seen and touched. Part of what makes two fetch requests equal, so that results are never shared
/// across it.
package enum AuthorisationScope: Hashable, Sendable {
    case everything
    /// An object and what is below it, and nothing else.
    case subtree(AccessConfinement)

    /// What it means for a request that is about to be done; `nil` when everything is allowed.
    func confinement(_ store: Store) throws(NestError) -> Confinement? {
        switch self {
        case .everything: nil
        case .subtree(let grant): try Confinement(grant, store.objects)
        }
    }
}

extension Engine {
    /// Everything of one object that may be seen.
    func detail(_ object: ObjectID, _ scope: AuthorisationScope) throws -> ObjectDetail {
        let confinement = try scope.confinement(self.store)
        return try confinement.detail(of: object) { try self.store.detail(object) }
    }
}

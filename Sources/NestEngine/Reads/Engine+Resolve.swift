import NestLiveQuery
import NestModel
import NestStore

/// Fetch requests, checked against the model and made ready to be read.
extension Engine {
    /// `scope`: what is out of it is not there. `mayBeGone`: a client that returns may hold rows of an owner that has been
    /// deleted; its result is empty.
    func resolve(
        _ request: FetchRequest,
        _ scope: AuthorisationScope,
        mayBeGone: Bool
    ) throws -> RequestResolver.Resolved {
        let confinement = try self.confinement(scope)
        return try RequestResolver(objects: self.store.objects, confinement: confinement)
            .resolve(request, mayBeGone: mayBeGone)
    }

    func source(of entity: EntityDescription, _ membership: ResultSource.Membership) -> ResultSource {
        RequestResolver(objects: self.store.objects).source(of: entity, membership)
    }
}

import NestClient
import NestModel

/// The object at which a command starts if the user specifies none: the root of the token's scope, or else the root of
/// the hierarchy. All commands ask here.
enum StartObject {
    /// Returns the start in the hierarchy that a relationship forms; `nil` if the hierarchy has no root. Throws if the
    /// token's scope contains no object of the hierarchy.
    static func of(
        _ entity: EntityDescription,
        _ relationship: PropertyNumber,
        in model: ManagedObjectModel,
        _ client: NestClient
    ) async throws -> ObjectID? {
        guard let scope = await client.server?.confinement else { return entity.root?.object }
        guard scope.relationship == relationship, self.mayContain(entity.number, scope, model) else {
            let name = model.entity(scope.entity)?.name ?? "entity \(scope.entity.rawValue)"
            let way = model.entity(scope.entity)?.shownName(scope.relationship) ?? "\(scope.relationship.rawValue)"
            throw CommandFailure(
                .refused,
                "the token reaches only the object \(scope.root) and what is below it in \(name).\(way), but this is "
                    + "about \(entity.name).\(entity.shownName(relationship))"
            )
        }
        return scope.root
    }

    /// Returns the list at which commands start: below the root of the token's scope, or of the nested list. `nil` if
    /// the model has neither.
    static func list(in model: ManagedObjectModel, _ client: NestClient) async -> FetchSource? {
        if let scope = await client.server?.confinement {
            return FetchSource(object: scope.root, relationship: scope.relationship)
        }
        guard let item = model.entity(named: "Item"),
            let children = item.relationships.first(where: { Outline.isChildren($0, of: item) })
        else { return nil }
        return FetchSource(object: item.root?.object ?? ObjectID(1), relationship: children.number)
    }

    /// Returns the owner of an object that is inserted without one: the root of the token's scope. A token that is not
    /// confined needs none, because the server knows the model's root.
    static func owner(
        of entity: EntityDescription,
        in model: ManagedObjectModel,
        _ client: NestClient
    ) async -> PropertyAssignment? {
        guard let scope = await client.server?.confinement, self.mayContain(entity.number, scope, model),
            let up = model.entity(scope.entity)?.relationship(scope.relationship)?.inverse
        else { return nil }
        return PropertyAssignment(up, .reference(.object(scope.root)))
    }

    /// Whether the token's scope may contain objects of an entity.
    private static func mayContain(
        _ entity: EntityNumber,
        _ scope: AccessConfinement,
        _ model: ManagedObjectModel
    ) -> Bool {
        model.isKind(entity, of: scope.entity) || model.isKind(scope.entity, of: entity)
    }
}

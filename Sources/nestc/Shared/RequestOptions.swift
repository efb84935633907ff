import ArgumentParser
import NestClient
import NestModel

/// Which objects a fetch or a subscription is about, and in which order.
struct RequestOptions: ParsableArguments {
    @Option(help: ArgumentHelp("All objects of this entity, and of the entities below it.", valueName: "name"))
    var entity: String?

    @Option(
        name: [.customLong("of"), .customLong("parent")],
        help: ArgumentHelp("The objects that this object's relationship leads to.", valueName: "id")
    )
    var owner: IDArgument?

    @Option(
        help: ArgumentHelp(
            "Which relationship of the object; may be left out when it has one to many, or children.",
            valueName: "name"
        )
    )
    var relationship: String?

    @Option(
        name: .customLong("where"),
        help: ArgumentHelp(
            "Only objects of which this is true, like 'done == NO AND name CONTAINS[cd] \"ann\"'.",
            valueName: "predicate"
        )
    )
    var predicate: String?

    @Option(
        // A first key may begin with '-'.
        parsing: .unconditional,
        help: ArgumentHelp(
            "By these attributes, '-' for descending: name,-createdAt. Otherwise in the relationship's order, or by id.",
            valueName: "names"
        )
    )
    var sort: String?

    @Option(
        help: ArgumentHelp("Only these properties, like name,age; 'entity' is that of each object.", valueName: "names")
    )
    var properties: String?

    mutating func validate() throws {
        if self.entity != nil, self.owner != nil { throw ValidationError("say --entity or --of, not both") }
        if self.relationship != nil, self.owner == nil { throw ValidationError("--relationship needs --of") }
    }

    /// A request, with what is needed to show its rows.
    struct Resolved {
        var request: FetchRequest
        var model: ManagedObjectModel
        /// That of the rows.
        var entity: EntityDescription
        var title: String
    }

    /// `root`: what is meant when nothing is said.
    func resolve(_ client: NestClient, root: IDArgument? = nil) async throws -> Resolved {
        let model = try await client.model()
        var resolved: Resolved
        if let name = self.entity {
            let entity = try model.requireEntity(name)
            resolved = Resolved(request: FetchRequest(entity: entity.number), model: model, entity: entity, title: name)
        } else {
            resolved = try await self.related(client, model, root)
        }
        if let text = self.predicate {
            do {
                resolved.request.predicate = try Predicate(text, of: resolved.entity, in: model)
            } catch {
                let place = String(repeating: " ", count: max(error.column - 1, 0)) + "^"
                throw CommandFailure(.usage, "\(error)\n  \(text)\n  \(place)")
            }
        }
        resolved.request.sort = try Self.names(self.sort).map { name in
            let isDescending = name.hasPrefix("-")
            let attribute = isDescending || name.hasPrefix("+") ? String(name.dropFirst()) : name
            let property = try resolved.entity.requireProperty(attribute)
            guard resolved.entity.attribute(property) != nil else {
                throw CommandFailure(.usage, "\(attribute) is a relationship; --sort takes attributes")
            }
            return SortDescriptor(property, isAscending: !isDescending)
        }
        resolved.request.projection = try Self.names(self.properties).map { name in
            if name == "entity" { return .entity }
            let property = try resolved.entity.requireProperty(name)
            guard !resolved.entity.isToMany(property) else {
                throw CommandFailure(.usage, "\(name) is to many; rows hold attributes and relationships to one")
            }
            return property
        }
        return resolved
    }

    private func related(_ client: NestClient, _ model: ManagedObjectModel, _ root: IDArgument?) async throws
        -> Resolved
    {
        let outlineRoot = Outline.isPart(of: model) ? root : nil
        guard let owner = self.owner ?? outlineRoot else {
            throw CommandFailure(
                .usage,
                "say which objects: --entity NAME (\(listed(model.entities.map(\.name)))), or --of ID --relationship NAME"
            )
        }
        let ownerEntity = try model.entity(of: try await client.object(owner.id))
        let relationship =
            try self.relationship.map { try ownerEntity.requireToMany($0) } ?? ownerEntity.defaultToMany()
        guard let entity = model.entity(relationship.destination) else {
            throw CommandFailure(.protocolMismatch, "the model has no entity \(relationship.destination.rawValue)")
        }
        let source = FetchSource(object: owner.id, relationship: relationship.number)
        return Resolved(
            request: FetchRequest(entity: entity.number, source: source),
            model: model,
            entity: entity,
            title: "\(relationship.name) of \(owner.id)"
        )
    }

    private static func names(_ text: String?) -> [String] {
        text?.split(separator: ",").map { String($0.filter { $0 != " " }) } ?? []
    }
}

import ArgumentParser
import NestClient
import NestModel

/// The options of a fetch request: its objects, properties and order.
struct RequestOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("All objects of this entity and those below it.", valueName: "name"),
        completion: ModelCompletion.entities
    )
    var entity: String?

    @Option(
        name: [.customLong("of"), .customLong("parent")],
        help: ArgumentHelp("The objects of a relationship of this object.", valueName: "id")
    )
    var owner: IDArgument?

    @Option(
        help: ArgumentHelp(
            "The relationship of --of or --outline. (default: children, or the only to-many relationship)",
            valueName: "name"
        ),
        completion: ModelCompletion.relationships
    )
    var relationship: String?

    @Option(
        name: .customLong("where"),
        // A predicate may begin with a negative number.
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Only objects that match, like 'done == NO AND ANY tags.name CONTAINS[cd] "ann"', 'born >= 2026-02-01', \
            'SELF IN SUBTREE(2)'. docs/query-language.md has all operators.
            """,
            valueName: "predicate"
        )
    )
    var predicate: String?

    @Option(
        // A first key may begin with '-'.
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Sort by these keys, '-' for descending and ':c' to ignore case: name:c,-createdAt,user.name,\
            children.@count and phones.@max.number; 'order' is the list's order. (default: the relationship's order, or by id)
            """,
            valueName: "paths"
        ),
        completion: ModelCompletion.properties
    )
    var sort: String?

    @Option(
        help: ArgumentHelp(
            """
            Divide the rows into sections by the first sort key: an attribute, or firstCharacter(name), \
            day(createdAt), month(…), year(…). Without --sort, also sort by it.
            """,
            valueName: "key"
        )
    )
    var section: String?

    @Option(
        help: ArgumentHelp(
            "Only these properties, like name,user.name,children.@count,phones.@sum.minutes; 'entity' is each object's entity.",
            valueName: "paths"
        ),
        completion: ModelCompletion.properties
    )
    var properties: String?

    @Option(
        help: ArgumentHelp(
            "Values over all rows and over each section, like 'count, sum(minutes), max(user.age)'; also min and avg.",
            valueName: "totals"
        )
    )
    var totals: String?

    @OptionGroup var root: RootOptions

    mutating func validate() throws {
        if self.entity != nil, self.owner != nil { throw ValidationError("use --entity or --of, not both") }
        if self.relationship != nil, self.entity != nil { throw ValidationError("--relationship needs --of") }
    }

    /// A request, with the data that is needed to print its rows.
    struct Resolved {
        var request: ObjectFetchRequest
        var model: ManagedObjectModel
        /// The entity of the rows.
        var entity: EntityDescription
        /// The requested properties in their order; empty for all.
        var properties: [PropertyNumber] = []
        var title: String
    }

    /// `isOutline`: if the options specify no objects, the request is for the top of the outline.
    func resolve(_ client: NestClient, isOutline: Bool = false) async throws -> Resolved {
        let model = try await client.model()
        var resolved: Resolved
        if let name = self.entity {
            let entity = try model.requireEntity(name)
            resolved = Resolved(
                request: ObjectFetchRequest(entity: entity.number),
                model: model,
                entity: entity,
                title: name
            )
        } else {
            resolved = try await self.related(client, model, isOutline)
        }
        let entity = resolved.entity
        if let predicate {
            resolved.request.predicate = try pointing(at: predicate) { () throws(PredicateSyntaxError) in
                try FetchPredicate(predicate, of: entity, in: model, dates: .local)
            }
        }
        if self.entity != nil, !self.root.withRoot {
            resolved.request.predicate =
                await Outline.withoutRoot(of: entity, client) && resolved.request.predicate
        }
        if let sort { try resolved.request.setSort(sort, entity, model) }
        if let section { try resolved.request.setSection(section, entity, model) }
        if let totals {
            resolved.request.totals = try pointing(at: totals) { () throws(PredicateSyntaxError) in
                try [FetchTotal](totals, of: entity, in: model)
            }
        }
        if let properties { resolved.properties = try resolved.request.setProperties(properties, entity, model) }
        return resolved
    }

    private func related(_ client: NestClient, _ model: ManagedObjectModel, _ isOutline: Bool) async throws
        -> Resolved
    {
        let start = isOutline && self.owner == nil ? await StartObject.list(in: model, client) : nil
        guard let owner = self.owner ?? start.map({ IDArgument($0.object) }) else {
            throw CommandFailure(
                .usage,
                "specify the objects with --entity NAME (\(listed(model.entities.map(\.name)))), "
                    + "or with --of ID --relationship NAME"
            )
        }
        let ownerEntity = try model.entity(of: try await client.object(owner.id))
        let relationship =
            try self.relationship.map { try ownerEntity.requireToMany($0) }
            ?? start.flatMap { ownerEntity.relationship($0.relationship) } ?? ownerEntity.defaultToMany()
        guard let entity = model.entity(relationship.destination) else {
            throw CommandFailure(.protocolMismatch, "the model has no entity \(relationship.destination.rawValue)")
        }
        let source = FetchSource(object: owner.id, relationship: relationship.number)
        return Resolved(
            request: ObjectFetchRequest(entity: entity.number, source: source),
            model: model,
            entity: entity,
            title: "\(relationship.name) of \(owner.id)"
        )
    }
}

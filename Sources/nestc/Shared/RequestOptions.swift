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
            "A request that the model names, like User.longPhones; --of is the object of a fetched property.",
            valueName: "name"
        ),
        completion: ModelCompletion.requests
    )
    var request: String?

    @Option(
        name: .customLong("variable"),
        help: ArgumentHelp(
            "The value of a variable of --request, like 'NAME=\"Ann\"'; may be repeated.",
            valueName: "name=value"
        )
    )
    var variables: [String] = []

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
        if self.request != nil, self.entity != nil || self.relationship != nil {
            throw ValidationError("--request names the objects: leave out --entity and --relationship")
        }
        if !self.variables.isEmpty, self.request == nil { throw ValidationError("--variable needs --request") }
        for variable in self.variables where !variable.contains("=") {
            throw ValidationError("--variable '\(variable)' has no value: write NAME=VALUE")
        }
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
        if let name = self.request {
            resolved = try await self.named(name, client, model)
        } else if let name = self.entity {
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
            let read = try pointing(at: predicate) { () throws(PredicateSyntaxError) in
                try FetchPredicate(predicate, of: entity, in: model, dates: .local)
            }
            resolved.request.predicate = resolved.request.predicate && read
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

    /// The request that the model names, with the values of its variables.
    private func named(_ name: String, _ client: NestClient, _ model: ManagedObjectModel) async throws -> Resolved {
        let pairs = self.variables.map { variable in
            let parts = variable.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (String(parts[0]), String(parts[1]))
        }
        do {
            let named = try await client.request(
                named: name,
                of: self.owner?.id,
                variables: Dictionary(pairs) { _, last in last },
                dates: .local
            )
            return Resolved(request: named.request, model: model, entity: named.entity.description, title: name)
        } catch let error as PredicateSyntaxError {
            throw CommandFailure(.usage, "the predicate of \(name), with its variables: \(error)")
        }
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

import ArgumentParser
import NestClient
import NestDocuments
import NestModel

/// The options that specify the objects of an outline.
struct OutlineEntityOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The entity of the items. (default: Item, or the only hierarchy)", valueName: "name"),
        completion: ModelCompletion.hierarchies
    )
    var entity: String?

    @Option(
        help: ArgumentHelp(
            "The relationship from an item to its children; needed only if there are several.",
            valueName: "name"
        ),
        completion: ModelCompletion.relationships
    )
    var relationship: String?
}

/// The options that specify the attributes for an outline's titles, notes and done marks.
struct OutlineAttributeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The attribute for titles. (default: the label)", valueName: "name"))
    var titleAttribute: String?

    @Option(help: ArgumentHelp("The attribute for notes. (default: note, if any)", valueName: "name"))
    var noteAttribute: String?

    @Option(help: ArgumentHelp("The attribute for done marks. (default: done, if any)", valueName: "name"))
    var doneAttribute: String?
}

/// An entity with a relationship to itself, which makes a hierarchy of its objects.
struct OutlineEntity {
    let entity: EntityDescription
    let children: RelationshipDescription
    /// The relationship to the parent.
    let parent: PropertyNumber
    /// Whether the entity is the default, the nested list. A model may lack attributes for its notes and marks.
    let isUsual: Bool
    /// The object at which commands start by default; `nil` if the entity has no root.
    private var start: ObjectID?

    init(_ client: NestClient, _ options: OutlineEntityOptions) async throws {
        let model = try await client.model()
        try self.init(model, entity: options.entity, relationship: options.relationship)
        self.start = try await StartObject.of(self.entity, self.children.number, in: model, client)
    }

    /// Does not know where commands start. `entity`: `nil` for Item. `relationship`: `nil` if the entity has one
    /// hierarchy.
    init(_ model: ManagedObjectModel, entity: String?, relationship: String?) throws {
        let all = Self.names(in: model)
        let name = entity ?? (all.count == 1 ? all[0] : "Item")
        self.isUsual = entity == nil && name == "Item"
        guard let entity = model.entity(named: name) else {
            let known =
                all.isEmpty
                ? "none of its entities has a relationship to itself"
                : "specify --entity: \(all.joined(separator: ", "))"
            throw CommandFailure(.refused, "the server's model has no entity \(name); \(known)")
        }
        let found = Self.hierarchies(of: entity, model)
        let names = found.map(\.name).joined(separator: ", ")
        let chosen = relationship.map { name in found.filter { $0.name == name } } ?? found
        guard chosen.count == 1 else {
            switch (found.isEmpty, relationship) {
            case (true, _):
                throw CommandFailure(.refused, "\(name) has no relationship to itself that forms a hierarchy")
            case (false, let wrong?):
                throw CommandFailure(.refused, "\(name).\(wrong) does not form a hierarchy; use one of \(names)")
            case (false, nil):
                throw CommandFailure(.usage, "\(name) has several hierarchies: specify --relationship: \(names)")
            }
        }
        self.entity = entity
        self.children = chosen[0]
        self.parent = chosen[0].inverse
    }

    /// Returns the names of the entities that have a hierarchy.
    static func names(in model: ManagedObjectModel) -> [String] {
        model.entities.filter { !Self.hierarchies(of: $0, model).isEmpty }.map(\.name)
    }

    /// Returns the relationships that form a hierarchy: an object has any number of children, and each child has one
    /// parent.
    private static func hierarchies(
        of entity: EntityDescription,
        _ model: ManagedObjectModel
    ) -> [RelationshipDescription] {
        entity.relationships.filter { relationship in
            guard relationship.isToMany, !relationship.isHiddenInverse, relationship.join == nil else { return false }
            return model.isKind(entity.number, of: relationship.destination)
                || model.isKind(relationship.destination, of: entity.number)
        }
    }

    /// Throws if the children have no order: an outline needs one.
    func requireOrder() throws {
        guard self.children.isOrdered else {
            throw CommandFailure(
                .refused,
                "\(self.entity.name).\(self.children.name) is not ordered: an outline cannot be stored in it"
            )
        }
    }

    func isRoot(_ id: ObjectID) -> Bool { self.entity.root?.object == id }

    /// Returns the specified object, or the one at which commands start.
    func top(_ argument: IDArgument?, _ option: String) throws -> ObjectID {
        if let argument { return argument.id }
        guard let start = self.start else {
            throw CommandFailure(.usage, "the entity \(self.entity.name) has no root: \(option)")
        }
        return start
    }
}

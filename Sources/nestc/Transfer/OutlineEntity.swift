import ArgumentParser
import NestClient
import NestDocuments
import NestModel

/// Which objects of a server's model make up an outline.
struct OutlineEntityOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The entity of the items. (default: Item)", valueName: "name"))
    var entity: String?

    @Option(
        help: ArgumentHelp(
            "The relationship from an item to those below it; needed only where there are several.",
            valueName: "name"
        )
    )
    var relationship: String?
}

/// Which attributes an outline's titles, notes and done marks are.
struct OutlineAttributeOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The attribute for titles. (default: the one that names an object)", valueName: "name"))
    var titleAttribute: String?

    @Option(help: ArgumentHelp("The attribute for notes. (default: note, if there is one)", valueName: "name"))
    var noteAttribute: String?

    @Option(help: ArgumentHelp("The attribute for done marks. (default: done, if there is one)", valueName: "name"))
    var doneAttribute: String?
}

/// An entity with a relationship to itself, which makes a hierarchy of its objects.
struct OutlineEntity {
    let entity: EntityDescription
    let children: RelationshipDescription
    /// The relationship to the object above.
    let parent: PropertyNumber
    /// Nobody has said which entity: the nested list, whose notes and marks may have no place in a model.
    let isUsual: Bool

    init(_ client: NestClient, _ options: OutlineEntityOptions) async throws {
        let model = try await client.model()
        let name = options.entity ?? "Item"
        guard let entity = model.entity(named: name) else {
            let others = model.entities.filter { !Self.hierarchies(of: $0, model).isEmpty }.map(\.name)
            let known =
                others.isEmpty
                ? "none of its entities has a relationship to itself"
                : "--entity says which: \(others.joined(separator: ", "))"
            throw CommandFailure(.refused, "the server's model has no entity \(name); \(known)")
        }
        let found = Self.hierarchies(of: entity, model)
        let names = found.map(\.name).joined(separator: ", ")
        let chosen = options.relationship.map { name in found.filter { $0.name == name } } ?? found
        guard chosen.count == 1 else {
            switch (found.isEmpty, options.relationship) {
            case (true, _):
                throw CommandFailure(.refused, "\(name) has no relationship to itself that makes a hierarchy")
            case (false, let wrong?):
                throw CommandFailure(.refused, "\(name).\(wrong) makes no hierarchy; there are \(names)")
            case (false, nil):
                throw CommandFailure(.usage, "\(name) has several hierarchies: --relationship says which: \(names)")
            }
        }
        self.entity = entity
        self.children = chosen[0]
        self.parent = chosen[0].inverse
        self.isUsual = options.entity == nil
    }

    /// The relationships from one object of the entity to any number below it, each of which is below one.
    private static func hierarchies(
        of entity: EntityDescription,
        _ model: ManagedObjectModel
    ) -> [RelationshipDescription] {
        entity.relationships.filter { relationship in
            guard relationship.isToMany, relationship.join == nil else { return false }
            return model.isKind(entity.number, of: relationship.destination)
                || model.isKind(relationship.destination, of: entity.number)
        }
    }

    /// What a new object may be put below.
    func requireOrder() throws {
        guard self.children.isOrdered else {
            throw CommandFailure(
                .refused,
                "\(self.entity.name).\(self.children.name) is not ordered: an outline cannot be stored in it"
            )
        }
    }

    func isRoot(_ id: ObjectID) -> Bool { self.entity.root?.object == id }

    /// The object that was named, else the root.
    func top(_ argument: IDArgument?, _ option: String) throws -> ObjectID {
        if let argument { return argument.id }
        guard let root = self.entity.root?.object else {
            throw CommandFailure(.usage, "there is no root of \(self.entity.name): \(option)")
        }
        return root
    }
}

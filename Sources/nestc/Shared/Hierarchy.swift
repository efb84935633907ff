import ArgumentParser
import NestClient
import NestDocuments
import NestModel

/// The hierarchy that `ls`, `tree`, `add` and `mv` use: items by default, or the objects of any entity that has a
/// relationship to itself.
struct Hierarchy {
    let model: ManagedObjectModel
    private let outline: OutlineEntity
    /// The object that the commands use by default: the root, or the root of the token's scope. `nil`: the hierarchy
    /// has no root object, but any number of objects without a parent.
    let top: ObjectID?

    /// `object`: an object of the hierarchy, if the command names one. Its entity is the default of `--entity`.
    init(_ client: NestClient, _ options: OutlineEntityOptions, of object: ObjectID?) async throws {
        let model = try await client.model()
        let name = try await Self.entityName(client, model, options, object)
        let outline = try OutlineEntity(model, entity: name, relationship: options.relationship)
        self.model = model
        self.outline = outline
        do {
            self.top = try await StartObject.of(outline.entity, outline.children.number, in: model, client)
        } catch {
            // Only a command that names no object needs it.
            guard object != nil else { throw error }
            self.top = nil
        }
    }

    private static func entityName(
        _ client: NestClient,
        _ model: ManagedObjectModel,
        _ options: OutlineEntityOptions,
        _ object: ObjectID?
    ) async throws -> String? {
        if let name = options.entity { return try model.requireEntity(name).name }
        let names = OutlineEntity.names(in: model)
        guard !names.isEmpty else {
            throw CommandFailure(
                .refused,
                "this command needs a hierarchy, but no entity of the server's model has a relationship to itself; "
                    + "use insert, fetch, set, relate and rm"
            )
        }
        if names.count == 1 { return names[0] }
        if let object { return try model.entity(of: try await client.object(object)).name }
        guard names.contains("Item") else {
            throw CommandFailure(
                .usage,
                "the server's model has several hierarchies: specify --entity: \(names.joined(separator: ", "))"
            )
        }
        return "Item"
    }

    var entity: EntityDescription { self.outline.entity }
    /// The relationship to the parent.
    var parent: PropertyNumber { self.outline.parent }
    var children: RelationshipDescription { self.outline.children }

    func isRoot(_ id: ObjectID) -> Bool { self.outline.isRoot(id) }

    /// Returns the string attribute that names an object: `title` of an item.
    func titleAttribute() throws -> PropertyNumber {
        guard let label = self.entity.labelAttribute, self.entity.attribute(label)?.type == .string else {
            throw CommandFailure(
                .refused,
                "\(self.entity.name) has no string attribute for titles; use 'nestc insert \(self.entity.name)'"
            )
        }
        return label
    }

    /// Returns the request for the children of an object, in their order; without one, for the objects without a
    /// parent.
    func request(childrenOf parent: ObjectID?) throws -> ObjectFetchRequest {
        guard let parent else {
            var request = ObjectFetchRequest(entity: self.entity.number)
            let name = self.entity.relationship(self.parent)?.name ?? "parent"
            request.predicate = try FetchPredicate("\(name) == nil", of: self.entity, in: self.model)
            return request
        }
        return ObjectFetchRequest(
            entity: self.children.destination,
            source: FetchSource(object: parent, relationship: self.children.number)
        )
    }

    /// Returns a printer whose JSON has `extra` of an item as an object, as `export` writes it.
    func printer(_ projection: [PropertyNumber], of entity: EntityNumber? = nil) -> RowPrinter {
        let entity = entity.flatMap { self.model.entity($0) } ?? self.entity
        var printer = RowPrinter(model: self.model, entity: entity, projection: projection)
        printer.extraAttribute = entity.attributes.first { $0.name == "extra" && $0.type == .string }?.number
        return printer
    }

    /// Returns the steps' parts that put an object under a parent. Children without an order have no positions.
    func position(
        under owner: ObjectID,
        _ place: Place
    ) throws -> (values: [PropertyAssignment], placements: [Placement]) {
        if self.children.isOrdered {
            return ([], [Placement(relationship: self.parent, owner: .object(owner), place: place)])
        }
        guard place == .last else {
            throw CommandFailure(
                .refused,
                "\(self.entity.name).\(self.children.name) is not ordered: its objects have no positions"
            )
        }
        return ([PropertyAssignment(self.parent, .reference(.object(owner)))], [])
    }

    /// Returns the parent of an object, for a position that names only a neighbour.
    func parent(of id: ObjectID, _ client: NestClient) async throws -> ObjectID {
        let object = try await client.object(id)
        guard let parent = object.values.first(where: { $0.property == self.parent })?.value.referenceValue else {
            let noun = self.entity.name == "Item" ? "item" : self.entity.name
            throw CommandFailure(
                .refused,
                "\(noun) \(id) has no parent: it cannot move, and nothing can be next to it; use --parent ID"
            )
        }
        return parent
    }
}

/// The flag that shows the root object, which most commands leave out: it has no title and no place in a list.
struct RootOptions: ParsableArguments {
    @Flag(help: "Also show the root object. Lists of a confined token never have its root.")
    var withRoot = false
}

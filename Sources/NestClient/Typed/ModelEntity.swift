import NestModel

/// An entity of a model as a Swift type. `nestc model generate swift` writes such types; a program may also write one
/// by hand.
///
///     let open = ToDo.where(\.done == false && \.owner.name == "Ann").sorted(by: \.createdAt, .descending)
///     for toDo in try await client.fetch(open) { print(toDo.name) }
///
///     let toDos = try await client.entity(ToDo.self)
///     let added = context.insert(toDos, [.name("Buy bread"), .owner(ann)])
public protocol ModelEntity: RowDecodable, TypedObject, Identifiable, Hashable
where ID == ObjectID, Entity == Self {
    /// The properties of an object, as paths that predicates and sort keys begin with.
    associatedtype Paths: Sendable
    /// The entity's name in the model.
    static var entityName: String { get }
    /// The attributes and to-one relationships that a value of the type is made of.
    static var columns: [String] { get }
    static var paths: Paths { get }
}

extension ModelEntity {
    public var objectReference: ObjectReference { .object(self.id) }

    /// A request for all objects of the entity.
    public static var all: TypedRequest<Self> { TypedRequest() }

    /// A request for the objects that a predicate matches.
    public static func `where`(_ predicate: TypedPredicate<Self>) -> TypedRequest<Self> {
        TypedRequest().where(predicate)
    }
}

/// An entity of the server's model, and the Swift type of its objects.
public struct TypedEntity<Entity: ModelEntity>: Sendable {
    public let entity: NamedEntity

    /// Throws `unknownProperty` if the entity lacks a column of the type.
    init(_ entity: NamedEntity) throws(NestError) {
        for column in Entity.columns where entity.description.propertyNumber(named: column) == nil {
            throw NestError(
                .unknownProperty,
                "the server's \(Entity.entityName) has no '\(column)': generate the types from its model again"
            )
        }
        self.entity = entity
    }
}

extension NestClient {
    /// Returns the entity of a Swift type in the server's model. Throws `unknownEntity` or `unknownProperty` if the
    /// type was made of another model.
    public func entity<Entity: ModelEntity>(_ type: Entity.Type) async throws(NestError) -> TypedEntity<Entity> {
        try TypedEntity(try await self.entity(Entity.entityName))
    }
}

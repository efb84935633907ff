import NestModel

/// An object of a type that a context has inserted or found. It stands for the object in later calls on that context,
/// before and after saving.
public struct TypedReference<Entity: ModelEntity>: ObjectReferring, Hashable, Sendable {
    public let objectReference: ObjectReference
}

/// What is an object of a generated type: a value of the type, or what a context has returned for one.
public protocol TypedObject<Entity>: ObjectReferring {
    associatedtype Entity: ModelEntity
}

extension TypedReference: TypedObject {}

extension NestClient {
    /// Returns a unit of work that takes generated types without their entities: it knows the server's model. It reads
    /// the model once for all contexts.
    ///
    ///     let context = try await client.context()
    ///     let mia = try context.insert(User.self, .name("Mia"))
    ///     try context.insert(Post.self, .title("Zeros"), .user(mia))
    ///     try await context.save()
    public func context() async throws(NestError) -> ObjectContext {
        ObjectContext(self, model: try await self.model())
    }

    /// Sets values of an object, as a transaction of its own: `try await client.set(toDo, .done(true))`.
    @discardableResult
    public func set<Object: TypedObject>(
        _ object: Object,
        _ values: Assignment<Object.Entity>...,
        name: String? = nil
    ) async throws(NestError) -> Receipt? {
        let context = try await self.context()
        try context.set(object, values)
        return try await context.save(name: name)
    }

    /// Inserts an object, as a transaction of its own, and returns its id.
    @discardableResult
    public func insert<Entity>(
        _ type: Entity.Type,
        _ values: Assignment<Entity>...,
        name: String? = nil
    ) async throws(NestError) -> ObjectID {
        let context = try await self.context()
        let object = try context.insert(type, values)
        try await context.save(name: name)
        guard let id = context.objectID(of: object) else { preconditionFailure("a saved object has an id") }
        return id
    }

    /// Deletes objects and everything that their delete rules reach, as a transaction of its own.
    @discardableResult
    public func delete(_ objects: any ObjectReferring..., name: String? = nil) async throws(NestError) -> Receipt? {
        let context = ObjectContext(self)
        for object in objects { context.delete(object.objectReference) }
        return try await context.save(name: name)
    }
}

/// Changes of objects of generated types in a context that knows the model: `NestClient.context()`. In another one they
/// throw `invalid`.
extension ObjectContext {
    /// Inserts an object: `try context.insert(ToDo.self, .name("Buy bread"))`.
    @discardableResult
    public func insert<Entity>(
        _ type: Entity.Type,
        _ values: Assignment<Entity>...,
        as id: ObjectID? = nil
    ) throws(NestError) -> TypedReference<Entity> { try self.insert(type, values, as: id) }

    func insert<Entity>(
        _ type: Entity.Type,
        _ values: [Assignment<Entity>],
        as id: ObjectID? = nil
    ) throws(NestError) -> TypedReference<Entity> {
        TypedReference(objectReference: try self.insert(try self.entity(type), values, as: id))
    }

    /// Inserts an object under an owner, at a place among those that the owner has.
    @discardableResult
    public func insert<Entity>(
        _ type: Entity.Type,
        _ values: Assignment<Entity>...,
        under owner: some ObjectReferring,
        at place: Place = .last,
        as id: ObjectID? = nil
    ) throws(NestError) -> TypedReference<Entity> {
        let entity = try self.entity(type)
        return TypedReference(objectReference: try self.insert(entity, values, under: owner, at: place, as: id))
    }

    /// Finds the first object with the values of `match`, or inserts one with them and `values`.
    @discardableResult
    public func findOrCreate<Entity>(
        _ type: Entity.Type,
        matching match: Assignment<Entity>...,
        with values: [Assignment<Entity>] = []
    ) throws(NestError) -> TypedReference<Entity> {
        TypedReference(objectReference: try self.findOrCreate(try self.entity(type), matching: match, values))
    }

    /// Sets values of an object: `try context.set(toDo, .done(true))`.
    public func set<Object: TypedObject>(
        _ object: Object,
        _ values: Assignment<Object.Entity>...
    ) throws(NestError) { try self.set(object, values) }

    func set<Object: TypedObject>(
        _ object: Object,
        _ values: [Assignment<Object.Entity>]
    ) throws(NestError) { try self.set(object, of: try self.entity(Object.Entity.self), values) }

    /// Moves an object under an owner, or to another place under the same owner.
    public func move<Object: TypedObject>(
        _ object: Object,
        under owner: some ObjectReferring,
        by relationship: String? = nil,
        at place: Place = .last
    ) throws(NestError) {
        let entity = try self.entity(Object.Entity.self)
        try self.move(object, of: entity, under: owner, by: relationship, at: place)
    }

    private func entity<Entity: ModelEntity>(_ type: Entity.Type) throws(NestError) -> TypedEntity<Entity> {
        guard let model = self.model else {
            throw NestError(
                .invalid,
                "the context does not know the model: make it with client.context(), or name the entity with 'of:'"
            )
        }
        return try TypedEntity(NamedEntity(named: Entity.entityName, in: model))
    }
}

import NestModel

/// A value for a property of an entity. Generated types have a function for each: `.name("Ann")`, `.owner(ann)`.
public struct Assignment<Entity: ModelEntity>: Sendable {
    let name: String
    let value: any MutationValueConvertible

    public init(_ name: String, _ value: some MutationValueConvertible) {
        self.name = name
        self.value = value
    }

    /// An object of a to-one relationship; `nil`: none.
    public init(_ name: String, object: (any ObjectReferring)?) {
        self.name = name
        self.value = object ?? AttributeValue.null
    }
}

/// Changes of objects of generated types.
extension ObjectContext {
    /// Inserts an object. `Assignment` names its values: `[.name("Buy bread"), .owner(ann)]`.
    @discardableResult
    public func insert<Entity>(
        _ entity: TypedEntity<Entity>,
        _ values: [Assignment<Entity>] = [],
        as id: ObjectID? = nil
    ) throws(NestError) -> ObjectReference {
        self.insert(entity.entity.number, try entity.assignments(values), as: id)
    }

    /// Inserts an object under an owner, at a place among those that the owner has.
    @discardableResult
    public func insert<Entity>(
        _ entity: TypedEntity<Entity>,
        _ values: [Assignment<Entity>] = [],
        under owner: some ObjectReferring,
        at place: Place = .last,
        as id: ObjectID? = nil
    ) throws(NestError) -> ObjectReference {
        let placement = try entity.entity.placement(place, under: owner)
        return self.insert(entity.entity.number, try entity.assignments(values), at: [placement], as: id)
    }

    /// Finds the first object with the values of `match`, or inserts one with them and `values`.
    @discardableResult
    public func findOrCreate<Entity>(
        _ entity: TypedEntity<Entity>,
        matching match: [Assignment<Entity>],
        _ values: [Assignment<Entity>] = []
    ) throws(NestError) -> ObjectReference {
        self.findOrCreate(
            entity.entity.number,
            matching: try entity.assignments(match),
            try entity.assignments(values)
        )
    }

    /// Sets values of an object of the entity.
    public func set<Entity>(
        _ object: some ObjectReferring,
        of entity: TypedEntity<Entity>,
        _ values: [Assignment<Entity>]
    ) throws(NestError) {
        for assignment in try entity.assignments(values) { self.set(object, assignment.property, to: assignment.value) }
    }
}

/// Places and relationships of objects of generated types.
extension ObjectContext {
    /// Moves an object of the entity under an owner, or to another place under the same owner.
    public func move<Entity>(
        _ object: some ObjectReferring,
        of entity: TypedEntity<Entity>,
        under owner: some ObjectReferring,
        by relationship: String? = nil,
        at place: Place = .last
    ) throws(NestError) {
        try self.move(object, of: entity.entity, under: owner, by: relationship, at: place)
    }

    /// Adds an object to a to-many relationship of an owner, which is of the entity.
    public func relate<Entity>(
        _ owner: some ObjectReferring,
        of entity: TypedEntity<Entity>,
        _ relationship: String,
        to object: some ObjectReferring,
        at place: Place = .last
    ) throws(NestError) {
        try self.relate(owner, of: entity.entity, relationship, to: object, at: place)
    }

    /// Removes an object from a to-many relationship of an owner, which is of the entity.
    public func unrelate<Entity>(
        _ owner: some ObjectReferring,
        of entity: TypedEntity<Entity>,
        _ relationship: String,
        from object: some ObjectReferring
    ) throws(NestError) {
        try self.unrelate(owner, of: entity.entity, relationship, from: object)
    }

    /// Replaces the objects of a to-many relationship of an owner, which is of the entity.
    public func setRelated<Entity>(
        _ owner: some ObjectReferring,
        of entity: TypedEntity<Entity>,
        _ relationship: String,
        to objects: [any ObjectReferring]
    ) throws(NestError) {
        try self.setRelated(owner, of: entity.entity, relationship, to: objects)
    }
}

extension TypedEntity {
    func assignments(_ values: [Assignment<Entity>]) throws(NestError) -> [PropertyAssignment] {
        try values.map { (assignment) throws(NestError) in
            try self.entity.assignment(assignment.name, assignment.value)
        }
    }
}

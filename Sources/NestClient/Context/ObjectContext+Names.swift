import NestModel

/// Changes that are written by name.
extension ObjectContext {
    /// Inserts an object. `id`: one that the client has reserved with `reserveIDs`; `nil`: the server gives one.
    @discardableResult
    public func insert(
        _ entity: NamedEntity,
        _ values: KeyValuePairs<String, any MutationValueConvertible> = [:],
        at placements: [Placement] = [],
        as id: ObjectID? = nil
    ) throws(NestError) -> ObjectReference {
        self.insert(entity.number, try entity.values(values), at: placements, as: id)
    }

    @discardableResult
    public func findOrCreate(
        _ entity: NamedEntity,
        matching match: KeyValuePairs<String, any MutationValueConvertible>,
        _ values: KeyValuePairs<String, any MutationValueConvertible> = [:],
        at placements: [Placement] = []
    ) throws(NestError) -> ObjectReference {
        self.findOrCreate(
            entity.number,
            matching: try entity.values(match),
            try entity.values(values),
            at: placements
        )
    }

    /// Inserts an object under an owner, at a place among those that the owner has. `relationship` is the to-one
    /// relationship to the owner; `nil`: the only one that can be meant, see `NamedEntity.placement`.
    @discardableResult
    public func insert(
        _ entity: NamedEntity,
        _ values: KeyValuePairs<String, any MutationValueConvertible> = [:],
        under owner: some ObjectReferring,
        by relationship: String? = nil,
        at place: Place = .last,
        as id: ObjectID? = nil
    ) throws(NestError) -> ObjectReference {
        try self.insert(entity, values, at: [entity.placement(place, under: owner, by: relationship)], as: id)
    }

    /// Sets attributes and to-one relationships of an object of the entity.
    public func set(
        _ object: some ObjectReferring,
        of entity: NamedEntity,
        _ values: KeyValuePairs<String, any MutationValueConvertible>
    ) throws(NestError) {
        for assignment in try entity.values(values) { self.set(object, assignment.property, to: assignment.value) }
    }

    /// Moves an object of the entity under an owner, or to another place under the same owner.
    public func move(
        _ object: some ObjectReferring,
        of entity: NamedEntity,
        under owner: some ObjectReferring,
        by relationship: String? = nil,
        at place: Place = .last
    ) throws(NestError) {
        self.move(object, to: try entity.placement(place, under: owner, by: relationship))
    }

    /// Adds an object to a to-many relationship of an owner, which is of the entity.
    public func relate(
        _ owner: some ObjectReferring,
        of entity: NamedEntity,
        _ relationship: String,
        to object: some ObjectReferring,
        at place: Place = .last
    ) throws(NestError) {
        self.relate(owner, try entity.relationship(relationship, isToMany: true), to: object, at: place)
    }

    /// Removes an object from a to-many relationship of an owner, which is of the entity.
    public func unrelate(
        _ owner: some ObjectReferring,
        of entity: NamedEntity,
        _ relationship: String,
        from object: some ObjectReferring
    ) throws(NestError) {
        self.unrelate(owner, try entity.relationship(relationship, isToMany: true), from: object)
    }

    /// Replaces the objects of a to-many relationship of an owner, which is of the entity.
    public func setRelated(
        _ owner: some ObjectReferring,
        of entity: NamedEntity,
        _ relationship: String,
        to objects: [any ObjectReferring]
    ) throws(NestError) {
        self.setRelated(owner, try entity.relationship(relationship, isToMany: true), to: objects)
    }
}

import NestModel

/// Changes that are written by name.
extension ObjectContext {
    @discardableResult
    public func insert(
        _ entity: NamedEntity,
        _ values: KeyValuePairs<String, any MutationValueConvertible> = [:],
        at placements: [Placement] = []
    ) throws(NestError) -> ObjectReference {
        self.insert(entity.number, try entity.values(values), at: placements)
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

    /// Sets attributes and to-one relationships of an object of the entity.
    public func set(
        _ object: ObjectReference,
        of entity: NamedEntity,
        _ values: KeyValuePairs<String, any MutationValueConvertible>
    ) throws(NestError) {
        for assignment in try entity.values(values) { self.set(object, assignment.property, to: assignment.value) }
    }
}

import NestModel

/// The references of a mutation. A context uses them to find the unsaved objects that a mutation needs.
extension Mutation {
    /// Whether the step has a result that later steps may refer to.
    var hasResult: Bool {
        switch self {
        case .insert, .findOrCreate, .insertAs: true
        default: false
        }
    }

    /// The object that the step changes. `nil` for a step that inserts or finds an object.
    var subject: ObjectReference? {
        switch self {
        case .insert, .findOrCreate, .insertAs: nil
        case .update(let object, _), .move(let object, _), .delete(let object), .relate(let object, _, _, _),
            .unrelate(let object, _, _), .setRelated(let object, _, _):
            object
        }
    }

    /// Returns the step with every reference replaced.
    func mapReferences<Failure>(
        _ map: (ObjectReference) throws(Failure) -> ObjectReference
    ) throws(Failure) -> Mutation {
        switch self {
        case .insert(let entity, let values, let placements):
            .insert(
                entity: entity,
                values: try values.mapReferences(map),
                placements: try placements.mapReferences(map)
            )
        case .insertAs(let id, let entity, let values, let placements):
            .insertAs(
                id,
                entity: entity,
                values: try values.mapReferences(map),
                placements: try placements.mapReferences(map)
            )
        case .update(let object, let values): .update(try map(object), values: try values.mapReferences(map))
        case .move(let object, let placement): .move(try map(object), try placement.mapReferences(map))
        case .delete(let object): .delete(try map(object))
        case .relate(let object, let property, let other, let place):
            .relate(try map(object), property, try map(other), try place.mapReferences(map))
        case .unrelate(let object, let property, let other): .unrelate(try map(object), property, try map(other))
        case .setRelated(let object, let property, let others):
            .setRelated(try map(object), property, try others.map(map))
        case .findOrCreate(let entity, let match, let values, let placements):
            .findOrCreate(
                entity: entity,
                match: try match.mapReferences(map),
                values: try values.mapReferences(map),
                placements: try placements.mapReferences(map)
            )
        }
    }
}

extension Place {
    fileprivate func mapReferences<Failure>(
        _ map: (ObjectReference) throws(Failure) -> ObjectReference
    ) throws(Failure) -> Place {
        switch self {
        case .before(let neighbour): .before(try map(neighbour))
        case .after(let neighbour): .after(try map(neighbour))
        case .near(let left, let right):
            .near(left: try left.map(map), right: try right.map(map))
        case .first, .last, .at: self
        }
    }
}

extension Placement {
    fileprivate func mapReferences<Failure>(
        _ map: (ObjectReference) throws(Failure) -> ObjectReference
    ) throws(Failure) -> Placement {
        Placement(relationship: self.relationship, owner: try map(self.owner), place: try self.place.mapReferences(map))
    }
}

extension [Placement] {
    fileprivate func mapReferences<Failure>(
        _ map: (ObjectReference) throws(Failure) -> ObjectReference
    ) throws(Failure) -> [Placement] {
        try self.map { (placement) throws(Failure) in try placement.mapReferences(map) }
    }
}

extension [PropertyAssignment] {
    fileprivate func mapReferences<Failure>(
        _ map: (ObjectReference) throws(Failure) -> ObjectReference
    ) throws(Failure) -> [PropertyAssignment] {
        try self.map { (assignment) throws(Failure) in
            guard case .reference(let reference) = assignment.value else { return assignment }
            return PropertyAssignment(assignment.property, .reference(try map(reference)))
        }
    }
}

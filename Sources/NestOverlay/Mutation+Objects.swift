import NestModel

extension Mutation {
    /// The id in reserve that the step gives to a new object.
    var reserved: ObjectID? { if case .insertAs(let id, _, _, _) = self { id } else { nil } }

    /// The objects that the step names, and the one that it makes with an id in reserve.
    var objects: [ObjectID] {
        let references: [ObjectReference]
        switch self {
        case .insertAs(let id, _, _, let placements): return [id] + placements.flatMap { $0.owner.objects }
        case .insert(_, _, let placements): references = placements.map(\.owner)
        case .findOrCreate: references = []
        case .update(let object, _), .delete(let object): references = [object]
        case .move(let object, let placement): references = [object, placement.owner]
        case .relate(let owner, _, let object, _), .unrelate(let owner, _, let object): references = [owner, object]
        case .setRelated(let owner, _, let others): references = [owner] + others
        }
        return references.flatMap(\.objects)
    }

    /// The objects that must exist for the step: also those that a value names, or a neighbour.
    var needed: [ObjectID] {
        switch self {
        case .insert(_, let values, let placements), .insertAs(_, _, let values, let placements),
            .findOrCreate(_, _, let values, let placements):
            values.flatMap(\.objects) + placements.flatMap(\.objects)
        case .update(let object, let values): object.objects + values.flatMap(\.objects)
        case .move(let object, let placement): object.objects + placement.objects
        case .relate(let owner, _, let object, let place): owner.objects + object.objects + place.objects
        case .delete, .unrelate, .setRelated: self.objects
        }
    }
}

extension PropertyAssignment {
    fileprivate var objects: [ObjectID] {
        if case .reference(let reference) = self.value { reference.objects } else { [] }
    }
}

extension Placement {
    fileprivate var objects: [ObjectID] { self.owner.objects + self.place.objects }
}

extension Place {
    /// The neighbour that it must find. `near` finds another place.
    fileprivate var objects: [ObjectID] {
        switch self {
        case .before(let reference), .after(let reference): reference.objects
        case .first, .last, .at, .near: []
        }
    }
}

extension ObjectReference {
    /// None for an object that the transaction makes.
    fileprivate var objects: [ObjectID] { self.rawValue > 0 ? [ObjectID(self.rawValue)] : [] }
}

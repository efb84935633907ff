import NestModel

/// Short descriptions of mutations, for the messages of tests.
extension Mutation {
    package var brief: String {
        func text(_ values: [PropertyAssignment]) -> String {
            values.map { assignment in
                switch assignment.value {
                case .value(let value): "\(assignment.property.rawValue)=\(String("\(value)".prefix(60)))"
                case .reference(let reference): "\(assignment.property.rawValue)=\(reference.rawValue)"
                }
            }.joined(separator: " ")
        }
        func text(_ place: Place) -> String {
            switch place {
            case .before(let reference): "before \(reference.rawValue)"
            case .after(let reference): "after \(reference.rawValue)"
            case .near(let left, let right): "near \(left?.rawValue ?? 0) and \(right?.rawValue ?? 0)"
            case .first, .last, .at: "\(place)"
            }
        }
        func text(_ placements: [Placement]) -> String {
            placements.map { " \($0.relationship.rawValue): under \($0.owner.rawValue) \(text($0.place))" }.joined()
        }
        return switch self {
        case .insert(let entity, let values, let placements):
            "insert \(entity.rawValue) [\(text(values))]\(text(placements))"
        case .insertAs(let id, let entity, let values, let placements):
            "insert \(entity.rawValue) as \(id) [\(text(values))]\(text(placements))"
        case .update(let object, let values): "update \(object.rawValue) [\(text(values))]"
        case .move(let object, let placement): "move \(object.rawValue)\(text([placement]))"
        case .delete(let object): "delete \(object.rawValue)"
        case .relate(let owner, let property, let object, let place):
            "relate \(owner.rawValue).\(property.rawValue) \(object.rawValue) \(text(place))"
        case .unrelate(let owner, let property, let object):
            "unrelate \(owner.rawValue).\(property.rawValue) \(object.rawValue)"
        case .setRelated(let owner, let property, let objects):
            "set \(owner.rawValue).\(property.rawValue) \(objects.map(\.rawValue))"
        case .findOrCreate(let entity, let match, let values, let placements):
            "find \(entity.rawValue) [\(text(match))] or create with [\(text(values))]\(text(placements))"
        }
    }
}

extension ModelDraft {
    /// A short description of the model, for the messages of tests.
    package var brief: String {
        self.entities.map { entity in
            let parent = entity.parent.map { ": \($0)" } ?? ""
            let attributes = entity.attributes.map { "\($0.name) \($0.type)\($0.isOptional ? "?" : "")" }
            let relationships = entity.relationships.map { relationship in
                let bounds = "\(relationship.minimumCount)...\(relationship.maximumCount)"
                let kind = relationship.isToMany ? relationship.isOrdered ? "[ordered \(bounds)]" : "[\(bounds)]" : ""
                let need = relationship.isOptional ? "?" : ""
                return
                    "\(relationship.name)\(kind)\(need) -> \(relationship.destination).\(relationship.inverse) \(relationship.deleteRule)"
            }
            let unique = entity.uniquenessConstraints.map { "unique \($0.joined(separator: "+"))" }
            return
                "\(entity.isAbstract ? "abstract " : "")\(entity.name)\(parent)\(entity.root == nil ? "" : " root")\n      "
                + (attributes + relationships + unique).joined(separator: "\n      ")
        }.joined(separator: "\n    ")
    }
}

/// The inverse that nest adds to a relationship that has none in its file: nest stores both sides of every
/// relationship. A hidden inverse is to-many, unordered, optional, and nullifies. Programs for people do not list it.
public enum HiddenInverse {
    /// Names of the user's own properties cannot begin with `nest_`.
    static let prefix = "nest_inverse_"

    /// Returns the name of the hidden inverse of a relationship that `entity` declares: always the same, and different
    /// for each relationship of a model.
    public static func name(of relationship: String, in entity: String) -> String {
        let name = "\(self.prefix)\(entity)_\(relationship)"
        // The first _ after the prefix ends the entity's name, so two readable names are equal only if both parts are.
        if name.utf8.count <= ManagedObjectModel.nameLengthMax, !entity.utf8.contains(UInt8(ascii: "_")) { return name }
        let digits = String(fnv1a(Array("\(entity).\(relationship)".lowercased().utf8)), radix: 16)
        return self.prefix + String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension RelationshipDescription {
    /// Whether nest added the relationship as the inverse of a one-way relationship.
    public var isHiddenInverse: Bool { self.name.hasPrefix(HiddenInverse.prefix) }
}

extension ManagedObjectModel {
    /// Whether the inverse of a relationship is hidden. Such a relationship is no hierarchy: objects may refer to each
    /// other in a circle.
    public func isOneWay(_ relationship: RelationshipDescription) -> Bool {
        self.inverse(of: relationship)?.isHiddenInverse ?? false
    }
}

extension ModelDraft {
    private struct Side: Hashable {
        var entity: String
        var relationship: String
    }

    /// Returns the draft with an inverse for each relationship without one: the relationship that names this one as its
    /// inverse, otherwise a hidden inverse at the end of the destination.
    func addingHiddenInverses() -> ModelDraft {
        var draft = self
        var indexes: [String: Int] = [:]
        // By relationship: the one that names it as its inverse.
        var claims: [Side: Side] = [:]
        for (index, entity) in self.entities.enumerated() {
            if indexes[entity.name] == nil { indexes[entity.name] = index }
            for relationship in entity.relationships where !relationship.inverse.isEmpty {
                claims[Side(entity: relationship.destination, relationship: relationship.inverse)] =
                    Side(entity: entity.name, relationship: relationship.name)
            }
        }
        for (index, entity) in self.entities.enumerated() {
            for (number, relationship) in entity.relationships.enumerated() where relationship.inverse.isEmpty {
                guard let destination = indexes[relationship.destination] else { continue }
                let claim = claims[Side(entity: entity.name, relationship: relationship.name)]
                if let claim, claim.entity == relationship.destination {
                    draft.entities[index].relationships[number].inverse = claim.relationship
                    continue
                }
                let name = HiddenInverse.name(of: relationship.name, in: entity.name)
                draft.entities[index].relationships[number].inverse = name
                var inverse = RelationshipDraft(name: name, destination: entity.name, inverse: relationship.name)
                inverse.isToMany = true
                draft.entities[destination].relationships.append(inverse)
            }
        }
        return draft
    }
}

/// Whether what was made for one model means the same in another.
extension ManagedObjectModel {
    /// Whether this model has everything that `old` has, under the same numbers and with the same meaning. Requests,
    /// subscriptions and names that were made for `old` are then valid here too. O(entities and properties).
    ///
    /// Anything may be new: entities, also below old ones, and properties. What may be stored can differ: optional,
    /// abstract, defaults, bounds, counts, delete rules, uniqueness, indexes and labels. A name, a type, a parent, a
    /// destination, an inverse, a root, or the order or number of a relationship cannot.
    public func extends(_ old: ManagedObjectModel) -> Bool {
        old.entities.allSatisfy { before in self.entity(before.number).map { $0.extends(before) } ?? false }
    }
}

extension EntityDescription {
    fileprivate func extends(_ old: EntityDescription) -> Bool {
        self.name.hasSameBytes(as: old.name) && self.parent == old.parent && self.root == old.root
            && old.attributes.allSatisfy { before in self.attribute(before.number).map { $0.means(before) } ?? false }
            && old.relationships.allSatisfy { before in
                self.relationship(before.number).map { $0.means(before) } ?? false
            }
    }
}

extension AttributeDescription {
    fileprivate func means(_ old: AttributeDescription) -> Bool {
        self.name.hasSameBytes(as: old.name) && self.type == old.type
    }
}

extension RelationshipDescription {
    fileprivate func means(_ old: RelationshipDescription) -> Bool {
        self.name.hasSameBytes(as: old.name) && self.destination == old.destination && self.inverse == old.inverse
            && self.isToMany == old.isToMany && self.isOrdered == old.isOrdered && self.join == old.join
    }
}

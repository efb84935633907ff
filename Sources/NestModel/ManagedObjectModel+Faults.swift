extension ManagedObjectModel {
    /// Everything that is inconsistent in the model, in words; empty for a sound one. A store opens only with a sound model.
    public var faults: [String] {
        var faults: [String] = []
        if self.entities.isEmpty { faults.append("the model has no entity") }
        if self.entities.count > Limits.entitiesPerModelMax {
            faults.append("more than \(Limits.entitiesPerModelMax) entities")
        }
        for (number, same) in Dictionary(grouping: self.entities, by: \.number) where same.count > 1 {
            faults.append("entity number \(number.rawValue) is used \(same.count) times")
        }
        for (name, same) in Dictionary(grouping: self.entities, by: { $0.name.lowercased() }) where same.count > 1 {
            faults.append("entity name '\(name)' is used \(same.count) times")
        }
        for entity in self.entities {
            faults += self.faults(of: entity)
        }
        return faults.sorted()
    }

    private func faults(of entity: EntityDescription) -> [String] {
        var faults: [String] = []
        let names = entity.attributes.map(\.name) + entity.relationships.map(\.name)
        for name in [entity.name] + names where !Self.isName(name) {
            faults.append(
                "\(entity.name): '\(name)' is no name (a letter, then letters, digits, _; no nest_ at the start)"
            )
        }
        for (name, same) in Dictionary(grouping: names, by: { $0.lowercased() }) where same.count > 1 {
            faults.append("\(entity.name).\(name): the name is used \(same.count) times")
        }
        let numbers = entity.attributes.map(\.number) + entity.relationships.map(\.number)
        if numbers.count > Limits.propertiesPerEntityMax {
            faults.append("\(entity.name): more than \(Limits.propertiesPerEntityMax) properties")
        }
        if Set(numbers).count < numbers.count || numbers.contains(PropertyNumber(0)) {
            faults.append("\(entity.name): property numbers are not distinct and above 0")
        }
        for attribute in entity.attributes where !attribute.defaultValue.isNull {
            if !attribute.type.admits(attribute.defaultValue) {
                faults.append(
                    "\(entity.name).\(attribute.name): the default is \(attribute.defaultValue.typeName), not \(attribute.type)"
                )
            }
        }
        for relationship in entity.relationships {
            faults += self.faults(of: relationship, in: entity)
        }
        if let root = entity.root {
            let relationship = entity.relationship(root.relationship)
            if relationship == nil || relationship!.isToMany || relationship!.destination != entity.number {
                faults.append("\(entity.name): the root's relationship is not a to-one relationship to the same entity")
            }
        }
        return faults
    }

    private func faults(of relationship: RelationshipDescription, in entity: EntityDescription) -> [String] {
        let name = "\(entity.name).\(relationship.name)"
        guard let destination = self.entity(relationship.destination) else {
            return ["\(name): its destination is unknown"]
        }
        guard let inverse = destination.relationship(relationship.inverse) else {
            return ["\(name): \(destination.name) has no inverse of it"]
        }
        var faults: [String] = []
        if inverse.destination != entity.number || inverse.inverse != relationship.number {
            faults.append("\(name): \(destination.name).\(inverse.name) does not lead back")
        }
        if relationship.isOrdered, !relationship.isToMany {
            faults.append("\(name): only a to-many relationship can be ordered")
        }
        if relationship.isToMany == inverse.isToMany {
            faults.append("\(name): one side must be to-one and the other to-many in this version")
        }
        return faults
    }

    private static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, name.utf8.count <= 64 else { return false }
        let isLetter = { (c: UInt8) in (65...90).contains(c) || (97...122).contains(c) }
        return isLetter(first) && name.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) || $0 == 95 }
            && !name.lowercased().hasPrefix("nest_") && !name.lowercased().hasPrefix("sqlite_")
    }
}

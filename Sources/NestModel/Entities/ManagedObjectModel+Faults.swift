/// Checks a model from outside.
extension ManagedObjectModel {
    /// Everything that is inconsistent in the model, in words; empty for a valid model. A store opens only with a valid
    /// model. A model may have no entities: it is one that begins.
    public var faults: [String] {
        var faults: [String] = []
        if self.entities.count > Limits.entitiesPerModelMax {
            faults.append("the model has more than \(Limits.entitiesPerModelMax) entities")
        }
        for (number, same) in Dictionary(grouping: self.entities, by: \.number) where same.count > 1 {
            faults.append("entity number \(number.rawValue) is used \(same.count) times")
        }
        for (_, same) in Dictionary(grouping: self.entities, by: { $0.name.lowercased() }) where same.count > 1 {
            faults.append(
                "\(same[0].name): the name is used \(same.count) times (table names are not case-sensitive)"
            )
        }
        if self.entities.contains(where: { $0.number.rawValue == 0 }) { faults.append("an entity has the number 0") }
        for entity in self.entities { faults += self.innerFaults(of: entity) + self.faults(of: entity) }
        faults += self.joinFaults
        // What is wrong with an entity is wrong with the requests for it.
        if faults.isEmpty { faults += self.requestFaults }
        if let fault = self.sizeFault { faults.append(fault) }
        return faults.sorted()
    }

    private var requestFaults: [String] {
        var faults: [String] = []
        if self.requests.count > Limits.requestsPerModelMax {
            faults.append("the model names more than \(Limits.requestsPerModelMax) requests")
        }
        if self.patterns.count > Limits.patternsPerModelMax {
            faults.append("the model has more than \(Limits.patternsPerModelMax) regular expressions")
        }
        var names: Set<String> = []
        for request in self.requests {
            let name = "the request \(request.name)"
            if !names.insert(request.name).inserted { faults.append("\(name): the name is used more than once") }
            if request.name.isEmpty || request.name.utf8.count > Limits.nameBytesMax {
                faults.append("\(name): a name has 1 to \(Limits.nameBytesMax) bytes")
            }
            if let fault = request.fault(in: self) { faults.append("\(name): \(fault)") }
        }
        return faults
    }

    /// The server sends a model to clients in one message.
    private var sizeFault: String? {
        var writer = ByteWriter()
        writer.write(model: self)
        guard writer.count > Limits.modelBytesMax else { return nil }
        let most = Limits.modelBytesMax
        return
            "the model takes \(writer.count) bytes (inherited properties count in each entity); at most \(most) fit"
    }

    /// The faults within one entity, attribute or relationship, independent of the others.
    var innerFaults: [String] { self.entities.flatMap { self.innerFaults(of: $0) } }

    private func innerFaults(of entity: EntityDescription) -> [String] {
        var faults: [String] = []
        let parent = entity.parent.flatMap { self.entity($0) }
        if let fault = Self.nameFault(entity.name) { faults.append("\(entity.name): \(fault)") }
        // Inherited properties are checked in the entity that declares them.
        for attribute in entity.attributes where parent?.attribute(attribute.number) == nil {
            if let fault = Self.nameFault(attribute.name) {
                faults.append("\(entity.name).\(attribute.name): \(fault)")
            }
            faults += self.innerFaults(of: attribute, in: entity)
        }
        for relationship in entity.relationships where parent?.relationship(relationship.number) == nil {
            // `faults(of:in:)` checks whether the name of a hidden inverse is the right one.
            if !relationship.isHiddenInverse, let fault = Self.nameFault(relationship.name) {
                faults.append("\(entity.name).\(relationship.name): \(fault)")
            }
            faults += self.innerFaults(of: relationship, in: entity)
        }
        return faults
    }

    private func faults(of entity: EntityDescription) -> [String] {
        var faults: [String] = []
        let names = entity.attributes.map(\.name) + entity.relationships.map(\.name)
        for (_, same) in Dictionary(grouping: names, by: { $0.lowercased() }) where same.count > 1 {
            faults.append("\(entity.name).\(same[0]): the name is used \(same.count) times")
        }
        let numbers = entity.attributes.map(\.number) + entity.relationships.map(\.number)
        if numbers.count > Limits.propertiesPerEntityMax {
            faults.append("\(entity.name): more than \(Limits.propertiesPerEntityMax) properties")
        }
        if Set(numbers).count < numbers.count || numbers.contains(where: { $0 == .entity || $0 >= .computed(0) }) {
            faults.append("\(entity.name): property numbers must be distinct, above 0 and below 65280")
        }
        faults += self.ancestryFaults(of: entity)
        for relationship in entity.relationships { faults += self.faults(of: relationship, in: entity) }
        if max(entity.uniquenessConstraints.count, entity.indexes.count) > Limits.propertiesPerEntityMax {
            faults.append(
                "\(entity.name): more than \(Limits.propertiesPerEntityMax) uniqueness constraints or indexes"
            )
        }
        for properties in entity.uniquenessConstraints + entity.indexes {
            let stored = Set(entity.storedProperties)
            if properties.isEmpty || Set(properties).count < properties.count || !stored.isSuperset(of: properties) {
                faults.append(
                    "\(entity.name): an index or uniqueness constraint must name distinct, stored properties"
                )
            }
        }
        for property in Set((entity.uniquenessConstraints + entity.indexes).joined()) {
            guard let attribute = entity.attribute(property), attribute.type.isLarge else { continue }
            faults.append(
                "\(entity.name).\(attribute.name): \(attribute.type) cannot be indexed or unique: it is outside the rows"
            )
        }
        if let label = entity.label, entity.attribute(label)?.type != .string {
            faults.append("\(entity.name): its label is not a string attribute")
        }
        if let root = entity.root {
            let relationship = entity.relationship(root.relationship)
            if relationship == nil || relationship!.isToMany || relationship!.destination != entity.number {
                faults.append("\(entity.name): the root's relationship is not a to-one relationship to the same entity")
            }
            if entity.parent != nil || entity.isAbstract
                || self.entities.contains(where: { $0.parent == entity.number })
            {
                faults.append("\(entity.name): an entity with a root can have no parent and no entities below it")
            }
            if self.entities.contains(where: { $0.number != entity.number && $0.root?.object == root.object }) {
                faults.append("\(entity.name): another entity has the same root object")
            }
            for attribute in entity.attributes
            where !attribute.isOptional && attribute.type != .string && attribute.defaultValue.isNull
                && !attribute.defaultsToNow
            {
                faults.append("\(entity.name).\(attribute.name): the root object needs a default value for it")
            }
            if root.object.rawValue < 1 || root.object.rawValue > 1_000 {
                faults.append("\(entity.name): the root object's id must be from 1 to 1000")
            }
        }
        return faults
    }

    private func ancestryFaults(of entity: EntityDescription) -> [String] {
        guard let number = entity.parent else { return [] }
        guard let parent = self.entity(number) else { return ["\(entity.name): its parent entity is unknown"] }
        if self.lineage(of: entity.number).count > self.entities.count {
            return ["\(entity.name): its parent entities form a cycle"]
        }
        let inherits =
            parent.attributes.allSatisfy { entity.attribute($0.number) == $0 }
            && parent.relationships.allSatisfy { entity.relationship($0.number) == $0 }
        return inherits ? [] : ["\(entity.name): its inherited properties differ from those of \(parent.name)"]
    }

    private func innerFaults(of attribute: AttributeDescription, in entity: EntityDescription) -> [String] {
        var faults: [String] = []
        let name = "\(entity.name).\(attribute.name)"
        if !attribute.defaultValue.isNull, let fault = attribute.fault(attribute.defaultValue) {
            faults.append("\(name): its default \(fault.text)")
        }
        if !attribute.defaultValue.isNull, attribute.type.isLarge {
            faults.append("\(name): \(attribute.type) has no default: it is outside the rows")
        }
        if attribute.defaultsToNow, attribute.type != .date {
            faults.append("\(name): only a date can be now by default")
        }
        let isLength = attribute.type == .string || attribute.type == .uri
        for bound in [attribute.minimum, attribute.maximum] where !bound.isNull {
            switch (attribute.type, bound) {
            case (.string, .integer(let length)), (.uri, .integer(let length)):
                if length < 0 { faults.append("\(name): its minimum or maximum length is below 0") }
            case (.boolean, _), (.data, _), (.uuid, _), (.largeData, _), (.largeText, _):
                faults.append("\(name): \(attribute.type) has no minimum or maximum")
            default:
                if isLength || !attribute.type.admits(bound) {
                    faults.append(
                        "\(name): its bound is \(bound.typeName), not \(isLength ? "integer" : "\(attribute.type)")"
                    )
                }
            }
        }
        if let pattern = attribute.pattern {
            if !isLength { faults.append("\(name): \(attribute.type) has no regular expression: it is for text") }
            if pattern.utf8.count > Limits.patternBytesMax {
                faults.append("\(name): its regular expression has over \(Limits.patternBytesMax) bytes")
            }
        }
        if attribute.isBelow(attribute.maximum, attribute.minimum) {
            let (least, greatest) = (attribute.minimum.plainText, attribute.maximum.plainText)
            faults.append(
                "\(name): its minimum\(isLength ? " length" : "") \(least) is above its maximum, \(greatest)"
            )
        }
        return faults
    }

    private func innerFaults(of relationship: RelationshipDescription, in entity: EntityDescription) -> [String] {
        let name = "\(entity.name).\(relationship.name)"
        var faults: [String] = []
        if relationship.isOrdered, !relationship.isToMany {
            faults.append("\(name): only a to-many relationship can be ordered")
        }
        if !relationship.isToMany, relationship.minimumCount > 1 || relationship.maximumCount > 1 {
            faults.append("\(name): a to-one relationship leads to one object at most")
        }
        if relationship.minimumCount < 0 || relationship.maximumCount < 0
            || (relationship.maximumCount > 0 && relationship.minimumCount > relationship.maximumCount)
        {
            faults.append("\(name): no count is between \(relationship.minimumCount) and \(relationship.maximumCount)")
        }
        return faults
    }

    private func faults(of relationship: RelationshipDescription, in entity: EntityDescription) -> [String] {
        let name = "\(entity.name).\(relationship.name)"
        guard let destination = self.entity(relationship.destination) else {
            return ["\(name): its destination is unknown"]
        }
        guard let inverse = destination.relationship(relationship.inverse) else {
            return ["\(name): \(destination.name) has no inverse relationship for it"]
        }
        var faults: [String] = []
        // The inverse leads back to the entity that declares the relationship, which may be an ancestor of this one.
        if !self.isKind(entity.number, of: inverse.destination) || inverse.inverse != relationship.number {
            let other = self.inverse(of: inverse).map {
                "; it is the inverse of \(self.entity(inverse.destination)!.name).\($0.name)"
            }
            faults.append("\(name): \(destination.name).\(inverse.name) does not lead back\(other ?? "")")
        }
        let isManyToMany = relationship.isToMany && inverse.isToMany
        if isManyToMany != (relationship.join != nil) || relationship.join != inverse.join {
            faults.append("\(name): only a many-to-many relationship has a number for its pairs, equal on both sides")
        }
        if isManyToMany, relationship.number == inverse.number, entity.number == destination.number,
            relationship.isOrdered
        {
            faults.append(
                "\(name): a relationship that is its own inverse cannot be ordered: make it unordered, or give it another "
                    + "inverse"
            )
        }
        if relationship.isHiddenInverse, !Self.isHiddenInverse(relationship, of: inverse, in: destination) {
            faults.append("\(name): \(Self.reserved("nest_"))")
        }
        return faults
    }

    /// Whether a relationship is what nest adds for a relationship without an inverse, which `entity` declares.
    private static func isHiddenInverse(
        _ relationship: RelationshipDescription,
        of oneWay: RelationshipDescription,
        in entity: EntityDescription
    ) -> Bool {
        relationship.isToMany && !relationship.isOrdered && relationship.deleteRule == .nullify
            && relationship.minimumCount == 0 && relationship.maximumCount == 0 && !oneWay.isHiddenInverse
            && relationship.name.hasSameBytes(as: HiddenInverse.name(of: oneWay.name, in: entity.name))
    }

    private var joinFaults: [String] {
        var faults: [String] = []
        var sides: [EntityNumber: Set<PropertyNumber>] = [:]
        for entity in self.entities {
            for relationship in entity.relationships {
                guard let join = relationship.join else { continue }
                sides[join, default: []].formUnion([relationship.number, relationship.inverse])
                if self.entity(join) != nil || join.rawValue == 0 {
                    faults.append("\(entity.name).\(relationship.name): the number of its pairs is used by an entity")
                }
            }
        }
        for (join, properties) in sides where properties.count > 2 {
            faults.append("the number \(join.rawValue) is that of the pairs of more than one relationship")
        }
        return faults
    }

    /// Returns why a name cannot name a table or column; `nil` if it can.
    private static func nameFault(_ name: String) -> String? {
        let isLetter = { (c: UInt8) in (65...90).contains(c) || (97...122).contains(c) }
        guard let first = name.utf8.first, isLetter(first) || first == 95,
            name.utf8.allSatisfy({ isLetter($0) || (48...57).contains($0) || $0 == 95 })
        else { return "'\(name)' is not a valid name: write a letter (A-Z, a-z) or _, then letters, digits or _" }
        if name.utf8.count > self.nameLengthMax {
            return "a name of \(name.utf8.count) characters; at most \(self.nameLengthMax) are allowed"
        }
        let prefix = ["nest_", "sqlite_"].first { name.lowercased().hasPrefix($0) }
        return prefix.map(self.reserved)
    }

    private static func reserved(_ prefix: String) -> String {
        "names that begin with \(prefix) are reserved for the store"
    }

    /// The maximum number of letters of a name.
    static let nameLengthMax = 64
}

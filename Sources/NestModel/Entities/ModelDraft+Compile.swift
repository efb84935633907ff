/// Compiles a model by names to a model by numbers.
extension ModelDraft {
    /// Returns the model with numbers: entities in their order from 1, then the pairs of many-to-many relationships;
    /// properties in their order from 1, counted through all entities below one topmost entity. Throws all faults of
    /// the draft.
    public func compile() throws(ModelFaults) -> ManagedObjectModel {
        var compiler = ModelCompiler(self)
        return try compiler.compile()
    }
}

private struct ModelCompiler {
    private let draft: ModelDraft
    private var faults: [String] = []
    private var indexes: [String: Int] = [:]
    /// By entity: its ancestors from the topmost down, and itself. In a cycle each entity is listed once.
    private var lineages: [[Int]] = []
    /// By entity: the number of each own property.
    private var numbers: [[String: UInt16]] = []

    init(_ draft: ModelDraft) {
        self.draft = draft.addingHiddenInverses()
    }

    private struct RelationshipKey: Hashable {
        var entity: Int
        var name: String
    }

    mutating func compile() throws(ModelFaults) -> ManagedObjectModel {
        guard self.draft.entities.count <= Limits.entitiesPerModelMax else {
            throw ModelFaults(["the model has more than \(Limits.entitiesPerModelMax) entities"])
        }
        for (index, entity) in self.draft.entities.enumerated() {
            if self.indexes.updateValue(index, forKey: entity.name) != nil {
                self.faults.append("\(entity.name): the model has more than one entity of this name")
            }
        }
        for entity in self.draft.entities { self.checkParent(entity) }
        self.readLineages()
        try self.checkSize()
        self.numberProperties()
        let joins = try self.joins()
        var entities: [EntityDescription] = []
        for index in self.draft.entities.indices { entities.append(self.entity(index, joins)) }
        let model = ManagedObjectModel(entities: entities, requests: self.requests())
        // Names that were not found are reported already; do not report what follows from them.
        self.faults += self.faults.isEmpty ? model.faults : model.innerFaults
        try self.throwFaults()
        return model
    }

    /// Returns the requests whose entities exist.
    private mutating func requests() -> [RequestDescription] {
        self.draft.requests.compactMap { draft in
            func number(_ name: String) -> EntityNumber? {
                if let index = self.indexes[name] { return EntityNumber(UInt16(index + 1)) }
                self.faults.append("the request \(draft.fullName): its entity \(name) is not in the model")
                return nil
            }
            let source = draft.source.map(number)
            guard let entity = number(draft.entity), source != .some(nil) else { return nil }
            return RequestDescription(
                name: draft.fullName,
                source: source ?? nil,
                entity: entity,
                predicate: draft.predicate,
                sort: draft.sort
            )
        }
    }

    private func throwFaults() throws(ModelFaults) {
        guard self.faults.isEmpty else { throw ModelFaults(Set(self.faults).sorted()) }
    }

    private mutating func checkParent(_ entity: EntityDraft) {
        var seen: Set<String> = [entity.name]
        var next = entity.parent
        while let name = next {
            guard let parent = self.indexes[name] else {
                if name == entity.parent {
                    self.faults.append("\(entity.name): its parent entity \(name) is not in the model")
                }
                return
            }
            guard seen.insert(name).inserted else {
                self.faults.append("\(entity.name): its parent entities form a cycle through \(name)")
                return
            }
            next = self.draft.entities[parent].parent
        }
    }

    private mutating func readLineages() {
        for index in self.draft.entities.indices {
            var lineage = [index]
            var seen: Set<Int> = [index]
            while let parent = self.draft.entities[lineage.last!].parent, let next = self.indexes[parent],
                seen.insert(next).inserted
            {
                lineage.append(next)
            }
            self.lineages.append(lineage.reversed())
        }
    }

    /// A model beyond the limits is not checked any further.
    private func checkSize() throws(ModelFaults) {
        var counts: [Int: Int] = [:]
        for (index, entity) in self.draft.entities.enumerated() {
            counts[self.lineages[index][0], default: 0] += entity.attributes.count + entity.relationships.count
        }
        let faults = counts.filter { $0.value > Limits.propertiesPerEntityMax }.map { top, count in
            let name = self.draft.entities[top].name
            return
                "\(name) and the entities below it have \(count) properties; at most \(Limits.propertiesPerEntityMax) are allowed"
        }
        guard faults.isEmpty else { throw ModelFaults(faults.sorted()) }
    }

    private mutating func numberProperties() {
        var last: [Int: UInt16] = [:]
        for (index, entity) in self.draft.entities.enumerated() {
            let top = self.lineages[index][0]
            var numbers: [String: UInt16] = [:]
            for name in entity.attributes.map(\.name) + entity.relationships.map(\.name) {
                last[top, default: 0] += 1
                if numbers.updateValue(last[top]!, forKey: name) != nil {
                    self.faults.append("\(entity.name).\(name): the name is used more than once")
                }
            }
            self.numbers.append(numbers)
        }
    }

    /// Returns the number of an entity's own or inherited property.
    private func number(_ name: String, in index: Int) -> UInt16? {
        for ancestor in self.lineages[index].reversed() {
            if let number = self.numbers[ancestor][name] { return number }
        }
        return nil
    }

    /// Returns the entity that declares a relationship.
    private func owner(_ name: String, _ index: Int) -> (entity: Int, relationship: RelationshipDraft)? {
        for ancestor in self.lineages[index].reversed() {
            if let found = self.draft.entities[ancestor].relationships.first(where: { $0.name == name }) {
                return (ancestor, found)
            }
        }
        return nil
    }

    /// Numbers the pairs of many-to-many relationships; both sides get the same number.
    private func joins() throws(ModelFaults) -> [RelationshipKey: UInt16] {
        var joins: [RelationshipKey: UInt16] = [:]
        var next = UInt16(self.draft.entities.count)
        for (index, entity) in self.draft.entities.enumerated() {
            for relationship in entity.relationships where relationship.isToMany {
                let key = RelationshipKey(entity: index, name: relationship.name)
                guard joins[key] == nil, let destination = self.indexes[relationship.destination],
                    let inverse = self.owner(relationship.inverse, destination), inverse.relationship.isToMany
                else { continue }
                guard next < .max else {
                    throw ModelFaults(["the model has more than \(UInt16.max) entities and many-to-many relationships"])
                }
                next += 1
                joins[key] = next
                joins[RelationshipKey(entity: inverse.entity, name: inverse.relationship.name)] = next
            }
        }
        return joins
    }

    private mutating func entity(_ index: Int, _ joins: [RelationshipKey: UInt16]) -> EntityDescription {
        let draft = self.draft.entities[index]
        var attributes: [AttributeDescription] = []
        var relationships: [RelationshipDescription] = []
        var unique: [[UInt16]] = []
        var lookups: [[UInt16]] = []
        for ancestor in self.lineages[index] {
            let entity = self.draft.entities[ancestor]
            for attribute in entity.attributes { attributes.append(self.attribute(attribute, ancestor)) }
            for relationship in entity.relationships {
                let join = joins[RelationshipKey(entity: ancestor, name: relationship.name)]
                if let made = self.relationship(relationship, ancestor, join, isInherited: ancestor != index) {
                    relationships.append(made)
                }
            }
            unique += entity.uniquenessConstraints.compactMap {
                self.properties($0, ancestor, "a uniqueness constraint")
            }
            lookups += entity.indexes.compactMap { self.properties($0, ancestor, "an index") }
        }
        var root: RootDescription?
        if let wanted = draft.root {
            if let number = self.number(wanted.relationship, in: index) {
                root = RootDescription(object: wanted.object, relationship: PropertyNumber(number))
            } else {
                self.faults.append("\(draft.name): the root's relationship \(wanted.relationship) is not in the entity")
            }
        }
        var label: UInt16?
        // The nearest ancestor with a label.
        for ancestor in self.lineages[index].reversed() where label == nil {
            guard let name = self.draft.entities[ancestor].label else { continue }
            label = self.number(name, in: ancestor)
            if label == nil, ancestor == index {
                self.faults.append("\(draft.name): the label \(name) is not in the entity")
            }
        }
        return EntityDescription(
            number: UInt16(index + 1),
            name: draft.name,
            parent: draft.parent.flatMap { self.indexes[$0] }.map { UInt16($0 + 1) },
            isAbstract: draft.isAbstract,
            attributes: attributes,
            relationships: relationships,
            uniquenessConstraints: unique,
            indexes: lookups,
            label: label,
            root: root,
            renamedFrom: draft.renamedFrom
        )
    }

    private mutating func properties(_ names: [String], _ index: Int, _ what: String) -> [UInt16]? {
        var numbers: [UInt16] = []
        for name in names {
            guard let number = self.number(name, in: index) else {
                self.faults.append(
                    "\(self.draft.entities[index].name): \(what) names \(name), which is not in the entity"
                )
                return nil
            }
            numbers.append(number)
        }
        return numbers
    }

    private func attribute(_ draft: AttributeDraft, _ index: Int) -> AttributeDescription {
        let written = AttributeDescription(number: 0, name: draft.name, type: draft.type)
        // Values that the type refuses stay unchanged: `faults` reports them.
        let kept = { (value: AttributeValue) in written.fault(value) == nil ? written.kept(value) : value }
        return AttributeDescription(
            number: self.numbers[index][draft.name]!,
            name: draft.name,
            type: draft.type,
            isOptional: draft.isOptional,
            defaultValue: kept(draft.defaultValue),
            defaultsToNow: draft.defaultsToNow,
            minimum: kept(draft.minimum),
            maximum: kept(draft.maximum),
            pattern: draft.pattern,
            renamedFrom: draft.renamedFrom
        )
    }

    private mutating func relationship(
        _ draft: RelationshipDraft,
        _ index: Int,
        _ join: UInt16?,
        isInherited: Bool
    ) -> RelationshipDescription? {
        let name = "\(self.draft.entities[index].name).\(draft.name)"
        guard let destination = self.indexes[draft.destination] else {
            if !isInherited { self.faults.append("\(name): its destination \(draft.destination) is not in the model") }
            return nil
        }
        guard let inverse = self.number(draft.inverse, in: destination),
            self.owner(draft.inverse, destination) != nil
        else {
            if !isInherited {
                let missing = "\(draft.destination) has no relationship \(draft.inverse)"
                self.faults.append("\(name): its inverse is missing, \(missing)")
            }
            return nil
        }
        return RelationshipDescription(
            number: self.numbers[index][draft.name]!,
            name: draft.name,
            destination: UInt16(destination + 1),
            inverse: inverse,
            isToMany: draft.isToMany,
            isOrdered: draft.isOrdered,
            isOptional: draft.isOptional,
            deleteRule: draft.deleteRule,
            minimumCount: draft.minimumCount,
            maximumCount: draft.maximumCount,
            join: join,
            renamedFrom: draft.renamedFrom
        )
    }
}

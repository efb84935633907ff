/// Keeps a store's numbers in a new version of its model.
extension ManagedObjectModel {
    /// Returns this model with the numbers of a store's model. Entities and properties are found by name, or by their
    /// former name (`renamedFrom`), a relationship also by its inverse; new ones get the next free numbers. Numbers are
    /// never reused: `used` has those of parts that earlier models of the store had.
    ///
    /// If the model matches the stored one by names alone, its renamings are ignored: they are old and already applied.
    public func renumbered(like stored: ManagedObjectModel, used: ModelNumbers = ModelNumbers()) -> ManagedObjectModel {
        var used = used
        used.add(stored)
        let byName = Renumbering(self, like: stored, used, followsRenames: false).result()
        if byName.hash == stored.hash { return byName }
        return Renumbering(self, like: stored, used, followsRenames: true).result()
    }
}

private struct Renumbering {
    private let model: ManagedObjectModel
    private let stored: ManagedObjectModel
    private let followsRenames: Bool
    /// From the number in the model to the number in the result.
    private var entities: [EntityNumber: EntityNumber] = [:]
    private var joins: [EntityNumber: EntityNumber] = [:]
    private struct PropertyKey: Hashable {
        /// The topmost entity in the model: property numbers are distinct below one topmost entity.
        var top: EntityNumber
        var property: PropertyNumber
    }
    private var properties: [PropertyKey: PropertyNumber] = [:]
    /// The last numbers, by numbers of the result.
    private var used: ModelNumbers

    init(_ model: ManagedObjectModel, like stored: ManagedObjectModel, _ used: ModelNumbers, followsRenames: Bool) {
        self.model = model
        self.stored = stored
        self.followsRenames = followsRenames
        self.used = used
        self.numberEntities()
        // Number ancestors first, so that inherited properties already have their numbers.
        let entities = model.entities.map { (entity: $0, depth: model.lineage(of: $0.number).count) }
            .sorted { ($0.depth, $0.entity.number) < ($1.depth, $1.entity.number) }.map(\.entity)
        for entity in entities { self.findProperties(entity) }
        for entity in entities { self.findByInverse(entity) }
        for entity in entities { self.numberProperties(entity) }
        self.numberJoins()
    }

    /// Finds the stored value with the name, or with the former name.
    private func counterpart<Value>(
        _ name: String,
        _ renamedFrom: String?,
        isName: (String) -> Bool,
        in stored: [Value],
        _ nameOf: (Value) -> String
    ) -> Value? {
        func named(_ name: String) -> Value? { stored.first { nameOf($0).hasSameBytes(as: name) } }
        // A former name must not be in use by something else in the model, unless that was renamed too.
        if self.followsRenames, let old = renamedFrom, let found = named(old), named(name) == nil || isName(old) {
            return found
        }
        return named(name)
    }

    private mutating func numberEntities() {
        var taken: Set<EntityNumber> = []
        for entity in self.model.entities {
            let found = self.counterpart(
                entity.name,
                entity.renamedFrom,
                isName: { old in self.model.entity(named: old)?.renamedFrom != nil },
                in: self.stored.entities,
                \.name
            )
            if let found, taken.insert(found.number).inserted { self.entities[entity.number] = found.number }
        }
        for entity in self.model.entities where self.entities[entity.number] == nil {
            self.entities[entity.number] = self.used.nextEntity()
        }
    }

    private mutating func findProperties(_ entity: EntityDescription) {
        let top = self.model.lineage(of: entity.number).last!.number
        let stored = self.stored.entity(self.entities[entity.number]!)
        // An attribute never takes the number of a relationship. A hidden inverse is found by its inverse alone: its
        // name may have belonged to another relationship.
        let all =
            entity.attributes.map { ($0.number, $0.name, $0.renamedFrom, true) }
            + entity.relationships.filter { !$0.isHiddenInverse }.map { ($0.number, $0.name, $0.renamedFrom, false) }
        let own = all.filter { self.properties[PropertyKey(top: top, property: $0.0)] == nil }
            .sorted { $0.0 < $1.0 }
        let attributes = stored?.attributes.map { ($0.number, $0.name) } ?? []
        let relationships = stored?.relationships.map { ($0.number, $0.name) } ?? []
        var taken = self.found(entity, top)
        for (number, name, renamedFrom, isAttribute) in own {
            let found = self.counterpart(
                name,
                renamedFrom,
                isName: { old in all.contains { $0.1.hasSameBytes(as: old) && $0.2 != nil } },
                in: isAttribute ? attributes : relationships,
                { $0.1 }
            )
            if let found, taken.insert(found.0).inserted {
                self.properties[PropertyKey(top: top, property: number)] = found.0
            }
        }
    }

    /// Returns the stored numbers of an entity's properties, inherited ones included.
    private func found(_ entity: EntityDescription, _ top: EntityNumber) -> Set<PropertyNumber> {
        let numbers = entity.attributes.map(\.number) + entity.relationships.map(\.number)
        return Set(numbers.compactMap { self.properties[PropertyKey(top: top, property: $0)] })
    }

    /// Finds relationships without a counterpart by their inverses: the inverse of a relationship may get another name,
    /// become hidden, or no longer be hidden.
    private mutating func findByInverse(_ entity: EntityDescription) {
        let top = self.model.lineage(of: entity.number).last!.number
        guard let stored = self.stored.entity(self.entities[entity.number]!) else { return }
        var taken = self.found(entity, top)
        for relationship in entity.relationships {
            let key = PropertyKey(top: top, property: relationship.number)
            let otherTop = self.model.lineage(of: relationship.destination).last!.number
            guard self.properties[key] == nil,
                let other = self.properties[PropertyKey(top: otherTop, property: relationship.inverse)],
                let found = self.stored.entity(self.entities[relationship.destination]!)?.relationship(other)?.inverse,
                let known = stored.relationship(found), known.inverse == other,
                taken.insert(found).inserted
            else { continue }
            self.properties[key] = found
        }
    }

    private mutating func numberProperties(_ entity: EntityDescription) {
        let top = self.model.lineage(of: entity.number).last!.number
        let numbers = entity.attributes.map(\.number) + entity.relationships.map(\.number)
        for number in numbers.sorted() where self.properties[PropertyKey(top: top, property: number)] == nil {
            self.properties[PropertyKey(top: top, property: number)] = self.used.nextProperty(self.entities[top]!)
        }
    }

    private func property(_ number: PropertyNumber, of entity: EntityNumber) -> PropertyNumber {
        let top = self.model.lineage(of: entity).last!.number
        return self.properties[PropertyKey(top: top, property: number)]!
    }

    private mutating func numberJoins() {
        for entity in self.model.entities {
            for relationship in entity.relationships {
                guard let join = relationship.join, self.joins[join] == nil else { continue }
                let stored = self.stored.entity(self.entities[entity.number]!)
                if let known = stored?.relationship(self.property(relationship.number, of: entity.number))?.join {
                    self.joins[join] = known
                } else {
                    self.joins[join] = self.used.nextEntity()
                }
            }
        }
    }

    func result() -> ManagedObjectModel {
        ManagedObjectModel(
            entities: self.model.entities.map(self.entity),
            requests: self.model.requests.map { request in
                RequestDescription(
                    name: request.name,
                    source: request.source.map { self.entities[$0]! },
                    entity: self.entities[request.entity]!,
                    predicate: request.predicate,
                    sort: request.sort
                )
            }
        )
    }

    private func entity(_ entity: EntityDescription) -> EntityDescription {
        func renumber(_ lists: [[PropertyNumber]]) -> [[UInt16]] {
            lists.map { $0.map { self.property($0, of: entity.number).rawValue } }
        }
        return EntityDescription(
            number: self.entities[entity.number]!.rawValue,
            name: entity.name,
            parent: entity.parent.map { self.entities[$0]!.rawValue },
            isAbstract: entity.isAbstract,
            attributes: entity.attributes.map { attribute in
                AttributeDescription(
                    number: self.property(attribute.number, of: entity.number).rawValue,
                    name: attribute.name,
                    type: attribute.type,
                    isOptional: attribute.isOptional,
                    defaultValue: attribute.defaultValue,
                    defaultsToNow: attribute.defaultsToNow,
                    minimum: attribute.minimum,
                    maximum: attribute.maximum,
                    pattern: attribute.pattern,
                    renamedFrom: attribute.renamedFrom
                )
            },
            relationships: entity.relationships.map { relationship in
                RelationshipDescription(
                    number: self.property(relationship.number, of: entity.number).rawValue,
                    name: relationship.name,
                    destination: self.entities[relationship.destination]!.rawValue,
                    inverse: self.property(relationship.inverse, of: relationship.destination).rawValue,
                    isToMany: relationship.isToMany,
                    isOrdered: relationship.isOrdered,
                    isOptional: relationship.isOptional,
                    deleteRule: relationship.deleteRule,
                    minimumCount: relationship.minimumCount,
                    maximumCount: relationship.maximumCount,
                    join: relationship.join.map { self.joins[$0]!.rawValue },
                    renamedFrom: relationship.renamedFrom
                )
            },
            uniquenessConstraints: renumber(entity.uniquenessConstraints),
            indexes: renumber(entity.indexes),
            label: entity.label.map { self.property($0, of: entity.number).rawValue },
            root: entity.root.map {
                RootDescription(object: $0.object, relationship: self.property($0.relationship, of: entity.number))
            },
            renamedFrom: entity.renamedFrom
        )
    }
}

import NestModel

/// Values of paths from objects, as far as they are known.
struct KnownPaths {
    let known: KnownObjects

    private var model: ManagedObjectModel { self.known.model }

    /// Returns the value of a path without a to-many step, or `nil` if it is not known.
    func value(_ path: PropertyPath, of id: ObjectID) -> AttributeValue? {
        var current = id
        for step in path.steps {
            guard let relationship = self.known.entity(of: current)?.relationship(step), !relationship.isToMany,
                let value = self.known.value(step, of: current)
            else { return nil }
            guard case .reference(let next) = value else { return .null }
            current = next
        }
        switch path.leaf {
        case .object: return .reference(current)
        case .attribute(let property): return self.known.value(property, of: current)
        case .count(let property): return self.count(property, of: current)
        case .aggregate, .countWhere: return nil
        }
    }

    /// Returns the number of objects in a relationship of an object that the transactions inserted.
    private func count(_ property: PropertyNumber, of id: ObjectID) -> AttributeValue? {
        guard self.known.isFresh(id), let relationship = self.known.entity(of: id)?.relationship(property),
            let inverse = self.model.inverse(of: relationship)
        else { return nil }
        if inverse.isToMany {
            let source = FetchSource(object: id, relationship: property)
            return .integer(Int64(self.known.pairs[source]?.values.count { $0 } ?? 0))
        }
        return .integer(
            Int64(self.known.objects(referringTo: id, by: inverse, of: relationship.destination).count)
        )
    }

    // MARK: What the transactions change

    /// Whether the transactions may have changed the value of a path from an object. For a path of the object alone
    /// that is known exactly.
    func isAffected(_ path: PropertyPath, of id: ObjectID) -> Bool {
        if path.steps.isEmpty {
            switch path.leaf {
            case .object: return false
            case .attribute(let property): return self.known.changes[id]?.values[property] != nil
            case .count, .aggregate, .countWhere: break
            }
        }
        guard let entity = self.known.entity(of: id) else { return !self.known.changedProperties.isEmpty }
        return self.isAffected(path, from: entity)
    }

    func isAffected(_ comparison: Comparison, of id: ObjectID) -> Bool {
        if comparison.operator == .inSubtree { return !self.known.changedProperties.isEmpty }
        return self.isAffected(comparison.path, of: id)
    }

    /// Whether the transactions may have changed the values of a path from any object of an entity.
    func isAffected(_ path: PropertyPath, from entity: EntityDescription) -> Bool {
        var entity = entity
        for step in path.steps {
            guard let relationship = entity.relationship(step), let next = self.model.entity(relationship.destination)
            else { return true }
            if self.isChanged(step, of: entity.number) { return true }
            if let inverse = self.model.inverse(of: relationship), self.isChanged(inverse.number, of: next.number) {
                return true
            }
            entity = next
        }
        switch path.leaf {
        case .object: return false
        case .attribute(let property): return self.isChanged(property, of: entity.number)
        case .count(let property): return self.isChangedList(property, of: entity)
        case .aggregate(_, let property, let attribute):
            guard let relationship = entity.relationship(property) else { return true }
            return self.isChangedList(property, of: entity)
                || self.isChanged(attribute, of: relationship.destination)
        // It reads whatever its predicate does.
        case .countWhere: return !self.known.changedProperties.isEmpty
        }
    }

    private func isChangedList(_ property: PropertyNumber, of entity: EntityDescription) -> Bool {
        guard let relationship = entity.relationship(property), let inverse = self.model.inverse(of: relationship)
        else { return true }
        return self.isChanged(property, of: entity.number)
            || self.isChanged(inverse.number, of: relationship.destination)
    }

    private func isChanged(_ property: PropertyNumber, of entity: EntityNumber) -> Bool {
        self.known.changedProperties.contains(.init(top: self.model.top(of: entity), number: property))
    }
}

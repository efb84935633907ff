import NestModel

extension SeededRandom {
    /// Returns a transaction that interferes with another: it changes the same values, moves the moved objects, deletes
    /// their owners or adds children to inserted objects. May be empty.
    package mutating func interfering(with record: UndoRecord, on graph: NaiveGraph) -> [Mutation] {
        let ids = Set(record.inserted + record.deleted)
            .union(record.kept.filter { record.before.objects[$0] != record.after.objects[$0] }).sorted()
        guard let id = ids.randomElement(using: &self) else { return [] }
        guard let object = graph.objects[id] else { return self.interfering(withLost: id, record, graph) }
        let entity = graph.entity(object.entity)
        switch self.below(10) {
        case 0..<3: return self.edit(id, entity, record, graph)
        case 3..<7: return self.lead(id, entity, record, graph)
        case 7: return self.fill(id, entity, graph)
        case 8: return [.delete(.object(id))]
        default: return self.deleteOwner(id, entity, record, graph)
        }
    }

    private mutating func edit(
        _ id: ObjectID,
        _ entity: EntityDescription,
        _ record: UndoRecord,
        _ graph: NaiveGraph
    ) -> [Mutation] {
        let changed = entity.attributes.filter {
            record.before.objects[id]?.values[$0.number] != record.after.objects[id]?.values[$0.number]
        }
        guard let attribute = (changed.isEmpty ? entity.attributes : changed).randomElement(using: &self) else {
            return []
        }
        // Sometimes exactly the value before or after the transaction.
        let known = [record.before, record.after].compactMap { $0.objects[id]?.values[attribute.number] }
        let value = self.oneIn(4) ? known.randomElement(using: &self) : nil
        return [
            .update(
                .object(id),
                values: [PropertyAssignment(attribute.number, .value(value ?? self.soundValue(of: attribute)))]
            )
        ]
    }

    /// Returns a mutation that sets a random attribute of a random object.
    package mutating func editing(on graph: NaiveGraph) -> [Mutation] {
        guard let id = graph.objects.keys.sorted().randomElement(using: &self),
            let attribute = graph.entity(of: id).attributes.randomElement(using: &self)
        else { return [] }
        let value = self.soundValue(of: attribute)
        return [.update(.object(id), values: [PropertyAssignment(attribute.number, .value(value))])]
    }

    /// Returns a mutation that changes a random relationship of a random object.
    package mutating func moving(on graph: NaiveGraph) -> [Mutation] {
        guard let id = graph.objects.keys.sorted().randomElement(using: &self) else { return [] }
        let entity = graph.entity(of: id)
        return self.lead(id, entity.relationships.filter { !$0.isToMany || graph.isPaired($0) }, graph)
    }

    /// Returns a mutation that changes a relationship of the object, mostly one that the transaction changed.
    private mutating func lead(
        _ id: ObjectID,
        _ entity: EntityDescription,
        _ record: UndoRecord,
        _ graph: NaiveGraph
    ) -> [Mutation] {
        let changed = entity.relationships.filter {
            record.before.related(id, $0.number) != record.after.related(id, $0.number)
        }
        return self.lead(id, changed.isEmpty ? entity.relationships : changed, graph)
    }

    private mutating func lead(
        _ id: ObjectID,
        _ relationships: [RelationshipDescription],
        _ graph: NaiveGraph
    ) -> [Mutation] {
        guard let relationship = relationships.randomElement(using: &self) else { return [] }
        let others = graph.ids(of: relationship.destination)
        let now = graph.related(id, relationship.number)
        if relationship.isToMany, let member = now.randomElement(using: &self), self.oneIn(3) {
            return [.unrelate(.object(id), relationship.number, .object(member))]
        }
        guard let other = (self.oneIn(3) && !now.isEmpty ? now : others).randomElement(using: &self) else { return [] }
        let place: Place = relationship.isOrdered && self.oneIn(2) ? .first : .last
        if relationship.isToMany {
            return [.relate(.object(id), relationship.number, .object(other), place)]
        }
        if graph.inverse(relationship).isOrdered, self.oneIn(2) {
            let placement = Placement(
                relationship: relationship.number,
                owner: .object(other),
                place: self.oneIn(2) ? .first : .last
            )
            return [.move(.object(id), placement)]
        }
        let value: MutationValue = self.oneIn(4) ? .value(.null) : .reference(.object(other))
        return [.update(.object(id), values: [PropertyAssignment(relationship.number, value)])]
    }

    /// Returns a mutation that inserts a new object under the object.
    private mutating func fill(_ id: ObjectID, _ entity: EntityDescription, _ graph: NaiveGraph) -> [Mutation] {
        let lists = entity.relationships.filter { graph.isOwned(graph.inverse($0)) }
        guard let list = lists.randomElement(using: &self),
            let kind = graph.model.entities.filter({ !$0.isAbstract && graph.isKind($0.number, of: list.destination) })
                .randomElement(using: &self)
        else { return [] }
        var values = [PropertyAssignment(list.inverse, .reference(.object(id)))]
        for attribute in kind.attributes where !attribute.isOptional && attribute.defaultValue.isNull {
            values.append(PropertyAssignment(attribute.number, .value(self.soundValue(of: attribute))))
        }
        for relationship in kind.relationships
        where !relationship.isToMany && !relationship.isOptional && relationship.number != list.inverse {
            guard let other = graph.ids(of: relationship.destination).randomElement(using: &self) else { return [] }
            values.append(PropertyAssignment(relationship.number, .reference(.object(other))))
        }
        return [.insert(entity: kind.number, values: values, placements: [])]
    }

    /// Returns a mutation that deletes a present or former owner of the object.
    private mutating func deleteOwner(
        _ id: ObjectID,
        _ entity: EntityDescription,
        _ record: UndoRecord,
        _ graph: NaiveGraph
    ) -> [Mutation] {
        let owners = entity.relationships.filter { !$0.isToMany }.flatMap { relationship in
            [record.before, record.after].flatMap { $0.related(id, relationship.number) }
        }
        guard let owner = owners.filter({ graph.lives($0) && $0 != id }).randomElement(using: &self) else { return [] }
        return [.delete(.object(owner))]
    }

    private mutating func interfering(withLost id: ObjectID, _ record: UndoRecord, _ graph: NaiveGraph) -> [Mutation] {
        guard record.before.lives(id) else { return [] }
        return self.deleteOwner(id, record.before.entity(of: id), record, graph)
    }
}

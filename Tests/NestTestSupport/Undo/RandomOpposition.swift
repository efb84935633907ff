import NestModel

/// Transactions that insert owners and move objects, and conflicting changes of other sessions: histories in which an
/// undo could remove changes of others.
extension SeededRandom {
    /// Returns mutations that insert one or two owners and mostly move objects into them, to other owners, or out of
    /// all owners.
    package mutating func building(on graph: NaiveGraph) -> [Mutation] {
        guard let list = self.anyList(of: graph) else { return [] }
        var mutations: [Mutation] = []
        var given = 0
        for _ in 0..<(1 + self.below(2)) {
            guard let insert = self.insertion(of: graph.inverse(list).destination, on: graph, inserted: given) else {
                break
            }
            mutations.append(insert)
            given += 1
        }
        for _ in 0..<self.below(4) {
            let owners = graph.ids(of: graph.inverse(list).destination).map { ObjectReference.object($0) }
            let new = (0..<given).map { ObjectReference.inserted($0 + 1) }
            let owner = (self.oneIn(3) ? new : owners).randomElement(using: &self)
            guard
                let object = graph.ids(of: list.destination).filter({ !graph.roots.contains($0) })
                    .randomElement(using: &self)
            else { break }
            mutations += self.leading(object, graph.inverse(list), to: owner, on: graph)
        }
        if self.oneIn(4),
            let id = graph.objects.keys.filter({ !graph.roots.contains($0) }).sorted()
                .randomElement(using: &self)
        {
            mutations.append(.delete(.object(id)))
        }
        return mutations
    }

    /// Returns mutations that relate an object, mostly an owner that lost objects, to an object that the transaction
    /// inserted, or that delete such an owner.
    package mutating func opposing(_ record: UndoRecord, on graph: NaiveGraph) -> [Mutation] {
        if self.oneIn(4) {
            let owners = record.kept.flatMap { id in
                record.before.entity(of: id).relationships.filter { !$0.isToMany }
                    .flatMap { record.before.related(id, $0.number) }
            }
            let owner = owners.filter { graph.lives($0) && !graph.roots.contains($0) }.randomElement(using: &self)
            if let owner { return [.delete(.object(owner))] }
        }
        guard let new = record.inserted.filter({ graph.lives($0) }).randomElement(using: &self) else { return [] }
        let relationships = graph.entity(of: new).relationships
        guard let relationship = relationships.randomElement(using: &self) else { return [] }
        var others = graph.ids(of: relationship.destination).filter { $0 != new && !graph.roots.contains($0) }
        let left = record.kept.filter { record.before.objects[$0] != record.after.objects[$0] }
            .flatMap { id in
                record.before.entity(of: id).relationships.filter { !$0.isToMany }.flatMap { toOne in
                    record.before.related(id, toOne.number) + [id]
                }
            }
        let known = others.filter { left.contains($0) }
        if !known.isEmpty, !self.oneIn(3) { others = known }
        guard let other = others.randomElement(using: &self) else { return [] }
        guard !relationship.isToMany else {
            let place: Place = relationship.isOrdered && self.oneIn(2) ? .first : .last
            return [.relate(.object(new), relationship.number, .object(other), place)]
        }
        return self.leading(new, relationship, to: .object(other), on: graph)
    }

    private mutating func anyList(of graph: NaiveGraph) -> RelationshipDescription? {
        graph.model.entities.flatMap(\.relationships).filter { $0.isToMany && !graph.isPaired($0) }
            .randomElement(using: &self)
    }

    /// Returns mutations that lead a to-one relationship to an owner; none without an owner.
    private mutating func leading(
        _ object: ObjectID,
        _ toOne: RelationshipDescription,
        to owner: ObjectReference?,
        on graph: NaiveGraph
    ) -> [Mutation] {
        guard let owner else { return [] }
        if graph.inverse(toOne).isOrdered, self.oneIn(2) {
            let place: Place = self.oneIn(2) ? .first : .last
            return [.move(.object(object), Placement(relationship: toOne.number, owner: owner, place: place))]
        }
        let isLeft = toOne.isOptional && self.oneIn(8)
        let value: MutationValue = isLeft ? .value(.null) : .reference(owner)
        return [.update(.object(object), values: [PropertyAssignment(toOne.number, value)])]
    }

    /// Returns an insert with all required values. `inserted`: the number of earlier inserts of the transaction.
    private mutating func insertion(of entity: EntityNumber, on graph: NaiveGraph, inserted: Int) -> Mutation? {
        guard
            let kind = graph.model.entities.filter({ !$0.isAbstract && graph.isKind($0.number, of: entity) })
                .randomElement(using: &self)
        else { return nil }
        var values: [PropertyAssignment] = []
        for attribute in kind.attributes where !attribute.isOptional && attribute.defaultValue.isNull {
            values.append(PropertyAssignment(attribute.number, .value(self.soundValue(of: attribute))))
        }
        for relationship in kind.relationships where !relationship.isToMany {
            guard !relationship.isOptional || self.oneIn(2) else { continue }
            let other = graph.ids(of: relationship.destination).randomElement(using: &self)
            if inserted > 0, graph.isKind(kind.number, of: relationship.destination), self.oneIn(2) {
                values.append(PropertyAssignment(relationship.number, .reference(.inserted(inserted))))
            } else if let other {
                values.append(PropertyAssignment(relationship.number, .reference(.object(other))))
            } else if !relationship.isOptional {
                return nil
            }
        }
        return .insert(entity: kind.number, values: values, placements: [])
    }
}

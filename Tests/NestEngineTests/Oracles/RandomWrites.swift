import NestModel
import NestTestSupport

/// Random writes to existing objects: mostly single ones, sometimes several that change the same objects repeatedly.
extension SeededRandom {
    /// Returns the mutations of one transaction.
    mutating func transaction(_ scene: Scene) -> [Mutation] {
        if self.oneIn(5) { return self.crowd(scene) }
        let count = self.oneIn(3) ? 1 + self.below(6) : 1
        return (0..<count).compactMap { _ in self.mutation(scene) }
    }

    /// Returns transactions for one batch that change the same objects one after the other.
    mutating func script(_ scene: Scene) -> [[Mutation]] {
        switch (scene.focus, self.below(5)) {
        case (.pairs, 0..<3), (_, 0): self.pairs(scene)
        case (.trees, 0..<3), (_, 1): self.tree(scene)
        default: self.chain(scene)
        }
    }

    // MARK: Values

    /// Returns assignments to some properties of an entity. An insert has all required attributes without a default.
    private mutating func values(_ scene: Scene, _ entity: EntityDescription, oneIn: Int, isInsert: Bool)
        -> [PropertyAssignment]
    {
        var values: [PropertyAssignment] = []
        for attribute in entity.attributes {
            let isNeeded = isInsert && !attribute.isOptional && attribute.defaultValue.isNull
            guard isNeeded || self.oneIn(oneIn) else { continue }
            values.append(PropertyAssignment(attribute.number, self.value(scene, attribute)))
        }
        for relationship in entity.relationships where !relationship.isToMany && self.oneIn(oneIn) {
            values.append(self.assignment(scene, relationship))
        }
        return values
    }

    private mutating func assignment(_ scene: Scene, _ relationship: RelationshipDescription) -> PropertyAssignment {
        let target = self.oneIn(6) ? nil : self.object(scene, of: relationship.destination)
        return PropertyAssignment(
            relationship.number,
            target.map { .reference(.object($0)) } ?? .value(.null)
        )
    }

    private mutating func place(_ siblings: [ObjectID], isOrdered: Bool) -> Place {
        guard isOrdered else { return .last }
        switch self.below(5) {
        case 0: return .first
        case 1: return .at(self.below(siblings.count + 2))
        case 2: return .last
        default:
            guard let sibling = siblings.randomElement(using: &self) else { return .last }
            return self.oneIn(2) ? .before(.object(sibling)) : .after(.object(sibling))
        }
    }

    // MARK: One step

    private mutating func mutation(_ scene: Scene) -> Mutation? {
        switch self.below(12) {
        case 0..<3:
            guard let entity = self.entity(scene, where: { !$0.isAbstract }) else { return nil }
            let values = self.values(scene, entity, oneIn: 2, isInsert: true)
            guard self.oneIn(6), let attribute = entity.attributes.randomElement(using: &self) else {
                return .insert(entity: entity.number, values: values, placements: [])
            }
            return .findOrCreate(
                entity: entity.number,
                match: [PropertyAssignment(attribute.number, self.value(scene, attribute))],
                values: values.filter { $0.property != attribute.number },
                placements: []
            )
        case 3..<7:
            guard let entity = self.entity(scene), let id = self.object(scene, of: entity.number),
                let kind = scene.entity(of: id)
            else { return nil }
            let values = self.values(scene, kind, oneIn: 3, isInsert: false)
            return values.isEmpty ? nil : .update(.object(id), values: values)
        case 7..<11:
            return self.relation(scene)
        default:
            let isFull = scene.naive.rows.count > 40
            guard isFull || self.oneIn(3), let entity = self.entity(scene) else { return nil }
            return self.object(scene, of: entity.number).map { .delete(.object($0)) }
        }
    }

    /// Moves objects between the same two neighbours of an order, to use up the gap.
    private mutating func crowd(_ scene: Scene) -> [Mutation] {
        guard let (owner, relationship) = self.owner(scene, where: { $0.isToMany && $0.isOrdered }) else { return [] }
        let related = scene.naive.related(owner, relationship)
        guard let sibling = related.dropLast().randomElement(using: &self) else { return [] }
        let others = scene.naive.objects(of: relationship.destination).filter { $0 != sibling }
        return others.shuffled(using: &self).prefix(3).map {
            .relate(.object(owner), relationship.number, .object($0), .after(.object(sibling)))
        }
    }

    private mutating func relation(_ scene: Scene) -> Mutation? {
        guard let (owner, relationship) = self.owner(scene, where: \.isToMany) else { return nil }
        let related = scene.naive.related(owner, relationship)
        let others = scene.naive.objects(of: relationship.destination)
        switch self.below(8) {
        case 0:
            return related.randomElement(using: &self).map {
                .unrelate(.object(owner), relationship.number, .object($0))
            }
        case 1:
            let some = others.shuffled(using: &self).prefix(self.below(6))
            return .setRelated(.object(owner), relationship.number, some.map { .object($0) })
        default:
            let target = (self.oneIn(3) ? related : others).randomElement(using: &self)
            let place = self.place(related, isOrdered: relationship.isOrdered)
            return target.map { .relate(.object(owner), relationship.number, .object($0), place) }
        }
    }

    // MARK: Several transactions

    private mutating func rename(_ scene: Scene, _ id: ObjectID) -> Mutation? {
        scene.entity(of: id)?.attributes.randomElement(using: &self).map {
            .update(.object(id), values: [PropertyAssignment($0.number, self.value(scene, $0))])
        }
    }

    /// Sets a reference of an object and changes the new target, several times.
    private mutating func chain(_ scene: Scene) -> [[Mutation]] {
        guard let (id, relationship) = self.owner(scene, where: { !$0.isToMany }) else { return [] }
        var transactions: [[Mutation]] = []
        for _ in 0...self.below(3) {
            let assignment = self.assignment(scene, relationship)
            transactions.append([.update(.object(id), values: [assignment])])
            guard case .reference(let reference) = assignment.value else { continue }
            let target = ObjectID(reference.rawValue)
            if let step = self.rename(scene, target) { transactions.append([step]) }
            if let step = scene.entity(of: target)?.relationships.filter({ !$0.isToMany }).randomElement(using: &self) {
                transactions.append([.update(.object(target), values: [self.assignment(scene, step)])])
            }
            if self.oneIn(8) { transactions.append([.delete(.object(target))]) }
        }
        if self.oneIn(3) { transactions.swapAt(0, transactions.count - 1) }
        return transactions
    }

    /// Moves an object with its subtree between trees, while objects are inserted, moved and deleted below it.
    private mutating func tree(_ scene: Scene) -> [[Mutation]] {
        let isUp = { (relationship: RelationshipDescription) in
            guard !relationship.isToMany, let down = scene.model.inverse(of: relationship) else { return false }
            return scene.model.entity(relationship.destination).map { scene.trees(of: $0).contains(down) } ?? false
        }
        guard let (id, up) = self.owner(scene, where: isUp), let kind = scene.entity(of: id) else { return [] }
        var transactions: [[Mutation]] = []
        for _ in 0..<(2 + self.below(4)) {
            let child = scene.naive.objects(of: kind.number).randomElement(using: &self)!
            switch self.below(6) {
            case 0, 1: transactions.append([.update(.object(id), values: [self.assignment(scene, up)])])
            case 2, 3:
                let values = self.values(scene, kind, oneIn: 4, isInsert: true).filter { $0.property != up.number }
                let above = PropertyAssignment(up.number, .reference(.object(self.oneIn(3) ? child : id)))
                transactions.append([.insert(entity: kind.number, values: values + [above], placements: [])])
            case 4: transactions.append([.update(.object(child), values: [self.assignment(scene, up)])])
            default: transactions.append([.delete(.object(child))])
            }
        }
        return transactions
    }

    /// Makes and removes pairs repeatedly, and changes their objects.
    private mutating func pairs(_ scene: Scene) -> [[Mutation]] {
        guard let (owner, relationship) = self.owner(scene, where: { $0.join != nil }) else { return [] }
        let related = scene.naive.related(owner, relationship)
        var transactions: [[Mutation]] = []
        let target = self.oneIn(2) ? related.randomElement(using: &self) : nil
        guard let target = target ?? self.object(scene, of: relationship.destination) else { return [] }
        for _ in 0..<(2 + self.below(3)) {
            let step: Mutation? =
                switch self.below(5) {
                case 0, 1: .unrelate(.object(owner), relationship.number, .object(target))
                case 2, 3:
                    .relate(
                        .object(owner),
                        relationship.number,
                        .object(target),
                        self.place(related, isOrdered: relationship.isOrdered)
                    )
                default: self.rename(scene, target)
                }
            if let step { transactions.append([step]) }
        }
        return transactions
    }
}

import NestModel

/// A path from the rows of a table, with the slots that it follows. A step over a many-to-many relationship becomes
/// two: to the pairs, then from each pair to its object.
package struct CompiledPath: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        /// The object of the table to which the slot refers.
        case toOne(slot: Int, table: EntityNumber)
        /// The rows of the table whose slot refers back to the object.
        case toMany(slot: Int, table: EntityNumber)

        package var table: EntityNumber {
            switch self {
            case .toOne(_, let table), .toMany(_, let table): table
            }
        }

        package var isToMany: Bool {
            if case .toMany = self { true } else { false }
        }
    }

    package enum Leaf: Hashable, Sendable {
        case object
        case slot(Int)
    }

    /// The table of the rows at which it starts.
    package var table: EntityNumber
    package var steps: [Step]
    package var leaf: Leaf

    package init(table: EntityNumber, steps: [Step] = [], leaf: Leaf) {
        self.table = table
        self.steps = steps
        self.leaf = leaf
    }

    /// Whether the path reads only the row itself.
    package var isOwn: Bool { self.steps.isEmpty }

    /// Returns the table of the objects at the end of so many steps.
    package func table(after count: Int) -> EntityNumber { count == 0 ? self.table : self.steps[count - 1].table }

    /// Returns `nil` if the path does not exist in the model. A count's leaf is the last step's object.
    package init?(_ path: PropertyPath, of entity: EntityDescription, in layout: ModelLayout) {
        guard let start = layout[entity.number] else { return nil }
        self.init(table: start.number, leaf: .object)
        var entity = entity
        for step in path.steps {
            guard let next = self.follow(step, entity, layout) else { return nil }
            entity = next
        }
        switch path.leaf {
        case .object:
            // The reference itself specifies the object.
            if case .toOne(let slot, _)? = self.steps.last {
                self.steps.removeLast()
                self.leaf = .slot(slot)
            }
        case .attribute(let property):
            guard let slot = layout[entity.number]?.slot(of: property) else { return nil }
            self.leaf = .slot(slot)
        case .count(let property):
            guard self.follow(property, entity, layout) != nil else { return nil }
            // Each pair counts, whatever object it refers to.
            if case .toOne? = self.steps.last { self.steps.removeLast() }
        case .countWhere(let property, _):
            // Of a pair, the condition is about its object.
            guard self.follow(property, entity, layout) != nil else { return nil }
        case .aggregate(_, let property, let attribute):
            guard let end = self.follow(property, entity, layout),
                let slot = layout[end.number]?.slot(of: attribute)
            else { return nil }
            self.leaf = .slot(slot)
        }
    }

    /// The part of the path that leads to the owner of its first to-many step, and the part from that owner on; `nil`
    /// if no step is to-many.
    package var splitAtToMany: (owner: CompiledPath, rest: CompiledPath)? {
        guard let index = self.steps.firstIndex(where: \.isToMany) else { return nil }
        var owner = CompiledPath(table: self.table, steps: Array(self.steps[..<index]), leaf: .object)
        let rest = CompiledPath(table: self.table(after: index), steps: Array(self.steps[index...]), leaf: self.leaf)
        if case .toOne(let slot, _)? = owner.steps.last {
            owner.steps.removeLast()
            owner.leaf = .slot(slot)
        }
        return (owner, rest)
    }

    private mutating func follow(
        _ property: PropertyNumber,
        _ entity: EntityDescription,
        _ layout: ModelLayout
    ) -> EntityDescription? {
        guard let relationship = entity.relationship(property), let table = layout[entity.number],
            let destination = layout.model.entity(relationship.destination),
            let target = layout[relationship.destination]?.number
        else { return nil }
        if let slot = table.slot(of: property) {
            self.steps.append(.toOne(slot: slot, table: target))
        } else if let toMany = table.toMany(property) {
            self.steps.append(.toMany(slot: toMany.inverseSlot, table: target))
        } else if let pairs = table.manyToMany(property) {
            self.steps.append(.toMany(slot: pairs.ownerSlot, table: pairs.join))
            self.steps.append(.toOne(slot: pairs.targetSlot, table: target))
        } else {
            return nil
        }
        return destination
    }
}

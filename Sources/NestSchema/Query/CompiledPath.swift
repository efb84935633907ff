import NestModel

/// A path from the rows of a table, with the slots it goes by. A step over a many-to-many relationship is two: to the pairs,
/// then from each to its object.
package struct CompiledPath: Hashable, Sendable {
    package enum Step: Hashable, Sendable {
        /// What the slot refers to, an object of the table.
        case toOne(slot: Int, table: EntityNumber)
        /// The rows of the table whose slot refers back.
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

    /// The table of the rows it starts from.
    package var table: EntityNumber
    package var steps: [Step]
    package var leaf: Leaf

    package init(table: EntityNumber, steps: [Step] = [], leaf: Leaf) {
        self.table = table
        self.steps = steps
        self.leaf = leaf
    }

    /// Nothing but the row itself is read.
    package var isOwn: Bool { self.steps.isEmpty }

    /// The table of the objects that so many steps lead to.
    package func table(after count: Int) -> EntityNumber { count == 0 ? self.table : self.steps[count - 1].table }

    /// `nil` when it leads nowhere in the model. A count's leaf is the last step's object.
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
            // What a reference refers to is told by the reference.
            if case .toOne(let slot, _)? = self.steps.last {
                self.steps.removeLast()
                self.leaf = .slot(slot)
            }
        case .attribute(let property):
            guard let slot = layout[entity.number]?.slot(of: property) else { return nil }
            self.leaf = .slot(slot)
        case .count(let property):
            guard self.follow(property, entity, layout) != nil else { return nil }
            // Each pair counts, whatever it leads to.
            if case .toOne? = self.steps.last { self.steps.removeLast() }
        }
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

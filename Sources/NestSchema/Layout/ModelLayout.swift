import NestModel

/// The layouts of a model's tables.
package final class ModelLayout: Sendable {
    package let model: ManagedObjectModel
    package let modelHash: UInt64
    /// The tables of objects, by the number of their topmost entity, then those of pairs.
    package let entities: [EntityLayout]
    /// By entity number: the index in `entities`, or -1. Looked up for every change.
    private let indexes: [Int]
    /// Whether a to-many relationship has bounds.
    package let hasCounts: Bool
    /// Whether the model has rules that are checked only at the end of a request: uniqueness, bounds, one-to-one.
    package let hasDeferredChecks: Bool
    /// Whether an attribute is outside the rows.
    package let hasLargeValues: Bool
    /// By table: whether the objects that deleting one of its objects reaches always form a tree, so that each is
    /// reached once and no other object changes.
    package let cascadesAsTree: [Bool]

    /// Precondition: `model.faults` is empty.
    package init(_ model: ManagedObjectModel) {
        self.model = model
        self.modelHash = model.hash
        self.entities = LayoutCompiler(model).layouts()
        self.hasCounts = model.entities.contains { entity in
            entity.relationships.contains {
                $0.isToMany && (!$0.isOptional || $0.minimumCount > 0 || $0.maximumCount > 0)
            }
        }
        self.hasDeferredChecks =
            self.hasCounts
            || self.entities.contains { !$0.uniquenesses.isEmpty || $0.partnerSlots.contains { $0 >= 0 } }
        self.hasLargeValues = self.entities.contains { !$0.largeSlots.isEmpty }
        let numbers = self.entities.flatMap { $0.kinds.map { Int($0.entity.number.rawValue) } }
        var indexes = [Int](repeating: -1, count: (numbers.max() ?? -1) + 1)
        for (index, layout) in self.entities.enumerated() {
            for kind in layout.kinds { indexes[Int(kind.entity.number.rawValue)] = index }
        }
        self.indexes = indexes
        self.cascadesAsTree = CascadeShape(self.entities, indexes).trees
    }

    /// Returns the index of the table with an entity's objects.
    package func index(of entity: EntityNumber) -> Int? {
        let number = Int(entity.rawValue)
        guard number < self.indexes.count, self.indexes[number] >= 0 else { return nil }
        return self.indexes[number]
    }

    package subscript(_ entity: EntityNumber) -> EntityLayout? {
        self.index(of: entity).map { self.entities[$0] }
    }
}

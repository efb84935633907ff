import NestModel

/// The values of an attribute of an owner's related objects, which functions aggregate. Functions that need the same
/// state of the same values share it.
package struct AggregatedValues: Hashable, Sendable {
    /// The path from the owner to the values. Its first step is to-many, its leaf a slot. Over a many-to-many
    /// relationship a step to one follows, otherwise none.
    package let path: CompiledPath
    /// The type of the attribute.
    package let type: AttributeType
    /// Whether the least and the greatest value are wanted; otherwise the sum and the number of values.
    package let isOrdered: Bool

    package init(_ path: CompiledPath, type: AttributeType, isOrdered: Bool) {
        // `RelatedValue.aggregate` makes such paths only.
        precondition(path.steps.first?.isToMany ?? false, "aggregated values are behind a to-many step")
        self.path = path
        self.type = type
        self.isOrdered = isOrdered
    }

    package var isDirect: Bool { self.path.steps.count == 1 }

    /// The slot of the to-many step's rows that refers to the owner.
    package var ownerSlot: Int {
        guard case .toMany(let slot, _)? = self.path.steps.first else { preconditionFailure("checked by init") }
        return slot
    }

    /// The table of the to-many step's rows: of the objects themselves, or of the pairs that lead to them.
    package var memberTable: EntityNumber { self.path.table(after: 1) }

    /// The table of the objects that have the values.
    package var valueTable: EntityNumber { self.path.table(after: self.path.steps.count) }

    package var valueSlot: Int {
        guard case .slot(let slot) = self.path.leaf else { preconditionFailure("the values are of an attribute") }
        return slot
    }

    /// The slot of a pair that refers to the object that has the value; `nil` if the members have the values.
    package var targetSlot: Int? {
        guard self.path.steps.count > 1, case .toOne(let slot, _) = self.path.steps[1] else { return nil }
        return slot
    }
}

/// An aggregate function of an owner's related objects.
package struct RelatedAggregate: Hashable, Sendable {
    package let function: AggregateFunction
    package let values: AggregatedValues

    package init(_ function: AggregateFunction, _ values: AggregatedValues) {
        self.function = function
        self.values = values
    }
}

extension RelatedValue {
    /// Returns the value of a function of the attribute at the end of a path. Precondition: the path has one to-many
    /// step and ends in a slot.
    package static func aggregate(
        _ function: AggregateFunction,
        _ path: CompiledPath,
        type: AttributeType
    ) -> RelatedValue? {
        guard let (owner, rest) = path.splitAtToMany else { return nil }
        let values = AggregatedValues(rest, type: type, isOrdered: function.isOfOrder)
        return .aggregate(owner: owner, RelatedAggregate(function, values))
    }

    package var aggregate: RelatedAggregate? {
        if case .aggregate(_, let aggregate) = self { aggregate } else { nil }
    }
}

import NestModel

/// A predicate compiled for a table. A class, because it is part of what results are told apart by and handed about with them;
/// two are equal when their predicates are.
package final class RowFilter: Hashable, Sendable {
    private enum Operand: Sendable {
        case slot(Int)
        case object
        /// Behind steps to one, or `@count`.
        case related(RelatedValue)
        /// `ANY`, `ALL`, `NONE`: by how many count.
        case quantified(RelatedValue, Comparison.Quantifier)
        case subtree(SubtreeKey)
    }

    package let predicate: FetchPredicate
    private let operands: [Operand]
    private let comparisons: [CompiledComparison]
    /// Slots that hold one known value in every row that it admits: what results are found by, and what SQL can narrow to.
    package let constants: [(slot: Int, value: AttributeValue)]
    /// Nothing but a row's own values is read.
    package let isOwn: Bool

    /// `predicate` is canonical and has no faults.
    package init(_ predicate: FetchPredicate, _ entity: EntityDescription, _ layout: ModelLayout) {
        guard let table = layout[entity.number] else { preconditionFailure("an entity has a table") }
        var operands: [Operand] = []
        var comparisons: [CompiledComparison] = []
        for comparison in predicate.comparisons {
            let type = comparison.path.attributeType(of: entity, in: layout.model)
            let compiled = CompiledComparison(comparison, isDecimal: type == .decimal)
            operands.append(Self.operand(compiled, entity, layout))
            comparisons.append(compiled)
        }
        self.predicate = predicate
        self.operands = operands
        self.comparisons = comparisons
        self.constants = Self.constants(predicate, operands, table)
        self.isOwn = operands.allSatisfy { operand in
            switch operand {
            case .slot, .object: true
            case .related, .quantified, .subtree: false
            }
        }
    }

    private static func operand(
        _ test: CompiledComparison,
        _ entity: EntityDescription,
        _ layout: ModelLayout
    ) -> Operand {
        let comparison = test.comparison
        if comparison.operator == .inSubtree {
            guard case .reference(let root) = comparison.values[0], case .integer(let number) = comparison.values[1],
                let table = layout[entity.number], let toMany = table.toMany(PropertyNumber(UInt16(number)))
            else { preconditionFailure("a predicate without faults") }
            // A third value is the object that a token is confined to.
            let limit = comparison.values.count > 2 ? comparison.values[2].referenceValue : nil
            return .subtree(SubtreeKey(table: table.number, slot: toMany.inverseSlot, root: root, limit: limit))
        }
        // `faults(for:in:)` has resolved every path by the same numbers, and refused those that lead nowhere.
        guard let path = CompiledPath(comparison.path, of: entity, in: layout) else {
            preconditionFailure("a predicate without faults")
        }
        // `PathResolver` lets a count follow a to-many step only, and a quantifier stand before exactly one such step.
        switch (comparison.quantifier, comparison.path.leaf) {
        case (.one, .count):
            guard let count = RelatedValue.tally(path) else { preconditionFailure("a count is of a to-many step") }
            return .related(count)
        case (.one, _):
            switch (path.isOwn, path.leaf) {
            case (true, .object): return .object
            case (true, .slot(let slot)): return .slot(slot)
            case (false, _): return .related(.path(path))
            }
        case (let quantifier, _):
            guard let tally = RelatedValue.tally(path, test, isNegated: quantifier == .all) else {
                preconditionFailure("a quantifier is of a to-many step")
            }
            return .quantified(tally, quantifier)
        }
    }

    /// Equalities that every admitted row satisfies: the predicate itself, or operands of its outermost AND.
    private static func constants(
        _ predicate: FetchPredicate,
        _ operands: [Operand],
        _ layout: EntityLayout
    ) -> [(slot: Int, value: AttributeValue)] {
        let comparisons = predicate.comparisons
        return predicate.necessary.compactMap { index in
            let (comparison, operand) = (comparisons[index], operands[index])
            guard comparison.operator == .equal, comparison.folding.isEmpty, case .slot(let slot) = operand,
                let value = Self.stored(comparison.values[0], layout.columns[slot])
            else { return nil }
            return (slot, value)
        }
    }

    /// A value as the column holds an equal one; `nil` when none can be equal, or null.
    private static func stored(_ value: AttributeValue, _ column: EntityLayout.Column) -> AttributeValue? {
        switch (column, value) {
        case (_, .null): return nil
        case (.double, .integer(let whole)): return Double(exactly: whole).map { .double($0 + 0) }
        case (.double, .double(let number)): return .double(number + 0)
        case (.integer, .double(let number)): return Int64(exactly: number).map { .integer($0) }
        default: return value
        }
    }

    /// What it takes to judge one object.
    package var cost: EvaluationCost {
        self.comparisons.reduce(EvaluationCost(nanoseconds: 0)) { $0 + $1.cost }
    }

    /// About what it takes where it is kept.
    package var byteCount: Int { self.comparisons.reduce(128) { $0 + $1.byteCount } }

    /// What of other objects it reads.
    package var relatedValues: [RelatedValue] {
        self.operands.compactMap { operand in
            switch operand {
            case .related(let value), .quantified(let value, _): value
            case .slot, .object, .subtree: nil
            }
        }
    }

    package var subtrees: [SubtreeKey] {
        self.operands.compactMap { if case .subtree(let key) = $0 { key } else { nil } }
    }

    /// Whether an object with these values is a row. Precondition: `isOwn`.
    package func admits(_ id: ObjectID, _ row: ObjectRow) -> Bool {
        var next = 0
        return self.predicate.evaluate { _ in
            defer { next += 1 }
            switch self.operands[next] {
            case .object: return self.comparisons[next].isTrue(of: .reference(id))
            case .slot(let slot): return self.comparisons[next].isTrue(of: row.values[slot])
            // Callers have asked `isOwn`.
            case .related, .quantified, .subtree: preconditionFailure("the predicate reads other objects")
            }
        }
    }

    /// Whether an object with these values is a row, as other objects are now.
    package func admits<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ related: Objects
    ) throws(Objects.Failure) -> Bool {
        if self.isOwn { return self.admits(id, row) }
        var next = 0
        return try self.predicate.evaluate { (_) throws(Objects.Failure) in
            defer { next += 1 }
            let comparison = self.comparisons[next]
            switch self.operands[next] {
            case .object: return comparison.isTrue(of: .reference(id))
            case .slot(let slot): return comparison.isTrue(of: row.values[slot])
            case .related(let value): return comparison.isTrue(of: try value.value(id, row, related))
            case .quantified(let value, let quantifier):
                // Behind a reference that is null there is nothing: not one, and not one that fails.
                guard case .integer(let count) = try value.value(id, row, related) else { return quantifier != .any }
                return quantifier == .any ? count > 0 : count == 0
            case .subtree(let key): return try related.contains(key, id)
            }
        }
    }

    package static func == (a: RowFilter, b: RowFilter) -> Bool { a === b || a.predicate == b.predicate }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.predicate) }
}

/// A predicate over the values that an object itself holds, compiled for a table: its attributes, the identity of its to-one
/// relationships, and its own id. A class, because it is part of what results are told apart by and handed about with them;
/// two are equal when their predicates are.
package final class RowFilter: Hashable, Sendable {
    private enum Operand: Sendable {
        case slot(Int)
        case object
    }

    package let predicate: Predicate
    private let operands: [Operand]
    private let comparisons: [CompiledComparison]
    /// Slots that hold one known value in every row that it admits: what results are found by, and what SQL can narrow to.
    package let constants: [(slot: Int, value: AttributeValue)]

    /// `nil` when the predicate reads through a relationship. `predicate` is canonical and has no faults.
    package init?(_ predicate: Predicate, _ entity: EntityDescription, _ layout: EntityLayout) {
        var operands: [Operand] = []
        var comparisons: [CompiledComparison] = []
        for comparison in predicate.comparisons {
            guard let operand = Self.operand(comparison, layout) else { return nil }
            operands.append(operand)
            var isDecimal = false
            if case .attribute(let property) = comparison.path.leaf {
                isDecimal = entity.attribute(property)?.type == .decimal
            }
            comparisons.append(CompiledComparison(comparison, isDecimal: isDecimal))
        }
        self.predicate = predicate
        self.operands = operands
        self.comparisons = comparisons
        self.constants = Self.constants(predicate, operands, layout)
    }

    private static func operand(_ comparison: Comparison, _ layout: EntityLayout) -> Operand? {
        guard comparison.quantifier == .one, comparison.operator != .inSubtree else { return nil }
        switch (comparison.path.steps.count, comparison.path.leaf) {
        case (0, .object): return .object
        case (0, .attribute(let property)): return layout.slot(of: property).map { .slot($0) }
        case (1, .object): return layout.slot(of: comparison.path.steps[0]).map { .slot($0) }
        default: return nil
        }
    }

    /// Equalities that every admitted row satisfies: the predicate itself, or operands of its outermost AND.
    private static func constants(
        _ predicate: Predicate,
        _ operands: [Operand],
        _ layout: EntityLayout
    ) -> [(slot: Int, value: AttributeValue)] {
        let isConjunction: Bool
        switch predicate.nodes.last {
        case .and(let count): isConjunction = count == predicate.nodes.count - 1
        case .comparison: isConjunction = predicate.nodes.count == 1
        default: isConjunction = false
        }
        guard isConjunction else { return [] }
        return zip(predicate.comparisons, operands).compactMap { comparison, operand in
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

    /// Whether an object with these values is a row.
    package func admits(_ id: ObjectID, _ row: ObjectRow) -> Bool {
        var next = 0
        return self.predicate.evaluate { _ in
            defer { next += 1 }
            switch self.operands[next] {
            case .object: return self.comparisons[next].isTrue(of: .reference(id))
            case .slot(let slot): return self.comparisons[next].isTrue(of: row.values[slot])
            }
        }
    }

    package static func == (a: RowFilter, b: RowFilter) -> Bool { a === b || a.predicate == b.predicate }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.predicate) }
}

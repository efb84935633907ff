import NestModel
import NestOrder

/// A predicate compiled for a table. A class, because it is part of the identity of results and is passed around with
/// them. Filters are equal if their predicates are.
package final class RowFilter: Hashable, Sendable {
    private enum Operand: Sendable {
        case slot(Int)
        case object
        /// A value behind to-one steps, `@count`, or a function such as `@sum`.
        case related(RelatedValue)
        /// `ANY`, `ALL`, `NONE`: compares the number of objects that count.
        case quantified(RelatedValue, Comparison.Quantifier)
        case subtree(SubtreeKey)
    }

    package let predicate: FetchPredicate
    /// The table of the rows.
    private let table: EntityNumber
    private let operands: [Operand]
    private let comparisons: [CompiledComparison]
    /// Slots that have one known value in every matching row. Results are found by them, and SQL can narrow to them.
    package let constants: [(slot: Int, value: AttributeValue)]
    /// The object that the filter leaves out, if it does nothing else: lists of an entity leave out its root.
    package let exclusion: ObjectID?
    /// Whether the filter reads only the row's own values.
    package let isOwn: Bool
    /// The filters of the SUBQUERYs that it counts.
    private let inner: [RowFilter]

    /// `predicate` is canonical and has no faults. `expressions` are those of its `MATCHES`.
    package init(
        _ predicate: FetchPredicate,
        _ entity: EntityDescription,
        _ layout: ModelLayout,
        _ expressions: MatchExpressions
    ) {
        guard let table = layout[entity.number] else { preconditionFailure("an entity has a table") }
        var operands: [Operand] = []
        var comparisons: [CompiledComparison] = []
        var inner: [RowFilter] = []
        for comparison in predicate.comparisons {
            let type = comparison.path.attributeType(of: entity, in: layout.model)
            let compiled = CompiledComparison(comparison, isDecimal: type == .decimal, expressions)
            let filter = Self.inner(comparison.path, entity, layout, expressions)
            if let filter { inner.append(filter) }
            operands.append(Self.operand(compiled, entity, layout, filter))
            comparisons.append(compiled)
        }
        self.inner = inner
        self.predicate = predicate
        self.table = table.number
        self.operands = operands
        self.comparisons = comparisons
        self.constants = Self.constants(predicate, operands, table)
        self.exclusion = Self.exclusion(predicate, operands)
        self.isOwn = operands.allSatisfy { operand in
            switch operand {
            case .slot, .object: true
            case .related, .quantified, .subtree: false
            }
        }
    }

    /// Returns the filter of the objects that a `SUBQUERY` counts.
    private static func inner(
        _ path: PropertyPath,
        _ entity: EntityDescription,
        _ layout: ModelLayout,
        _ expressions: MatchExpressions
    ) -> RowFilter? {
        guard case .countWhere(let property, let predicate) = path.leaf else { return nil }
        var end: EntityDescription? = entity
        for step in path.steps + [property] {
            end = (end?.relationship(step)?.destination).flatMap { layout.model.entity($0) }
        }
        guard let end else { preconditionFailure("a predicate without faults") }
        return RowFilter(predicate, end, layout, expressions)
    }

    /// `filter`: that of a `SUBQUERY`.
    private static func operand(
        _ test: CompiledComparison,
        _ entity: EntityDescription,
        _ layout: ModelLayout,
        _ filter: RowFilter?
    ) -> Operand {
        let comparison = test.comparison
        if comparison.operator == .inSubtree {
            guard case .reference(let root) = comparison.values[0], case .integer(let number) = comparison.values[1],
                let table = layout[entity.number], let toMany = table.toMany(PropertyNumber(UInt16(number)))
            else { preconditionFailure("a predicate without faults") }
            // A third value is the root of a confined token.
            let limit = comparison.values.count > 2 ? comparison.values[2].referenceValue : nil
            return .subtree(SubtreeKey(table: table.number, slot: toMany.inverseSlot, root: root, limit: limit))
        }
        // `faults(for:in:)` has resolved every path and refused invalid ones.
        guard let path = CompiledPath(comparison.path, of: entity, in: layout) else {
            preconditionFailure("a predicate without faults")
        }
        // `PathResolver` allows a count only after a to-many step, and a quantifier only before exactly one such step.
        switch (comparison.quantifier, comparison.path.leaf) {
        case (.one, .count), (.one, .countWhere):
            guard let count = RelatedValue.relationshipCount(path, filter: filter) else {
                preconditionFailure("a count is of a to-many step")
            }
            return .related(count)
        case (.one, .aggregate(let function, _, _)):
            guard let type = comparison.path.aggregatedType(of: entity, in: layout.model),
                let value = RelatedValue.aggregate(function, path, type: type)
            else { preconditionFailure("a function is of an attribute behind a to-many step") }
            return .related(value)
        // `PathResolver` refuses a quantifier before these.
        case (_, .aggregate), (_, .countWhere): preconditionFailure("a predicate without faults")
        case (.one, _):
            switch (path.isOwn, path.leaf) {
            case (true, .object): return .object
            case (true, .slot(let slot)): return .slot(slot)
            case (false, _): return .related(.path(path))
            }
        case (let quantifier, _):
            guard let count = RelatedValue.relationshipCount(path, test, isNegated: quantifier == .all) else {
                preconditionFailure("a quantifier is of a to-many step")
            }
            return .quantified(count, quantifier)
        }
    }

    /// Returns the equalities that every matching row satisfies: the predicate itself, or operands of its outermost
    /// AND.
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

    private static func exclusion(_ predicate: FetchPredicate, _ operands: [Operand]) -> ObjectID? {
        guard predicate.nodes.count == 1, let comparison = predicate.comparisons.first,
            comparison.operator == .notEqual, case .object = operands[0]
        else { return nil }
        return comparison.values[0].referenceValue
    }

    /// Returns the value in the form of the column; `nil` for null, or if no stored value can equal it.
    private static func stored(_ value: AttributeValue, _ column: EntityLayout.Column) -> AttributeValue? {
        switch (column, value) {
        case (_, .null): return nil
        case (.double, .integer(let whole)): return Double(exactly: whole).map { .double($0 + 0) }
        case (.double, .double(let number)): return .double(number + 0)
        case (.integer, .double(let number)): return Int64(exactly: number).map { .integer($0) }
        default: return value
        }
    }

    /// The cost of checking one object. Of a SUBQUERY it is that of one of its objects, as of ANY: the others are
    /// counted already.
    package var cost: EvaluationCost {
        let own = self.comparisons.reduce(EvaluationCost(nanoseconds: 0)) { $0 + $1.cost }
        return self.inner.reduce(own) { $0 + $1.cost }
    }

    /// The estimated memory of the filter, in bytes.
    package var byteCount: Int {
        self.inner.reduce(self.comparisons.reduce(128) { $0 + $1.byteCount }) { $0 + $1.byteCount }
    }

    /// The values of other objects that it reads.
    package var relatedValues: [RelatedValue] {
        self.operands.compactMap { operand in
            switch operand {
            case .related(let value), .quantified(let value, _): value
            case .slot, .object, .subtree: nil
            }
        }
    }

    /// Everything that it reads, as paths from the row: its own slots, and other objects.
    var watched: [CompiledPath] {
        self.operands.flatMap { operand -> [CompiledPath] in
            switch operand {
            case .slot(let slot): [CompiledPath(table: self.table, leaf: .slot(slot))]
            case .related(let value), .quantified(let value, _): value.watched
            // An id does not change, and a SUBQUERY has no sub-trees.
            case .object, .subtree: []
            }
        }
    }

    package var subtrees: [SubtreeKey] {
        self.operands.compactMap { if case .subtree(let key) = $0 { key } else { nil } }
    }

    /// Whether an object with these values matches. Precondition: `isOwn`.
    package func admits(_ id: ObjectID, _ row: ObjectRow) -> Bool {
        var next = 0
        return self.predicate.evaluate { _ in
            defer { next += 1 }
            switch self.operands[next] {
            case .object: return self.comparisons[next].isTrue(of: .reference(id))
            case .slot(let slot): return row.values.withSlots { self.comparisons[next].isTrue(of: $0[slot]) }
            // Callers check `isOwn` first.
            case .related, .quantified, .subtree: preconditionFailure("the predicate reads other objects")
            }
        }
    }

    /// Whether an object with these values matches, in the current state of other objects.
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
            case .slot(let slot): return row.values.withSlots { comparison.isTrue(of: $0[slot]) }
            case .related(let value): return comparison.isTrue(of: try value.value(id, row, related))
            case .quantified(let value, let quantifier):
                // A null reference has no objects: ANY is false, ALL and NONE are true.
                guard case .integer(let count) = try value.value(id, row, related) else { return quantifier != .any }
                return quantifier == .any ? count > 0 : count == 0
            case .subtree(let key): return try related.contains(key, id)
            }
        }
    }

    package static func == (a: RowFilter, b: RowFilter) -> Bool { a === b || a.predicate == b.predicate }

    package func hash(into hasher: inout Hasher) { hasher.combine(self.predicate) }
}

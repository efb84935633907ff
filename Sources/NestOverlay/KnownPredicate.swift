import NestModel
import NestOrder

/// A predicate that is decided from what is known, by Kleene's logic: true, false or unknown.
struct KnownPredicate {
    /// The operands of the outermost AND, each with its comparisons.
    private let conjuncts: [(predicate: FetchPredicate, tests: [Test])]

    /// A comparison, and how its value is found.
    private struct Test {
        let comparison: Comparison
        let compiled: CompiledComparison?
    }

    init(_ predicate: FetchPredicate, of entity: EntityDescription, in model: ManagedObjectModel) {
        self.conjuncts = predicate.conjunctPredicates.map { conjunct in
            let tests = conjunct.comparisons.map { comparison -> Test in
                let canTest =
                    comparison.quantifier == .one && comparison.operator != .inSubtree
                    && comparison.operator != .matches
                guard canTest else { return Test(comparison: comparison, compiled: nil) }
                let isDecimal = comparison.path.attributeType(of: entity, in: model) == .decimal
                return Test(comparison: comparison, compiled: CompiledComparison(comparison, isDecimal: isDecimal))
            }
            return (conjunct, tests)
        }
    }

    var isEmpty: Bool { self.conjuncts.isEmpty }

    /// Whether an object satisfies the predicate. `wasTrue`: whether it did before the transactions; then what they did
    /// not change is still true. `truths`: which operands of the outermost AND were true by what is remembered.
    func isTrue(of id: ObjectID, _ paths: KnownPaths, wasTrue: Bool, _ truths: [Bool] = []) -> Bool? {
        var isTrue: Bool? = true
        for index in self.conjuncts.indices {
            let decided = self.isTrue(index, of: id, paths, wasTrue: wasTrue, truths)
            if decided == false { return false }
            if decided == nil { isTrue = nil }
        }
        return isTrue
    }

    /// For each operand of the outermost AND whether it is certainly true of an object.
    func truths(of id: ObjectID, _ paths: KnownPaths, wasTrue: Bool, _ truths: [Bool]) -> [Bool] {
        self.conjuncts.indices.map { self.isTrue($0, of: id, paths, wasTrue: wasTrue, truths) == true }
    }

    private func isTrue(
        _ index: Int,
        of id: ObjectID,
        _ paths: KnownPaths,
        wasTrue: Bool,
        _ truths: [Bool]
    ) -> Bool? {
        let (predicate, tests) = self.conjuncts[index]
        func isUntouched() -> Bool { !tests.contains { paths.isAffected($0.comparison, of: id) } }
        if wasTrue, isUntouched() { return true }
        var next = 0
        let decided = predicate.decide { _ in
            defer { next += 1 }
            return self.isTrue(tests[next], of: id, paths)
        }
        if decided == nil, truths.indices.contains(index), truths[index], isUntouched() { return true }
        return decided
    }

    private func isTrue(_ test: Test, of id: ObjectID, _ paths: KnownPaths) -> Bool? {
        guard let compiled = test.compiled, let value = paths.value(test.comparison.path, of: id) else { return nil }
        return compiled.isTrue(of: value)
    }

    /// All comparisons.
    var comparisons: [Comparison] { self.conjuncts.flatMap { $0.tests.map(\.comparison) } }
}

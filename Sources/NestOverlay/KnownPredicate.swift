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
    /// not touch is still true.
    func isTrue(of id: ObjectID, _ paths: KnownPaths, wasTrue: Bool) -> Bool? {
        var isTrue: Bool? = true
        for (predicate, tests) in self.conjuncts {
            if wasTrue, !tests.contains(where: { paths.isAffected($0.comparison, of: id) }) { continue }
            var next = 0
            let decided = predicate.decide { _ in
                defer { next += 1 }
                return self.isTrue(tests[next], of: id, paths)
            }
            if decided == false { return false }
            if decided == nil { isTrue = nil }
        }
        return isTrue
    }

    private func isTrue(_ test: Test, of id: ObjectID, _ paths: KnownPaths) -> Bool? {
        guard let compiled = test.compiled, let value = paths.value(test.comparison.path, of: id) else { return nil }
        return compiled.isTrue(of: value)
    }

    /// All comparisons.
    var comparisons: [Comparison] { self.conjuncts.flatMap { $0.tests.map(\.comparison) } }
}

import NestModel
import NestOrder
import NestTestSupport
import Testing

/// `decide`: predicates with unknown comparisons.
@Suite struct PredicateDecisionTests {
    private static func comparison(_ number: Int) -> FetchPredicate {
        FetchPredicate(
            Comparison(
                path: PropertyPath(leaf: .attribute(PropertyNumber(1))),
                operator: .equal,
                values: [.integer(Int64(number))]
            )
        )
    }

    private static func number(_ comparison: Comparison) -> Int {
        guard case .integer(let number) = comparison.values[0] else { preconditionFailure("made by `comparison`") }
        return Int(number)
    }

    /// Makes a program. `next` returns the number of the next comparison.
    private static func program(_ random: inout SeededRandom, depth: Int, _ next: (inout SeededRandom) -> Int)
        -> FetchPredicate
    {
        switch depth == 0 ? 0 : random.below(6) {
        case 1: return FetchPredicate(nodes: Self.program(&random, depth: depth - 1, next).nodes + [.not])
        case 2, 3, 4:
            let count = random.oneIn(4) ? 3 : 2
            let operands = (0..<count).flatMap { _ in Self.program(&random, depth: depth - 1, next).nodes }
            return FetchPredicate(nodes: operands + [random.oneIn(2) ? .and(count) : .or(count)])
        case 5 where random.oneIn(3): return FetchPredicate(nodes: [.constant(random.oneIn(2))])
        default: return Self.comparison(next(&random))
        }
    }

    /// All assignments of `count` values, each one of these.
    private static func assignments<Value>(_ count: Int, _ values: [Value]) -> [[Value]] {
        (0..<count).reduce([[]]) { lists, _ in lists.flatMap { list in values.map { list + [$0] } } }
    }

    /// Returns the value of the predicate in all completions of an assignment; `nil` if they differ.
    private static func agreement(_ program: FetchPredicate, _ known: [Bool?]) -> Bool? {
        let unknown = known.indices.filter { known[$0] == nil }
        let results = Self.assignments(unknown.count, [false, true]).map { values in
            var complete = known
            for (index, value) in zip(unknown, values) { complete[index] = value }
            return program.evaluate { complete[Self.number($0)]! }
        }
        return results.allSatisfy { $0 == results[0] } ? results[0] : nil
    }

    /// Calls `body` with random programs, each with all assignments of known and unknown values. `variety`: the number
    /// of different comparisons, which repeat; `nil`: no comparison repeats.
    private func forEachAssignment(seed: UInt64, variety: Int?, _ body: (FetchPredicate, [Bool?]) -> Void) {
        var random = SeededRandom(seed: seed)
        var programs = 0
        while programs < 300 {
            var count = 0
            let program = Self.program(&random, depth: 3) { random in
                count += 1
                return variety.map { random.below($0) } ?? count - 1
            }
            guard count <= 6 else { continue }
            programs += 1
            #expect(program.isWellFormed)
            for known in Self.assignments(variety ?? count, [nil, false, true]) { body(program, known) }
        }
    }

    /// If no comparison repeats, a predicate is known if and only if all completions agree.
    @Test func aPredicateIsKnownIfAllCompletionsAgree() {
        var counts: [Bool?: Int] = [:]
        self.forEachAssignment(seed: 51, variety: nil) { program, known in
            let decided = program.decide { known[Self.number($0)] }
            #expect(decided == Self.agreement(program, known), "seed 51: \(program.nodes), \(known)")
            counts[decided, default: 0] += 1
        }
        for result in [nil, false, true] as [Bool?] { #expect(counts[result, default: 0] > 1_000, "\(counts)") }
    }

    /// Each occurrence of a repeated comparison counts as a different comparison: a predicate may be unknown although
    /// all completions agree. If it is known, they agree with it.
    @Test func occurrencesOfAComparisonAreDecidedSeparately() {
        var loose = 0
        self.forEachAssignment(seed: 52, variety: 3) { program, known in
            let decided = program.decide { known[Self.number($0)] }
            var occurrences: [Bool?] = []
            let apart = FetchPredicate(
                nodes: program.nodes.map { node in
                    guard case .comparison(let comparison) = node else { return node }
                    occurrences.append(known[Self.number(comparison)])
                    return Self.comparison(occurrences.count - 1).nodes[0]
                }
            )
            #expect(decided == Self.agreement(apart, occurrences), "seed 52: \(program.nodes), \(known)")
            let agreed = Self.agreement(program, known)
            if decided == nil, agreed != nil { loose += 1 }
            #expect(decided == nil || decided == agreed, "seed 52: \(program.nodes), \(known)")
        }
        #expect(loose > 100)
        let excluded = FetchPredicate(nodes: Self.comparison(0).nodes + Self.comparison(0).nodes + [.not, .or(2)])
        #expect(excluded.decide { _ in nil } == nil)
        #expect(excluded.decide { _ in false } == true)
    }

    @Test func theEmptyPredicateIsKnown() {
        #expect(FetchPredicate.everything.decide { _ in nil } == true)
    }
}

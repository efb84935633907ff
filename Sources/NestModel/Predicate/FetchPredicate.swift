/// A path from an object to the value that a comparison tests.
public struct PropertyPath: Hashable, Sendable {
    public enum Leaf: Hashable, Sendable {
        /// The object at the end of the steps; without steps, `SELF`.
        case object
        case attribute(PropertyNumber)
        /// `relationship.@count`: the number of objects in a to-many relationship.
        case count(PropertyNumber)
        /// `relationship.@sum.attribute`: a function of an attribute of the objects in a to-many relationship. Not in
        /// the predicate of a `SUBQUERY`.
        case aggregate(AggregateFunction, PropertyNumber, PropertyNumber)
        /// `SUBQUERY(relationship, $x, …).@count`: the number of objects in a to-many relationship for which a
        /// predicate of their entity is true. Only in predicates.
        case countWhere(PropertyNumber, FetchPredicate)

        /// The to-many relationship whose objects are counted or aggregated.
        package var collection: PropertyNumber? {
            switch self {
            case .object, .attribute: nil
            case .count(let relationship), .aggregate(_, let relationship, _), .countWhere(let relationship, _):
                relationship
            }
        }

        /// The predicate of a `SUBQUERY`.
        package var condition: FetchPredicate? {
            if case .countWhere(_, let predicate) = self { predicate } else { nil }
        }
    }

    /// The relationships to follow in turn; at most one is to-many. The leaf may be a count of another to-many
    /// relationship.
    public var steps: [PropertyNumber]
    public var leaf: Leaf

    public init(steps: [PropertyNumber] = [], leaf: Leaf) {
        self.steps = steps
        self.leaf = leaf
    }
}

/// One test of a predicate.
public struct Comparison: Hashable, Sendable {
    /// Which objects behind the path's to-many step must satisfy the comparison.
    public enum Quantifier: UInt8, Sendable, CaseIterable {
        /// The path has no to-many step.
        case one = 0
        /// At least one; false if there are none.
        case any = 1
        /// Every one; true if there are none.
        case all = 2
        /// None; true if there are none.
        case none = 3
    }

    public enum Operator: UInt8, Sendable, CaseIterable {
        case equal = 1
        case notEqual = 2
        case less = 3
        case lessOrEqual = 4
        case greater = 5
        case greaterOrEqual = 6
        /// Between two values, both included.
        case between = 7
        /// Equal to one of the values.
        case isIn = 8
        case contains = 9
        case beginsWith = 10
        case endsWith = 11
        /// `*` matches any text, `?` one scalar; `\` before either makes it literal.
        case like = 12
        /// `SELF IN SUBTREE(id, relationship)`: below the object by a to-many relationship, at any depth, the object
        /// itself excluded. The values are the reference and the relationship's number.
        case inSubtree = 13
        /// The whole text matches a regular expression, in the syntax of RE2. Only the server reads the expression.
        case matches = 14
    }

    public var quantifier: Quantifier
    public var path: PropertyPath
    public var `operator`: Operator
    public var folding: TextFolding
    public var values: [AttributeValue]

    public init(
        quantifier: Quantifier = .one,
        path: PropertyPath,
        operator: Operator,
        folding: TextFolding = [],
        values: [AttributeValue]
    ) {
        self.quantifier = quantifier
        self.path = path
        self.operator = `operator`
        self.folding = folding
        self.values = values
    }
}

/// The condition for the objects of a request: a program in postfix order, so that reading and running it needs no
/// recursion. The empty program is true for every object.
public struct FetchPredicate: Hashable, Sendable {
    public enum Node: Hashable, Sendable {
        case constant(Bool)
        case comparison(Comparison)
        case not
        /// Combines the preceding operands, at least two.
        case and(Int)
        case or(Int)
    }

    public var nodes: [Node]

    public init(nodes: [Node] = []) {
        self.nodes = nodes
    }

    public static let everything = FetchPredicate()

    public init(_ comparison: Comparison) {
        self.nodes = [.comparison(comparison)]
    }

    public static func && (a: FetchPredicate, b: FetchPredicate) -> FetchPredicate {
        if a.nodes.isEmpty { return b }
        if b.nodes.isEmpty { return a }
        return FetchPredicate(nodes: a.nodes + b.nodes + [.and(2)])
    }

    /// Evaluates the program; `test` evaluates each comparison. Precondition: `isWellFormed`.
    ///
    /// Two-valued: every comparison is true or false. All comparisons are evaluated, from left to right.
    public func evaluate<Failure: Error>(_ test: (Comparison) throws(Failure) -> Bool) throws(Failure) -> Bool {
        if self.nodes.count == 1, case .comparison(let comparison) = self.nodes[0] { return try test(comparison) }
        var stack: [Bool] = []
        for node in self.nodes {
            switch node {
            case .constant(let value): stack.append(value)
            case .comparison(let comparison): stack.append(try test(comparison))
            case .not: stack.append(!stack.removeLast())
            case .and(let count):
                let isTrue = stack.suffix(count).allSatisfy { $0 }
                stack.removeLast(count)
                stack.append(isTrue)
            case .or(let count):
                let isTrue = stack.suffix(count).contains(true)
                stack.removeLast(count)
                stack.append(isTrue)
            }
        }
        return stack.last ?? true
    }

    /// Whether every node has its operands and the program leaves one value. The predicates of SUBQUERYs too.
    public var isWellFormed: Bool {
        var depth = 0
        for node in self.nodes {
            switch node {
            case .constant: depth += 1
            case .comparison(let comparison):
                guard comparison.path.leaf.condition?.isWellFormed ?? true else { return false }
                depth += 1
            case .not: if depth < 1 { return false }
            case .and(let count), .or(let count):
                if count < 2 || depth < count { return false }
                depth -= count - 1
            }
        }
        return depth == 1 || self.nodes.isEmpty
    }

    /// The operands of the outermost AND, each a range of nodes; the whole program if there is none. Precondition:
    /// `isWellFormed`.
    var conjuncts: [Range<Int>] {
        guard let last = self.nodes.indices.last else { return [] }
        guard case .and(let count) = self.nodes[last] else { return [0..<self.nodes.count] }
        // The index where the operand that ends at each node begins.
        var starts: [Int] = []
        for (index, node) in self.nodes.dropLast().enumerated() {
            switch node {
            case .constant, .comparison: starts.append(index)
            case .not: break
            case .and(let count), .or(let count): starts.removeLast(count - 1)
            }
        }
        let operands = starts.suffix(count)
        return zip(operands, operands.dropFirst() + [last]).map { $0..<$1 }
    }

    /// The operands of the outermost AND, each as a predicate; the whole predicate if there is none, and nothing for
    /// the empty one. Precondition: `isWellFormed`.
    package var conjunctPredicates: [FetchPredicate] {
        self.conjuncts.map { FetchPredicate(nodes: Array(self.nodes[$0])) }
    }

    /// Returns the comparison if a conjunct is a single one.
    private func comparison(_ conjunct: Range<Int>) -> Comparison? {
        guard conjunct.count == 1, case .comparison(let comparison) = self.nodes[conjunct.lowerBound] else {
            return nil
        }
        return comparison
    }

    /// The indexes, among all `comparisons`, of those that must be true for the predicate to be true.
    package var necessary: [Int] {
        let conjuncts = self.conjuncts.filter { self.comparison($0) != nil }.map(\.lowerBound)
        var index = -1
        var found: [Int] = []
        for (position, node) in self.nodes.enumerated() {
            guard case .comparison = node else { continue }
            index += 1
            if conjuncts.contains(position) { found.append(index) }
        }
        return found
    }

    /// Removes the first conjunct comparison for which `body` returns a value; returns the value and the rest of the
    /// predicate.
    package func removing<Value>(_ body: (Comparison) -> Value?) -> (value: Value, rest: FetchPredicate)? {
        let conjuncts = self.conjuncts
        for (index, conjunct) in conjuncts.enumerated() {
            guard let comparison = self.comparison(conjunct), let value = body(comparison) else { continue }
            var rest = FetchPredicate()
            for (other, range) in conjuncts.enumerated() where other != index { rest.nodes += self.nodes[range] }
            if conjuncts.count > 2 { rest.nodes.append(.and(conjuncts.count - 1)) }
            return (value, rest)
        }
        return nil
    }

    /// The comparisons of the program, in order; not those within a `SUBQUERY`.
    public var comparisons: [Comparison] {
        self.nodes.compactMap { if case .comparison(let comparison) = $0 { comparison } else { nil } }
    }

    /// The predicates of the SUBQUERYs that the comparisons count, in order.
    package var subqueries: [FetchPredicate] { self.comparisons.compactMap(\.path.leaf.condition) }

    /// All comparisons, those within SUBQUERYs included.
    package var allComparisons: [Comparison] {
        self.comparisons.flatMap { [$0] + ($0.path.leaf.condition?.allComparisons ?? []) }
    }

    /// The number of nodes, those within SUBQUERYs included.
    package var nodeCount: Int { self.subqueries.reduce(self.nodes.count) { $0 + $1.nodeCount } }

    /// How deep its SUBQUERYs are nested; 0 if there are none.
    package var subqueryDepth: Int { self.subqueries.map { $0.subqueryDepth + 1 }.max() ?? 0 }
}

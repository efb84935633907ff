/// A way from an object to what a comparison looks at.
public struct PropertyPath: Hashable, Sendable {
    public enum Leaf: Hashable, Sendable {
        /// The object at the end of the steps itself; without steps, `SELF`.
        case object
        case attribute(PropertyNumber)
        /// `relationship.@count`: how many objects a to-many relationship leads to.
        case count(PropertyNumber)
    }

    /// Relationships followed, one after the other; at most one of them to-many. A count of a to-many relationship may follow.
    public var steps: [PropertyNumber]
    public var leaf: Leaf

    public init(steps: [PropertyNumber] = [], leaf: Leaf) {
        self.steps = steps
        self.leaf = leaf
    }
}

/// One test of a predicate.
public struct Comparison: Hashable, Sendable {
    /// Of the objects that the to-many step of a path leads to.
    public enum Quantifier: UInt8, Sendable, CaseIterable {
        /// There is no such step.
        case one = 0
        /// At least one; false of none.
        case any = 1
        /// Every one; true of none.
        case all = 2
        /// Not one; true of none.
        case none = 3
    }

    public enum Operator: UInt8, Sendable, CaseIterable {
        case equal = 1
        case notEqual = 2
        case less = 3
        case lessOrEqual = 4
        case greater = 5
        case greaterOrEqual = 6
        /// Two values, both included.
        case between = 7
        /// One of the values.
        case isIn = 8
        case contains = 9
        case beginsWith = 10
        case endsWith = 11
        /// `*` stands for any text, `?` for one scalar, `\` before either for itself.
        case like = 12
        /// `SELF IN SUBTREE(id, relationship)`: below the object by a to-many relationship, at any depth, itself not. The
        /// values are the reference and the relationship's number.
        case inSubtree = 13
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

/// Which objects of an entity a request wants: a program in postfix order, so that reading and running it takes no
/// recursion. The empty program is true of everything.
public struct FetchPredicate: Hashable, Sendable {
    public enum Node: Hashable, Sendable {
        case constant(Bool)
        case comparison(Comparison)
        case not
        /// Of so many operands before it, at least two.
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

    /// Runs the program with what `test` says of each comparison. Precondition: `isWellFormed`.
    ///
    /// Two-valued: every comparison is true or false. All comparisons that can decide are asked from left to right.
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

    /// Whether every node finds its operands and one value is left.
    public var isWellFormed: Bool {
        var depth = 0
        for node in self.nodes {
            switch node {
            case .constant, .comparison: depth += 1
            case .not: if depth < 1 { return false }
            case .and(let count), .or(let count):
                if count < 2 || depth < count { return false }
                depth -= count - 1
            }
        }
        return depth == 1 || self.nodes.isEmpty
    }

    /// The operands of the outermost AND, each a range of nodes; the whole when there is none. Precondition: `isWellFormed`.
    var conjuncts: [Range<Int>] {
        guard let last = self.nodes.indices.last else { return [] }
        guard case .and(let count) = self.nodes[last] else { return [0..<self.nodes.count] }
        // Where the operand that ends at each node begins.
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

    /// The comparison that is an operand of the outermost AND, or the whole.
    private func comparison(_ conjunct: Range<Int>) -> Comparison? {
        guard conjunct.count == 1, case .comparison(let comparison) = self.nodes[conjunct.lowerBound] else {
            return nil
        }
        return comparison
    }

    /// Indexes of those comparisons, one of which is false of every object that is not wanted, among all `comparisons`.
    package var necessary: [Int] {
        let conjuncts = self.conjuncts.filter { self.comparison($0) != nil }.map(\.lowerBound)
        var index = -1
        var found: [Int] = []
        for (place, node) in self.nodes.enumerated() {
            guard case .comparison = node else { continue }
            index += 1
            if conjuncts.contains(place) { found.append(index) }
        }
        return found
    }

    /// Takes the first of those comparisons that `body` has a value for out.
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

    public var comparisons: [Comparison] {
        self.nodes.compactMap { if case .comparison(let comparison) = $0 { comparison } else { nil } }
    }
}

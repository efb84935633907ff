/// A predicate as a tree, to build it and make it canonical. Its depth is at most `Limits.predicateDepthMax`.
indirect enum PredicateTree {
    case constant(Bool)
    case comparison(Comparison)
    case not(PredicateTree)
    case and([PredicateTree])
    case or([PredicateTree])

    var program: FetchPredicate {
        var nodes: [FetchPredicate.Node] = []
        self.append(to: &nodes)
        return FetchPredicate(nodes: nodes)
    }

    private func append(to nodes: inout [FetchPredicate.Node]) {
        switch self {
        case .constant(let value): nodes.append(.constant(value))
        case .comparison(let comparison): nodes.append(.comparison(comparison))
        case .not(let operand):
            operand.append(to: &nodes)
            nodes.append(.not)
        case .and(let operands):
            for operand in operands { operand.append(to: &nodes) }
            nodes.append(.and(operands.count))
        case .or(let operands):
            for operand in operands { operand.append(to: &nodes) }
            nodes.append(.or(operands.count))
        }
    }

    /// Makes the tree of a well-formed program; `nil` if it is deeper than allowed. The levels of a SUBQUERY's
    /// predicate count too.
    init?(_ predicate: FetchPredicate) {
        guard let (tree, _) = Self.made(of: predicate, deepest: Limits.subqueryDepthMax) else { return nil }
        self = tree
    }

    /// `deepest`: how deep SUBQUERYs may be nested.
    private static func made(of predicate: FetchPredicate, deepest: Int) -> (tree: PredicateTree, depth: Int)? {
        var stack: [(tree: PredicateTree, depth: Int)] = []
        for node in predicate.nodes {
            switch node {
            case .constant(let value): stack.append((.constant(value), 1))
            case .comparison(let comparison):
                var depth = 1
                if let condition = comparison.path.leaf.condition {
                    guard deepest > 0, let inner = Self.made(of: condition, deepest: deepest - 1) else { return nil }
                    depth += inner.depth
                }
                stack.append((.comparison(comparison), depth))
            case .not:
                let operand = stack.removeLast()
                stack.append((.not(operand.tree), operand.depth + 1))
            case .and(let count), .or(let count):
                let operands = stack.suffix(count)
                stack.removeLast(count)
                let depth = operands.map(\.depth).max()! + 1
                let trees = operands.map(\.tree)
                if case .and = node { stack.append((.and(trees), depth)) } else { stack.append((.or(trees), depth)) }
            }
            if stack.last!.depth > Limits.predicateDepthMax { return nil }
        }
        return stack.last ?? (.constant(true), 1)
    }

    private var bytes: [UInt8] {
        var writer = ByteWriter()
        for node in self.program.nodes { writer.write(node: node) }
        return writer.bytes
    }

    var canonical: PredicateTree {
        switch self {
        case .constant: return self
        case .comparison(let comparison): return comparison.canonical
        case .not(let operand):
            switch operand.canonical {
            case .constant(let value): return .constant(!value)
            case .not(let inner): return inner
            case .comparison(var comparison)
            where comparison.quantifier == .one && [.equal, .notEqual].contains(comparison.operator):
                comparison.operator = comparison.operator == .equal ? .notEqual : .equal
                return .comparison(comparison)
            case let other: return .not(other)
            }
        case .and(let operands): return Self.combined(operands, isAnd: true)
        case .or(let operands): return Self.combined(operands, isAnd: false)
        }
    }

    /// Flattens nested operands, removes duplicates and constants, and sorts by the operands' bytes.
    private static func combined(_ operands: [PredicateTree], isAnd: Bool) -> PredicateTree {
        var flat: [[UInt8]: PredicateTree] = [:]
        for operand in operands.map(\.canonical) {
            let parts: [PredicateTree]
            switch operand {
            case .and(let inner) where isAnd: parts = inner
            case .or(let inner) where !isAnd: parts = inner
            default: parts = [operand]
            }
            for part in parts {
                if case .constant(let value) = part {
                    if value != isAnd { return part }
                } else {
                    flat[part.bytes] = part
                }
            }
        }
        let sorted = flat.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
        if sorted.count <= 1 { return sorted.first ?? .constant(isAnd) }
        return isAnd ? .and(sorted) : .or(sorted)
    }
}

extension Comparison {
    fileprivate var canonical: PredicateTree {
        guard case .countWhere(let relationship, let predicate) = self.path.leaf else { return self.canonicalTest }
        var comparison = self
        // `PredicateTree` has checked its depth.
        let condition = predicate.canonical ?? predicate
        comparison.path.leaf = condition.nodes.isEmpty ? .count(relationship) : .countWhere(relationship, condition)
        return comparison.canonicalTest
    }

    /// The canonical form of a comparison whose path is canonical.
    private var canonicalTest: PredicateTree {
        var comparison = self
        switch self.operator {
        case .isIn:
            var seen: [[UInt8]: AttributeValue] = [:]
            for value in self.values {
                var writer = ByteWriter()
                writer.write(value: self.folded(value))
                seen[writer.bytes] = self.folded(value)
            }
            comparison.values = seen.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map(\.value)
            if comparison.values.count == 1 { comparison.operator = .equal }
        case .between:
            guard self.quantifier == .one, self.values.count == 2 else { break }
            var (low, high) = (self, self)
            low.operator = .greaterOrEqual
            low.values = [self.folded(self.values[0])]
            high.operator = .lessOrEqual
            high.values = [self.folded(self.values[1])]
            return PredicateTree.and([.comparison(low), .comparison(high)]).canonical
        case .like:
            comparison.values = self.values.map(self.folded).map { value in
                if case .string(let pattern) = value { .string(LikeText.canonical(pattern)) } else { value }
            }
        case .matches:
            // Folding would change the meaning of `\D`.
            break
        default:
            comparison.values = self.values.map(self.folded)
        }
        return .comparison(comparison)
    }

    private func folded(_ value: AttributeValue) -> AttributeValue {
        guard case .string(let text) = value, !self.folding.isEmpty else { return value }
        return .string(self.folding.fold(text))
    }
}

extension FetchPredicate {
    /// Returns the canonical form, which is the same for all predicates that differ only in order, grouping or
    /// repetition of operands. `nil`: deeper than `Limits.predicateDepthMax`. Precondition: `isWellFormed`.
    public var canonical: FetchPredicate? {
        guard let tree = PredicateTree(self) else { return nil }
        let canonical = tree.canonical
        if case .constant(true) = canonical { return .everything }
        return canonical.program
    }
}

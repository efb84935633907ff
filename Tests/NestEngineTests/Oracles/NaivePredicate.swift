import NestModel
import NestSchema

extension NaiveResults {
    /// Whether a predicate is true of an object. Evaluates every node.
    func isTrue(_ predicate: FetchPredicate, of id: ObjectID) -> Bool {
        var stack: [Bool] = []
        for node in predicate.nodes {
            switch node {
            case .constant(let value): stack.append(value)
            case .comparison(let comparison): stack.append(self.isTrue(comparison, of: id))
            case .not: stack.append(!stack.removeLast())
            case .and(let count), .or(let count):
                var operands: [Bool] = []
                for _ in 0..<count { operands.append(stack.removeLast()) }
                if case .and = node {
                    stack.append(operands.filter { !$0 }.isEmpty)
                } else {
                    stack.append(!operands.filter { $0 }.isEmpty)
                }
            }
        }
        return stack.first ?? true
    }

    private func isTrue(_ comparison: Comparison, of id: ObjectID) -> Bool {
        if comparison.operator == .inSubtree {
            guard case .reference(let root) = comparison.values[0], case .integer(let number) = comparison.values[1]
            else { return false }
            return self.isBelow(id, root, PropertyNumber(UInt16(number)))
        }
        let type = self.leafType(comparison.path, of: id)
        func isTrue(_ end: ObjectID?) -> Bool {
            Self.isTrue(comparison, self.value(comparison.path.leaf, of: end), type)
        }
        // A null to-one reference before the to-many step leads to no members. One after it leads to a null value.
        let (before, after) = self.split(comparison.path, of: id)
        let members = before.map { self.members($0, comparison.path.steps.count - after.count - 1, comparison.path) }
        switch comparison.quantifier {
        case .one: return isTrue(self.ends(comparison.path.steps, of: id)[0])
        case .any: return (members ?? []).contains { isTrue(self.ends(after, of: $0)[0]) }
        case .all: return (members ?? []).allSatisfy { isTrue(self.ends(after, of: $0)[0]) }
        case .none: return !(members ?? []).contains { isTrue(self.ends(after, of: $0)[0]) }
        }
    }

    /// Returns the object whose to-many relationship the path follows, and the steps after that relationship.
    private func split(_ path: PropertyPath, of id: ObjectID) -> (before: ObjectID?, after: [PropertyNumber]) {
        var current: ObjectID? = id
        for (index, step) in path.steps.enumerated() {
            guard let here = current, let relationship = self.entity(of: here)?.relationship(step) else { break }
            if relationship.isToMany { return (here, Array(path.steps[(index + 1)...])) }
            current = self.value(step, of: here).referenceValue
        }
        return (nil, [])
    }

    private func members(_ owner: ObjectID, _ step: Int, _ path: PropertyPath) -> [ObjectID] {
        self.entity(of: owner)?.relationship(path.steps[step]).map { self.related(owner, $0) } ?? []
    }

    private func leafType(_ path: PropertyPath, of id: ObjectID) -> AttributeType? {
        self.rows[id].flatMap { self.model.entity($0.entity) }.flatMap { path.attributeType(of: $0, in: self.model) }
    }

    /// Whether an object is below `root` at any depth.
    private func isBelow(_ id: ObjectID, _ root: ObjectID, _ toMany: PropertyNumber) -> Bool {
        guard let relationship = self.entity(of: id)?.relationship(toMany),
            let inverse = self.model.inverse(of: relationship)
        else { return false }
        var current = self.value(inverse.number, of: id).referenceValue
        while let here = current {
            if here == root { return true }
            current = self.value(inverse.number, of: here).referenceValue
        }
        return false
    }

    private static func isTrue(_ comparison: Comparison, _ raw: AttributeValue, _ type: AttributeType?) -> Bool {
        func folded(_ value: AttributeValue) -> AttributeValue {
            guard case .string(let text) = value else { return value }
            return .string(comparison.folding.fold(text))
        }
        if comparison.operator == .matches { return Self.matches(comparison, raw) }
        let value = folded(raw)
        let wanted = comparison.values.map(folded)
        func isBelow(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
            !a.isNull && !b.isNull && Self.precedes(a, b, type)
        }
        func isEqual(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
            switch (a, b) {
            case (.integer(let a), .double(let b)), (.double(let b), .integer(let a)): Int64(exactly: b) == a
            case (.double(let a), .double(let b)): a == b
            default: a == b
            }
        }
        func isNotAbove(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
            isBelow(a, b) || (isEqual(a, b) && !a.isNull)
        }
        switch comparison.operator {
        case .equal: return isEqual(value, wanted[0])
        case .notEqual: return !isEqual(value, wanted[0])
        case .less: return isBelow(value, wanted[0])
        case .lessOrEqual: return isNotAbove(value, wanted[0])
        case .greater: return isBelow(wanted[0], value)
        case .greaterOrEqual: return isNotAbove(wanted[0], value)
        case .between: return isNotAbove(wanted[0], value) && isNotAbove(value, wanted[1])
        case .isIn: return wanted.contains { isEqual($0, value) }
        case .contains, .beginsWith, .endsWith, .like:
            guard case .string(let text) = value, case .string(let part) = wanted[0] else { return false }
            return Self.isFound(Array(part.unicodeScalars), in: Array(text.unicodeScalars), comparison.operator)
        case .inSubtree, .matches: preconditionFailure("\(comparison.operator) does not compare values")
        }
    }

    /// Matches with Swift's own regular expressions, which backtrack.
    private static func matches(_ comparison: Comparison, _ value: AttributeValue) -> Bool {
        guard case .string(let text) = value, case .string(let pattern) = comparison.values[0] else { return false }
        let marks = comparison.folding.intersection(.diacriticInsensitive)
        var expression = try! Regex(marks.composed(pattern)).matchingSemantics(.unicodeScalar)
        if comparison.folding.contains(.caseInsensitive) { expression = expression.ignoresCase() }
        return marks.composed(text).wholeMatch(of: expression) != nil
    }

    private static func isFound(
        _ part: [Unicode.Scalar],
        in text: [Unicode.Scalar],
        _ symbol: Comparison.Operator
    ) -> Bool {
        if symbol == .like { return Self.isLike(part[...], text[...]) }
        guard !part.isEmpty, part.count <= text.count else { return false }
        let starts = (0...(text.count - part.count)).filter { Array(text[$0..<($0 + part.count)]) == part }
        return switch symbol {
        case .beginsWith: starts.contains(0)
        case .endsWith: starts.contains(text.count - part.count)
        default: !starts.isEmpty
        }
    }

    private static func isLike(_ pattern: ArraySlice<Unicode.Scalar>, _ text: ArraySlice<Unicode.Scalar>) -> Bool {
        guard let first = pattern.first else { return text.isEmpty }
        let rest = pattern.dropFirst()
        switch first {
        case "*": return (text.startIndex...text.endIndex).contains { Self.isLike(rest, text[$0...]) }
        case "?": return !text.isEmpty && Self.isLike(rest, text.dropFirst())
        case "\\" where !rest.isEmpty:
            return text.first == rest.first && Self.isLike(rest.dropFirst(), text.dropFirst())
        default: return text.first == first && Self.isLike(rest, text.dropFirst())
        }
    }
}

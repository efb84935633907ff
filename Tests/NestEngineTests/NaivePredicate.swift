import NestModel
import NestTestSupport

extension NaiveResults {
    /// Whether a predicate over an object's own values is true of it, node by node.
    func isTrue(_ predicate: Predicate, of id: ObjectID) -> Bool {
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
        var value = AttributeValue.reference(id)
        var type: AttributeType?
        if case .attribute(let property) = comparison.path.leaf {
            value = self.value(property, of: id)
            type = self.rows[id].flatMap { self.entity($0.entity) }?.attribute(property)?.type
        } else if let step = comparison.path.steps.first {
            value = self.value(step, of: id)
        }
        let wanted = comparison.values
        func isBelow(_ a: AttributeValue, _ b: AttributeValue) -> Bool {
            !a.isNull && !b.isNull && Self.precedes(a, b, type)
        }
        func isNotAbove(_ a: AttributeValue, _ b: AttributeValue) -> Bool { isBelow(a, b) || (a == b && !a.isNull) }
        switch comparison.operator {
        case .equal: return value == wanted[0]
        case .notEqual: return value != wanted[0]
        case .less: return isBelow(value, wanted[0])
        case .lessOrEqual: return isNotAbove(value, wanted[0])
        case .greater: return isBelow(wanted[0], value)
        case .greaterOrEqual: return isNotAbove(wanted[0], value)
        case .between: return isNotAbove(wanted[0], value) && isNotAbove(value, wanted[1])
        case .isIn: return wanted.contains { $0 == value }
        case .contains, .beginsWith, .endsWith, .like, .inSubtree:
            guard case .string(let text) = value, case .string(let part) = wanted[0], !part.isEmpty else {
                return false
            }
            return (0..<text.utf8.count).contains { start in
                Array(text.utf8).dropFirst(start).starts(with: Array(part.utf8))
                    && (comparison.operator != .beginsWith || start == 0)
            }
        }
    }
}

extension SeededRandom {
    /// A predicate over the own values of an entity's objects, of values from a pool so that it is often true.
    mutating func predicate(
        of entity: EntityDescription,
        values: [AttributeType: [AttributeValue]],
        objects: [ObjectID],
        depth: Int = 2
    ) -> Predicate {
        if depth > 0, self.oneIn(2) {
            let count = self.below(2) + 2
            var nodes: [Predicate.Node] = []
            for _ in 0..<count {
                nodes += self.predicate(of: entity, values: values, objects: objects, depth: depth - 1).nodes
                if self.oneIn(4) { nodes.append(.not) }
            }
            return Predicate(nodes: nodes + [self.oneIn(2) ? .and(count) : .or(count)])
        }
        let toOne = entity.relationships.filter { !$0.isToMany }
        if entity.attributes.isEmpty || self.oneIn(4) {
            let step = self.oneIn(3) ? nil : toOne.randomElement(using: &self)
            let some = objects.shuffled(using: &self).prefix(self.below(5) + 1).map { AttributeValue.reference($0) }
            let isList = some.count > 1
            return Predicate(
                Comparison(
                    path: PropertyPath(steps: step.map { [$0.number] } ?? [], leaf: .object),
                    operator: isList ? .isIn : self.oneIn(3) ? .notEqual : .equal,
                    values: isList ? some : [some.first ?? .null]
                )
            )
        }
        let attribute = entity.attributes.randomElement(using: &self)!
        var pool = values[attribute.type] ?? []
        // Doubles of a float are its own.
        pool = pool.map(attribute.kept)
        let isText = attribute.type == .string || attribute.type == .uri
        var operators: [Comparison.Operator] = [
            .equal, .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .between, .isIn,
        ]
        if isText { operators += [.contains, .beginsWith] }
        let symbol = operators.randomElement(using: &self)!
        let needsText = symbol == .contains || symbol == .beginsWith
        let count = symbol == .between ? 2 : symbol == .isIn ? self.below(4) : 1
        return Predicate(
            Comparison(
                path: PropertyPath(leaf: .attribute(attribute.number)),
                operator: symbol,
                values: (0..<count).map { _ in
                    !needsText && self.oneIn(6) ? .null : pool.randomElement(using: &self) ?? .null
                }
            )
        )
    }
}

import NestModel
import NestTestSupport

/// Random paths through a model, and predicates of the values at their ends.
extension SeededRandom {
    /// The kinds of a path's leaf.
    enum PathEnd {
        case attribute, object, count, aggregate, countWhere
    }

    /// Returns a path of up to four steps from the objects of an entity. With `toMany` one of the steps is to-many.
    mutating func path(
        _ scene: Scene,
        of entity: EntityDescription,
        toMany: Bool,
        ends: [PathEnd],
        nesting: Int = 0
    ) -> PropertyPath? {
        let end = self.pick(ends)
        let kind = Scene.PathKind(entity: entity.number, toMany: toMany, end: end)
        let isKnown = scene.isNarrow ? !self.oneIn(8) : self.oneIn(3)
        if isKnown, let path = scene.favourites[kind]?.randomElement(using: &self) { return path }
        var path = PropertyPath(leaf: .object)
        var here = entity
        func follow(_ isToMany: Bool, _ random: inout SeededRandom) -> Bool {
            guard path.steps.count < 4,
                let step = here.relationships.filter({ $0.isToMany == isToMany }).randomElement(using: &random),
                let next = scene.model.entity(step.destination)
            else { return false }
            path.steps.append(step.number)
            here = next
            return true
        }
        for _ in 0..<(self.oneIn(2) ? 0 : 1 + self.below(4)) { _ = follow(false, &self) }
        if toMany {
            guard follow(true, &self) else { return nil }
            for _ in 0..<self.below(3) { _ = follow(false, &self) }
        }
        switch end {
        case .object:
            return path
        case .attribute:
            guard let attribute = here.attributes.randomElement(using: &self) else { return nil }
            path.leaf = .attribute(attribute.number)
        case .count:
            let lists = here.relationships.filter(\.isToMany)
            guard path.steps.count < 4, let list = lists.randomElement(using: &self) else { return nil }
            path.leaf = .count(list.number)
        case .aggregate:
            let lists = here.relationships.filter(\.isToMany)
            guard path.steps.count < 4, let list = lists.randomElement(using: &self),
                let values = scene.model.entity(list.destination),
                let attribute = scene.aggregated(of: values, &self)
            else { return nil }
            let functions = AggregateFunction.allCases.filter { $0.type(of: attribute.type) != nil }
            let function = scene.isSmall(attribute) ? self.pick(functions) : self.pick([.minimum, .maximum])
            path.leaf = .aggregate(function, list.number, attribute.number)
        case .countWhere:
            let lists = here.relationships.filter(\.isToMany)
            guard path.steps.count < 4, let list = lists.randomElement(using: &self),
                let members = scene.model.entity(list.destination),
                let condition = self.predicate(scene, of: members, depth: 1, nesting: nesting + 1)
            else { return nil }
            path.leaf = .countWhere(list.number, condition)
        }
        return path
    }

    // MARK: Predicates

    /// Returns a predicate with values of the scene, so that it is often true of some objects and false of others.
    ///
    /// `nesting`: the number of SUBQUERYs around it.
    mutating func predicate(
        _ scene: Scene,
        of entity: EntityDescription,
        depth: Int = 2,
        nesting: Int = 0
    ) -> FetchPredicate? {
        if depth > 0, self.oneIn(2) {
            let count = self.below(2) + 2
            var nodes: [FetchPredicate.Node] = []
            for _ in 0..<count {
                guard let operand = self.predicate(scene, of: entity, depth: depth - 1, nesting: nesting) else {
                    return nil
                }
                nodes += operand.nodes
                if self.oneIn(4) { nodes.append(.not) }
            }
            return FetchPredicate(nodes: nodes + [self.oneIn(2) ? .and(count) : .or(count)])
        }
        if nesting == 0, self.oneIn(scene.focus == .trees ? 2 : 6), let subtree = self.subtree(scene, of: entity) {
            return FetchPredicate(subtree)
        }
        let quantifiers = Comparison.Quantifier.allCases + [.one, .one]
        let quantifier = quantifiers.randomElement(using: &self)!
        var ends: [PathEnd] = [.attribute, .attribute, .object, .count]
        if nesting == 0, quantifier == .one { ends.append(.aggregate) }
        if scene.hasSubqueries, quantifier == .one, nesting < 2 { ends += [.countWhere, .countWhere] }
        let path = self.path(scene, of: entity, toMany: quantifier != .one, ends: ends, nesting: nesting)
        return path.flatMap { self.comparison(scene, entity, quantifier, $0) }.map { FetchPredicate($0) }
    }

    private mutating func references(_ scene: Scene) -> [AttributeValue] {
        scene.naive.rows.keys.sorted().shuffled(using: &self).prefix(6).map { .reference($0) }
    }

    private mutating func subtree(_ scene: Scene, of entity: EntityDescription) -> Comparison? {
        guard let list = scene.trees(of: entity).randomElement(using: &self),
            let root = self.object(scene, of: entity.number)
        else {
            return nil
        }
        return Comparison(
            path: PropertyPath(leaf: .object),
            operator: .inSubtree,
            values: [.reference(root), .integer(Int64(list.number.rawValue))]
        )
    }

    /// Returns the type of a path's function, and values to compare it with.
    private func aggregated(
        _ scene: Scene,
        _ path: PropertyPath,
        _ entity: EntityDescription
    ) -> (AttributeType, [AttributeValue])? {
        guard case .aggregate(let function, let list, let attribute) = path.leaf,
            let type = path.attributeType(of: entity, in: scene.model)
        else { return nil }
        if function.isOfOrder {
            var leaf = path
            leaf.steps.append(list)
            leaf.leaf = .attribute(attribute)
            return scene.naive.attribute(leaf, entity.number).map { (type, scene.values($0)) }
        }
        switch type {
        case .decimal: return (type, ["0", "1", "0.5", "2", "-1.5"].map { .string($0) })
        case .double, .float: return (type, [0, 1, 1.5, -2].map { .double($0) })
        default: return (type, [0, 1, 2, 7, -1].map { .integer($0) } + [.double(1.5)])
        }
    }

    private mutating func comparison(
        _ scene: Scene,
        _ entity: EntityDescription,
        _ quantifier: Comparison.Quantifier,
        _ path: PropertyPath
    ) -> Comparison? {
        var operators: [Comparison.Operator] = [.equal, .equal, .notEqual, .isIn]
        var pool: [AttributeValue]
        var isText = false
        switch path.leaf {
        case .object:
            pool = self.references(scene)
        case .count, .countWhere:
            pool = (0..<4).map { .integer($0) } + [.double(1), .double(1.5)]
            operators += [.less, .lessOrEqual, .greater, .greaterOrEqual, .between]
        case .aggregate:
            guard let (type, values) = self.aggregated(scene, path, entity) else { return nil }
            pool = values
            isText = type == .string || type == .uri
            operators += [.less, .lessOrEqual, .greater, .greaterOrEqual, .between]
        case .attribute:
            guard let attribute = scene.naive.attribute(path, entity.number) else { return nil }
            pool = scene.values(attribute)
            isText = attribute.type == .string || attribute.type == .uri
            operators += [.less, .lessOrEqual, .greater, .greaterOrEqual, .between]
            if isText { operators += [.contains, .beginsWith, .endsWith, .like, .matches] }
        }
        guard !pool.isEmpty else { return nil }
        let symbol = operators.randomElement(using: &self)!
        let needsText = [.contains, .beginsWith, .endsWith, .like, .matches].contains(symbol)
        let count = symbol == .between ? 2 : symbol == .isIn ? self.below(4) : 1
        var values = (0..<count).map { _ in
            !needsText && self.oneIn(6) ? AttributeValue.null : pool.randomElement(using: &self)!
        }
        if symbol == .like { values = [.string(["*a*", "?", "a*", "", "*\\*", "??*"].randomElement(using: &self)!)] }
        if symbol == .matches {
            values = [.string([".*a.*", ".", "[^a]*", "", ".*(a|e).+", "(a*)*.?"].randomElement(using: &self)!)]
        }
        let folding = isText && self.oneIn(2) ? TextFolding(rawValue: UInt8(1 + self.below(3))) : []
        return Comparison(quantifier: quantifier, path: path, operator: symbol, folding: folding, values: values)
    }
}

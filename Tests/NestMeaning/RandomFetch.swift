import NestModel
import NestTestSupport

/// Random fetch requests that the protocol can express. Most of them are valid for the model.
extension SeededRandom {
    mutating func fetch(_ scene: MeaningScene) -> ObjectFetchRequest {
        guard var entity = self.entity(scene) else { return ObjectFetchRequest(entity: EntityNumber(1)) }
        var request = ObjectFetchRequest(entity: self.isWrong() ? EntityNumber(self.wildNumber()) : entity.number)
        var isOrdered = false
        if self.oneIn(2), let (owner, relationship) = self.owner(scene, where: \.isToMany),
            let destination = scene.model.kinds(of: relationship.destination).randomElement(using: &self)
        {
            entity = destination
            request.entity = destination.number
            let number = self.isWrong() ? PropertyNumber(self.wildNumber()) : relationship.number
            request.source = FetchSource(object: self.isWrong() ? self.wildID() : owner, relationship: number)
            isOrdered = relationship.isOrdered
        }
        if self.below(3) > 0 { request.predicate = self.predicate(scene, entity) }
        switch self.below(6) {
        case 0..<4: self.addSort(scene, entity, to: &request)
        case 4 where isOrdered || self.oneIn(10): request.sort = [.order]
        case 4: self.addListOrder(scene, entity, to: &request)
        default: break
        }
        if self.isWrong() { request.sort.append(.order) }
        if self.oneIn(3) {
            let count = self.isWrong() ? 64 : 1 + self.below(3)
            request.columns = (0..<count).map { _ in self.path(scene, entity, hasMany: false) }
        }
        if self.oneIn(3) {
            let some = [.entity] + entity.storedProperties + request.columns.indices.map { .computed($0) }
            request.projection = Array(some.shuffled(using: &self).prefix(1 + self.below(5)))
            if self.isWrong() { request.projection.append(PropertyNumber(self.wildNumber())) }
        }
        if self.oneIn(2) { request.window = self.window(scene, request) }
        return request
    }

    mutating func window(_ scene: MeaningScene, _ request: ObjectFetchRequest) -> FetchWindow {
        if self.oneIn(2), let id = self.object(scene, of: request.entity) {
            return .around(id, before: self.reach(), after: self.reach())
        }
        return .range(offset: self.oneIn(2) ? 0 : self.reach(), limit: self.reach())
    }

    private mutating func reach() -> Int { self.oneIn(6) ? self.wildCount() : self.below(9) }

    /// Returns a request that has much in common with another one.
    mutating func changed(_ request: ObjectFetchRequest, _ scene: MeaningScene) -> ObjectFetchRequest {
        var request = request
        let entity = scene.model.entity(request.entity) ?? scene.model.entities[0]
        switch self.below(7) {
        case 0, 1: request.window = self.oneIn(4) ? nil : self.window(scene, request)
        case 2: request.predicate = self.oneIn(3) ? .everything : self.predicate(scene, entity)
        case 3:
            (request.sort, request.section) = ([], nil)
            self.addSort(scene, entity, to: &request)
        case 4: request.columns = request.columns.isEmpty ? [self.path(scene, entity, hasMany: false)] : []
        case 5: break
        default: request = self.fetch(scene)
        }
        return request
    }

    // MARK: Paths

    /// Returns a path of up to four steps, which may end in a count. With `hasMany` one of the steps is to many, and a
    /// count may still follow.
    ///
    /// `isTested`: it may end in a SUBQUERY.
    mutating func path(
        _ scene: MeaningScene,
        _ entity: EntityDescription,
        hasMany: Bool,
        isTested: Bool = false
    ) -> PropertyPath {
        var path = PropertyPath(leaf: .object)
        var here = entity
        func follow(_ isToMany: Bool, _ random: inout SeededRandom) {
            let ways = here.relationships.filter { $0.isToMany == isToMany }
            guard path.steps.count < 4, let way = ways.randomElement(using: &random),
                let next = scene.model.entity(way.destination)
            else { return }
            path.steps.append(way.number)
            here = next
        }
        for _ in 0..<(self.oneIn(2) ? 0 : self.below(4)) { follow(false, &self) }
        if hasMany != self.isWrong() { follow(true, &self) }
        if hasMany { for _ in 0..<self.below(3) { follow(false, &self) } }
        if self.isWrong() { path.steps.append(PropertyNumber(self.wildNumber())) }
        switch self.below(5) {
        case 0: break
        case 1:
            let lists = here.relationships.filter { $0.isToMany || self.isWrong() }
            if let list = lists.randomElement(using: &self) {
                path.leaf = self.collected(scene, list, isTested: isTested)
            }
        default:
            if let attribute = here.attributes.randomElement(using: &self) {
                path.leaf = .attribute(self.isWrong() ? PropertyNumber(self.wildNumber()) : attribute.number)
            }
        }
        return path
    }

    /// Returns a count of a relationship's objects, of all or of those for which a comparison is true, or a function of
    /// one of their attributes.
    private mutating func collected(
        _ scene: MeaningScene,
        _ list: RelationshipDescription,
        isTested: Bool
    ) -> PropertyPath.Leaf {
        if isTested, self.oneIn(2), let members = scene.model.entity(list.destination) {
            return .countWhere(list.number, FetchPredicate(self.comparison(scene, members, isInner: true)))
        }
        guard self.oneIn(3),
            let attribute = scene.model.entity(list.destination)?.attributes.randomElement(using: &self)
        else { return .count(list.number) }
        let number = self.isWrong() ? PropertyNumber(self.wildNumber()) : attribute.number
        return .aggregate(self.pick(AggregateFunction.allCases), list.number, number)
    }

    /// Returns the attribute at the end of a path.
    private func attribute(_ path: PropertyPath, _ entity: EntityDescription, _ scene: MeaningScene)
        -> AttributeDescription?
    {
        var here: EntityDescription? = entity
        for step in path.steps { here = here?.relationship(step).flatMap { scene.model.entity($0.destination) } }
        guard case .attribute(let property) = path.leaf else { return nil }
        return here?.attribute(property)
    }

    // MARK: Orders

    private mutating func addSort(
        _ scene: MeaningScene,
        _ entity: EntityDescription,
        to request: inout ObjectFetchRequest
    ) {
        for _ in 0..<(self.isWrong() ? 8 : 1 + self.below(3)) {
            let path = self.path(scene, entity, hasMany: self.isWrong())
            if path.leaf == .object, !self.isWrong() { continue }
            let type = self.attribute(path, entity, scene)?.type
            let isText = type == .string || type == .uri || self.isWrong()
            let folding = isText ? TextFolding(rawValue: UInt8(self.below(4))) : []
            request.sort.append(OrderingTerm(key: .path(path), isAscending: self.oneIn(2), folding: folding))
        }
        guard self.oneIn(2), let first = request.sort.first, case .path(let path) = first.key else { return }
        let functions: [SectionKey.Function] =
            switch self.attribute(path, entity, scene)?.type {
            case .string, .uri: [.value, .firstCharacter]
            case .date: [.value, .year, .month, .day]
            default: [.value]
            }
        let function = self.isWrong() ? self.pick(SectionKey.Function.allCases) : self.pick(functions)
        request.section = SectionKey(function, of: self.isWrong() ? self.path(scene, entity, hasMany: false) : path)
    }

    /// Sorts by the order of a list, whose owner is named by a comparison in the predicate.
    private mutating func addListOrder(
        _ scene: MeaningScene,
        _ entity: EntityDescription,
        to request: inout ObjectFetchRequest
    ) {
        let ways = entity.relationships.filter { !$0.isToMany && scene.model.inverse(of: $0)?.isOrdered == true }
        guard let way = ways.randomElement(using: &self), let owner = self.object(scene, of: way.destination) else {
            return
        }
        let path = PropertyPath(steps: [way.number], leaf: .object)
        let isOne = FetchPredicate(Comparison(path: path, operator: .equal, values: [.reference(owner)]))
        request.predicate = isOne && request.predicate
        request.sort = [.order]
    }

    // MARK: Predicates

    mutating func predicate(_ scene: MeaningScene, _ entity: EntityDescription, depth: Int = 2) -> FetchPredicate {
        if self.isWrong() { return self.largePredicate(scene, entity) }
        guard depth > 0, self.oneIn(2) else {
            switch self.below(20) {
            case 0: return FetchPredicate(nodes: [.constant(self.oneIn(2))])
            default: return FetchPredicate(self.comparison(scene, entity))
            }
        }
        let count = 2 + self.below(2)
        var nodes: [FetchPredicate.Node] = []
        for _ in 0..<count {
            let operand = self.predicate(scene, entity, depth: depth - 1).nodes
            nodes += operand.isEmpty ? [.constant(true)] : operand
            if self.oneIn(4) { nodes.append(.not) }
        }
        return FetchPredicate(nodes: nodes + [self.oneIn(2) ? .and(count) : .or(count)])
    }

    /// Returns a predicate that is as wide or as deep as allowed, or a little more.
    private mutating func largePredicate(_ scene: MeaningScene, _ entity: EntityDescription) -> FetchPredicate {
        let one = FetchPredicate.Node.comparison(self.comparison(scene, entity))
        if self.oneIn(2) {
            let count = self.pick([100, 255, 256])
            return FetchPredicate(
                nodes: Array(repeating: one, count: count) + [self.oneIn(2) ? .and(count) : .or(count)]
            )
        }
        var nodes = [one]
        for level in 0..<self.pick([30, 31, 32, 33]) {
            switch self.below(3) {
            case 0: nodes.append(.not)
            default: nodes += [one, level.isMultiple(of: 2) ? .and(2) : .or(2)]
            }
        }
        return FetchPredicate(nodes: nodes)
    }

    private mutating func comparison(
        _ scene: MeaningScene,
        _ entity: EntityDescription,
        isInner: Bool = false
    ) -> Comparison {
        if !isInner || self.isWrong(), self.oneIn(8), let subtree = self.subtree(scene, entity) { return subtree }
        let quantifier = self.pick(Comparison.Quantifier.allCases + [.one, .one])
        let path = self.path(scene, entity, hasMany: quantifier != .one, isTested: !isInner || self.isWrong())
        var pool: [AttributeValue]
        var operators: [Comparison.Operator] = [.equal, .notEqual, .isIn]
        let ordered: [Comparison.Operator] = [.less, .lessOrEqual, .greater, .greaterOrEqual, .between]
        var isText = self.isWrong()
        switch path.leaf {
        case .object:
            pool = (0..<3).map { _ in .reference(self.anyObject(scene)) }
        case .count, .aggregate, .countWhere:
            pool = [.integer(0), .integer(1), .integer(2), .double(1), .double(1.5)]
            operators += ordered
        case .attribute:
            let attribute = self.attribute(path, entity, scene)
            isText = isText || attribute?.type == .string || attribute?.type == .uri
            pool = attribute.map { found in (0..<3).map { _ in self.value(scene, found) } } ?? [.null]
            if attribute?.type == .decimal {
                pool = pool.map { $0.stringValue.flatMap { DecimalText.canonical($0) }.map { .string($0) } ?? .null }
            }
            operators += ordered
            if isText { operators += [.contains, .beginsWith, .endsWith, .like, .like, .matches, .matches] }
        }
        if self.isWrong() { operators = Comparison.Operator.allCases }
        let symbol = self.pick(operators)
        let isPattern = [.contains, .beginsWith, .endsWith, .like, .matches].contains(symbol)
        var count = symbol == .between ? 2 : symbol == .isIn ? self.below(5) : 1
        if self.isWrong() { count = self.pick([0, 1, 2, 3, 300]) }
        let values = (0..<count).map { _ -> AttributeValue in
            if self.isWrong() { return self.wildValue() }
            if isPattern { return .string(symbol == .matches ? self.expression() : self.pattern()) }
            return self.oneIn(8) ? .null : self.pick(pool)
        }
        let folding = isText && self.oneIn(2) ? TextFolding(rawValue: UInt8(self.below(4))) : []
        return Comparison(quantifier: quantifier, path: path, operator: symbol, folding: folding, values: values)
    }

    private mutating func pattern() -> String {
        self.pick(["*a*", "?", "a*", "", "*", "*\\*", "\\", "**?**", "a", "\u{c9}", "*a*b*c*d*", "\\?*"])
    }

    /// Returns a regular expression, or rarely a text that is none.
    private mutating func expression() -> String {
        if self.isWrong() {
            return self.pick(["(", "a**", "(?=a)", ".{1000}", "\\1", String(repeating: "x", count: 1_025)])
        }
        if self.oneIn(4) { return self.pick([".*", "", ".*a.*", "(a*)*b", "\\w+", "[^a]*", "(.|\\n)*", "\\p{L}*"]) }
        return RandomExpression(&self, letters: ["a", "b", "\u{e9}", " "]).text
    }

    private mutating func subtree(_ scene: MeaningScene, _ entity: EntityDescription) -> Comparison? {
        let ways = self.isWrong() ? entity.relationships : scene.trees(of: entity)
        guard let way = ways.randomElement(using: &self), let root = self.object(scene, of: entity.number) else {
            return nil
        }
        var values: [AttributeValue] = [.reference(root), .integer(Int64(way.number.rawValue))]
        if self.isWrong() { values[1] = .integer(self.pick([-1, .min, .max, 65_536, 0])) }
        if self.isWrong() { values.removeLast() }
        return Comparison(path: PropertyPath(leaf: .object), operator: .inSubtree, values: values)
    }
}

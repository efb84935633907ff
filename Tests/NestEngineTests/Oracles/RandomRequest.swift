import NestModel
import NestTestSupport

/// Random requests of every kind.
extension SeededRandom {
    mutating func request(_ scene: Scene) -> ObjectFetchRequest? {
        let hasTrees = scene.focus == .trees && !self.oneIn(4)
        let trees = hasTrees ? self.entity(scene, where: { !scene.trees(of: $0).isEmpty }) : nil
        guard var entity = trees ?? self.entity(scene) else { return nil }
        var request = ObjectFetchRequest(entity: entity.number)
        var isOrdered = false
        let hasPairs = scene.focus == .pairs && !self.oneIn(4)
        let isSource = { (relationship: RelationshipDescription) in
            relationship.isToMany && (relationship.join != nil || !hasPairs)
        }
        if hasPairs || self.oneIn(2), trees == nil, let (owner, relationship) = self.owner(scene, where: isSource),
            let destination = scene.model.kinds(of: relationship.destination).randomElement(using: &self)
        {
            entity = destination
            request.entity = destination.number
            request.source = FetchSource(object: owner, relationship: relationship.number)
            isOrdered = relationship.isOrdered
        }
        if self.below(3) > 0 { request.predicate = self.predicate(scene, of: entity) ?? .everything }
        switch self.below(6) {
        case 0..<4: self.addSort(scene, entity, to: &request)
        case 4 where isOrdered: request.sort = [.order]
        case 4 where request.source == nil: self.addListOrder(scene, entity, to: &request)
        default: break
        }
        if self.oneIn(3) {
            let columns = (0...self.below(3)).compactMap { _ in
                let more: [PathEnd] = scene.hasSubqueries ? [.aggregate] : []
                let ends: [PathEnd] = [.attribute, .attribute, .object, .count, .aggregate] + more
                return self.path(scene, of: entity, toMany: false, ends: ends)
            }
            request.columns = columns.filter { !($0.steps.isEmpty && $0.leaf == .object) }
        }
        if self.oneIn(3) { request.totals = (0...self.below(4)).compactMap { _ in self.total(scene, of: entity) } }
        if self.oneIn(2) {
            let some = [.entity] + entity.storedProperties + request.columns.indices.map { .computed($0) }
            request.projection = Array(some.shuffled(using: &self).prefix(1 + self.below(5)))
        }
        return request
    }

    private mutating func total(_ scene: Scene, of entity: EntityDescription) -> FetchTotal? {
        if self.oneIn(5) { return .count }
        if self.oneIn(2), let own = scene.aggregated(of: entity, &self), scene.isSmall(own) {
            let functions = AggregateFunction.allCases.filter { $0.type(of: own.type) != nil }
            return .function(self.pick(functions), PropertyPath(leaf: .attribute(own.number)))
        }
        let ends: [PathEnd] = [.attribute, .attribute, .attribute, .count, .aggregate]
        guard let path = self.path(scene, of: entity, toMany: false, ends: ends) else { return nil }
        let type = path.attributeType(of: entity, in: scene.model) ?? .integer
        let functions = AggregateFunction.allCases.filter { $0.type(of: type) != nil }
        // Sums of great values would be beyond their types.
        let hasRoom: Bool
        switch path.leaf {
        case .count, .countWhere: hasRoom = true
        case .aggregate(_, let list, let attribute):
            let owner = path.steps.reduce(entity) { here, step in
                here.relationship(step).flatMap { scene.model.entity($0.destination) } ?? here
            }
            let values = owner.relationship(list).flatMap { scene.model.entity($0.destination) }
            hasRoom = values?.attribute(attribute).map(scene.isSmall) ?? false
        case .attribute, .object:
            hasRoom = scene.naive.attribute(path, entity.number).map(scene.isSmall) ?? false
        }
        return .function(hasRoom ? self.pick(functions) : self.pick([.minimum, .maximum]), path)
    }

    mutating func addSort(_ scene: Scene, _ entity: EntityDescription, to request: inout ObjectFetchRequest) {
        for _ in 0...self.below(3) {
            let ends: [PathEnd] = [.attribute, .attribute, .attribute, .count, .aggregate]
            guard let path = self.path(scene, of: entity, toMany: false, ends: ends) else { continue }
            var descriptor = OrderingTerm(key: .path(path), isAscending: self.oneIn(2))
            let type = path.attributeType(of: entity, in: scene.model)
            if type == .string || type == .uri, self.oneIn(2) {
                descriptor.folding = TextFolding(rawValue: UInt8(self.below(4)))
            }
            request.sort.append(descriptor)
            // A second key that differs only in its folding.
            if !descriptor.folding.isEmpty, self.oneIn(2) {
                descriptor.folding = []
                request.sort.append(descriptor)
            }
        }
        guard self.below(3) > 0, let first = request.sort.first, case .path(let path) = first.key else { return }
        let functions: [SectionKey.Function]
        switch path.attributeType(of: entity, in: scene.model) {
        case .string, .uri: functions = [.value, .firstCharacter, .firstCharacter]
        case .date: functions = [.value, .year, .month, .day]
        case .decimal, .data: return
        default: functions = [.value]
        }
        request.section = SectionKey(functions.randomElement(using: &self)!, of: path)
    }

    /// Sorts in the order of a list. A condition of the predicate names the owner of the list.
    private mutating func addListOrder(
        _ scene: Scene,
        _ entity: EntityDescription,
        to request: inout ObjectFetchRequest
    ) {
        let ways = entity.relationships.filter { !$0.isToMany && scene.model.inverse(of: $0)?.isOrdered == true }
        guard let way = ways.randomElement(using: &self), let owner = self.object(scene, of: way.destination) else {
            return
        }
        let path = PropertyPath(steps: [way.number], leaf: .object)
        let isOne = FetchPredicate(Comparison(path: path, operator: .equal, values: [.reference(owner)]))
        let others = request.predicate.comparisons.contains { other in
            other.path.leaf == .object && other.path.steps.count == 1
                && ways.contains { $0.number == other.path.steps[0] }
        }
        request.predicate = others ? isOne : isOne && request.predicate
        request.sort = [.order]
    }

}

extension ObjectFetchRequest {
    /// Returns short names of the features that the request uses.
    func features(_ naive: NaiveResults) -> [String] {
        var features: [String] = []
        if let source {
            let relationship = naive.entity(of: source.object)?.relationship(source.relationship)
            let isPaired = relationship?.join != nil
            features.append(isPaired ? "paired" : "owned")
            if relationship?.isOrdered == true, self.sort.isEmpty || self.sort == [.order] {
                features.append(isPaired ? "paired in order" : "owned in order")
            }
            if relationship?.destination != self.entity { features.append("of a kind") }
            if isPaired, !self.predicate.nodes.isEmpty { features.append("paired filtered") }
        } else {
            features.append(self.sort == [.order] ? "order of a list" : "everything")
        }
        for comparison in self.predicate.comparisons {
            switch (comparison.operator, comparison.quantifier, comparison.path.leaf) {
            case (.inSubtree, _, _): features.append("subtree")
            case (_, .one, .count): features.append("count")
            case (_, .one, .countWhere(let list, let condition)):
                features.append("subquery")
                if condition.subqueryDepth > 0 { features.append("subquery in subquery") }
                if condition.comparisons.contains(where: { $0.quantifier != .one }) {
                    features.append("any in subquery")
                }
                let isPaired = naive.model.entities.contains { $0.relationship(list)?.join != nil }
                if isPaired { features.append("subquery of pairs") }
            case (_, .one, .aggregate(let function, _, _)): features += ["function", "@\(function.name)"]
            case (_, .one, _): features.append(comparison.path.steps.isEmpty ? "own" : "to one")
            case (_, let quantifier, .count): features += ["\(quantifier)", "\(quantifier) of counts"]
            case (_, let quantifier, _): features.append("\(quantifier)")
            }
            if !comparison.folding.isEmpty { features.append("folded comparison") }
        }
        for descriptor in self.sort {
            guard case .path(let path) = descriptor.key else { continue }
            features.append(path.steps.isEmpty ? "own sort" : "related sort")
            if case .count = path.leaf { features.append("sort by count") }
            if case .aggregate = path.leaf { features.append("sort by aggregate") }
            if !descriptor.folding.isEmpty { features.append("folded sort") }
        }
        if self.sort.count > 1 { features.append("several keys") }
        if let section { features.append("sections by \(section.function)") }
        if !self.columns.isEmpty { features.append("columns") }
        for case .aggregate(let function, let list, _) in self.columns.map(\.leaf) {
            let isPaired = naive.model.entities.contains { $0.relationship(list)?.join != nil }
            features.append("\(function)\(isPaired ? " of pairs" : "")")
        }
        for total in self.totals {
            let name = if case .function(let function, _) = total { "\(function)" } else { "count" }
            features.append("total \(name)\(self.section == nil ? "" : " of sections")")
        }
        if let window {
            let kind = window.object == nil ? "range" : "around"
            features.append(kind)
            features += features.dropLast().map { "\($0), \(kind)" }
        }
        return features
    }
}

/// Checks a comparison against the type that it compares.
extension Comparison {
    /// Returns what is wrong with the operator or the values for a path's type, in words that follow the path; `nil` if
    /// nothing is.
    func fault(of type: PathType) -> String? {
        if case .attribute(let attribute) = type, attribute.isLarge {
            let isNull = [.equal, .notEqual].contains(self.operator) && self.values.count == 1 && self.values[0].isNull
            return isNull ? nil : "is \(attribute): it is outside the rows, compare it with NULL by == or != only"
        }
        let isText = type == .attribute(.string) || type == .attribute(.uri)
        switch self.operator {
        case .contains, .beginsWith, .endsWith, .like, .matches:
            guard isText else { return "is \(type.description): \(self.operator.text) is for text" }
            guard self.values.count == 1, case .string = self.values[0] else {
                return "can only be compared with a text by \(self.operator.text)"
            }
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            if case .object = type { return "is an object: objects have no order, compare them with ==, != or IN" }
            guard self.values.count == 1 else { return "is compared with one value by \(self.operator.text)" }
        case .equal, .notEqual:
            guard self.values.count == 1 else { return "is compared with one value by \(self.operator.text)" }
        case .between:
            if case .object = type { return "is an object: objects have no order, compare them with ==, != or IN" }
            guard self.values.count == 2 else { return "is compared with two values by BETWEEN" }
        case .isIn:
            break
        case .inSubtree:
            guard case .object = type, self.path.steps.isEmpty, self.values.count == 2,
                case .reference = self.values[0], case .integer = self.values[1]
            else { return "cannot be IN SUBTREE" }
        }
        if !self.folding.isEmpty, !isText { return "is \(type.description): [c] and [d] are for text" }
        guard self.operator != .inSubtree else { return nil }
        for value in self.values where !value.isNull && !type.admits(value) {
            return "is \(type.description), not \(value.typeName)"
        }
        return nil
    }
}

extension PathType {
    fileprivate func admits(_ value: AttributeValue) -> Bool {
        switch (self, value) {
        case (.object, .reference): return true
        case (.count, .integer), (.count, .double): return true
        case (.attribute(let type), .integer), (.attribute(let type), .double):
            return [.integer, .integer16, .integer32, .double, .float].contains(type)
        case (.attribute(.decimal), .string(let text)):
            return DecimalText.canonical(text).map { $0.hasSameBytes(as: text) } ?? false
        case (.attribute(let type), _): return type.admits(value)
        default: return false
        }
    }
}

extension FetchPredicate {
    /// Returns all faults of a predicate from a client, for an entity of a model; empty for a valid one. Checks paths,
    /// operators and limits.
    public func faults(for entity: EntityDescription, in model: ManagedObjectModel) -> [String] {
        guard self.isWellFormed else { return ["the predicate's program is not well-formed"] }
        guard self.subqueryDepth <= Limits.subqueryDepthMax else {
            return ["its SUBQUERYs are nested over \(Limits.subqueryDepthMax) deep"]
        }
        guard self.canonical != nil else {
            return ["the predicate is deeper than \(Limits.predicateDepthMax) levels"]
        }
        let count = self.nodeCount
        guard count <= Limits.predicateNodesMax else {
            return ["the predicate has \(count) parts; at most \(Limits.predicateNodesMax) are allowed"]
        }
        return self.comparisonFaults(for: entity, in: model, isInner: false)
    }

    /// `isInner`: it is the predicate of a SUBQUERY.
    fileprivate func comparisonFaults(
        for entity: EntityDescription,
        in model: ManagedObjectModel,
        isInner: Bool
    ) -> [String] {
        var faults: [String] = []
        for comparison in self.comparisons {
            if comparison.values.contains(where: { $0.byteCount > Limits.patternBytesMax }) {
                faults.append("a value to compare with has over \(Limits.patternBytesMax) bytes")
            }
            if isInner, comparison.operator == .inSubtree { faults.append("SUBTREE cannot be inside a SUBQUERY") }
            if isInner, case .aggregate(let function, _, _) = comparison.path.leaf {
                faults.append("@\(function.name) cannot be inside a SUBQUERY")
            }
            if comparison.operator == .inSubtree, case .integer(let number)? = comparison.values.last {
                let property = UInt16(exactly: number).map(PropertyNumber.init)
                let relationship = property.flatMap { entity.relationship($0) }
                if !(relationship.map { model.hasSubtrees(of: entity, by: $0) } ?? false) {
                    faults.append("SUBTREE needs a to-many relationship of \(entity.name) to itself")
                }
            }
            switch comparison.path.resolve(of: entity, in: model, comparison.quantifier) {
            case .success(let path):
                if let fault = comparison.fault(of: path.type) { faults.append("\(path.text) \(fault)") }
            case .failure(let fault):
                faults.append(fault.text)
            }
        }
        return faults
    }
}

extension ManagedObjectModel {
    /// Whether a relationship makes a tree of objects: it is to-many, its inverse is to-one, and its destination is in
    /// the same table. A hidden inverse makes none: its objects may form circles.
    package func hasSubtrees(of entity: EntityDescription, by relationship: RelationshipDescription) -> Bool {
        relationship.isToMany && relationship.join == nil && !relationship.isHiddenInverse
            && self.lineage(of: relationship.destination).last?.number == self.lineage(of: entity.number).last?.number
    }
}

extension PropertyPath {
    /// Resolves a path from a client.
    package func resolve(
        of entity: EntityDescription,
        in model: ManagedObjectModel,
        _ quantifier: Comparison.Quantifier,
        _ use: PathResolver.Use = .tested
    ) -> Result<ResolvedPath, PathResolver.Fault> {
        var resolver = PathResolver(entity, model, use)
        let path = self
        if path.steps.isEmpty, path.leaf == .object { return resolver.object(quantifier) }
        func name(_ number: PropertyNumber) -> String { resolver.entity.propertyName(number) ?? "#\(number.rawValue)" }
        for step in path.steps {
            guard resolver.entity.relationship(step) != nil else {
                return .failure(.init(text: "\(resolver.entity.name) has no relationship number \(step.rawValue)"))
            }
            if let fault = resolver.follow(step, name(step)) { return .failure(.init(text: fault)) }
        }
        switch path.leaf {
        case .object:
            break
        case .attribute(let property):
            guard resolver.entity.attribute(property) != nil else {
                return .failure(.init(text: "\(resolver.entity.name) has no attribute number \(property.rawValue)"))
            }
            if let fault = resolver.follow(property, name(property)) { return .failure(.init(text: fault)) }
        case .count(let property):
            if let fault = resolver.follow(property, name(property)) ?? resolver.collect("count") {
                return .failure(.init(text: fault))
            }
        case .countWhere(let property, let predicate):
            if let fault = resolver.follow(property, name(property)) { return .failure(.init(text: fault)) }
            let faults = predicate.comparisonFaults(for: resolver.entity, in: model, isInner: true)
            if let fault = faults.first ?? resolver.collect(where: predicate, quantifier) {
                return .failure(.init(text: fault))
            }
        case .aggregate(let function, let property, let attribute):
            if let fault = resolver.follow(property, name(property)) ?? resolver.collect(function.name) {
                return .failure(.init(text: fault))
            }
            guard resolver.entity.attribute(attribute) != nil else {
                return .failure(.init(text: "\(resolver.entity.name) has no attribute number \(attribute.rawValue)"))
            }
            if let fault = resolver.follow(attribute, name(attribute)) { return .failure(.init(text: fault)) }
        }
        return resolver.finish(quantifier)
    }
}

import NestModel

/// Random valid models with every kind of attribute, relationship, rule and bound, and with inheritance.
extension SeededRandom {
    package mutating func smallModelDraft() -> ModelDraft {
        var builder = RandomModelBuilder(random: self)
        let draft = builder.build()
        self = builder.random
        return draft
    }
}

private struct RandomModelBuilder {
    var random: SeededRandom
    private var entities: [EntityDraft] = []
    /// The parent of each entity.
    private var parents: [Int?] = []
    private var relationshipCount = 0

    init(random: SeededRandom) {
        self.random = random
    }

    mutating func build() -> ModelDraft {
        self.makeEntities()
        for index in self.entities.indices { self.addAttributes(index) }
        for _ in 0..<(1 + self.random.below(self.entities.count + 3)) { self.addRelationship() }
        for index in self.entities.indices { self.addConstraints(index) }
        if self.random.oneIn(5) { self.addRoot() }
        self.entities.shuffle(using: &self.random)
        return ModelDraft(entities: self.entities)
    }

    // MARK: Entities

    private mutating func makeEntities() {
        let names = ["Alpha", "Beta", "Gamma", "Delta", "Epsilon"]
        for index in 0...self.random.below(names.count) {
            var entity = EntityDraft(name: names[index])
            var parent: Int?
            if index > 0, self.random.oneIn(3) { parent = self.random.below(index) }
            entity.parent = parent.map { names[$0] }
            self.entities.append(entity)
            self.parents.append(parent)
        }
        for index in self.entities.indices where self.parents.contains(index) {
            self.entities[index].isAbstract = self.random.oneIn(3)
        }
    }

    private func top(_ index: Int) -> Int {
        var index = index
        while let parent = self.parents[index] { index = parent }
        return index
    }

    /// Returns the entity and its ancestors.
    private func lineage(_ index: Int) -> [Int] {
        var lineage = [index]
        while let parent = self.parents[lineage.last!] { lineage.append(parent) }
        return lineage
    }

    // MARK: Attributes

    private mutating func addAttributes(_ index: Int) {
        let letters = ["a", "b", "c", "d"]
        for number in 0..<self.random.below(5) {
            var name = "\(self.entities[index].name.lowercased())_\(letters[number])"
            // Two subentities may have different properties with the same name; `id` is also the name of the key
            // column.
            if number == 0, self.parents[index] != nil, !self.parents.contains(index) { name = "same" }
            if number == 0, self.parents[index] == nil, self.random.oneIn(4) { name = "id" }
            self.entities[index].attributes.append(self.attribute(name))
        }
    }

    private mutating func attribute(_ name: String) -> AttributeDraft {
        var draft = AttributeDraft(name: name, type: self.random.pick(AttributeType.inRows))
        draft.isOptional = self.random.oneIn(2)
        if self.random.oneIn(4) { (draft.minimum, draft.maximum) = self.bounds(draft.type) }
        if self.random.oneIn(3) { draft.defaultValue = self.random.soundValue(of: draft.description) }
        if draft.type == .date, self.random.oneIn(2) {
            draft.defaultsToNow = true
            (draft.minimum, draft.maximum) = (.null, .null)
        }
        return draft
    }

    /// Returns bounds that accept some of the random values and refuse others.
    private mutating func bounds(_ type: AttributeType) -> (AttributeValue, AttributeValue) {
        let low = Int64(self.random.below(4))
        let high = low + 2 + Int64(self.random.below(8))
        let bounds: (AttributeValue, AttributeValue)
        switch type {
        case .string, .uri: bounds = (.integer(min(low, 2)), .integer(high))
        case .integer, .integer16, .integer32: bounds = (.integer(low - 2), .integer(high))
        case .double, .float: bounds = (.double(Double(low) / 10), .double(Double(high) / 10))
        case .date: bounds = (.date(low), .date(high))
        case .decimal: bounds = (.string("\(low - 2).5"), .string("\(high)"))
        case .boolean, .data, .uuid, .largeData, .largeText: bounds = (.null, .null)
        }
        return switch self.random.below(3) {
        case 0: (bounds.0, .null)
        case 1: (.null, bounds.1)
        default: bounds
        }
    }

    // MARK: Relationships

    private enum Shape: CaseIterable {
        case oneToOne, partners, oneToMany, orderedOneToMany, manyToMany, orderedManyToMany, orderedBothWays, friends
        case oneWay
    }

    private mutating func addRelationship() {
        let shape = self.random.pick(Shape.allCases)
        let a = self.random.below(self.entities.count)
        let b = self.random.below(self.entities.count)
        self.relationshipCount += 1
        let number = self.relationshipCount
        if shape == .friends || shape == .partners {
            let name = "self\(number)"
            var own = RelationshipDraft(name: name, destination: self.entities[a].name, inverse: name)
            own.isToMany = shape == .friends
            own.deleteRule = self.deleteRule()
            self.bound(&own)
            self.entities[a].relationships.append(own)
            return
        }
        if shape == .oneWay {
            var own = RelationshipDraft(name: "to\(number)", destination: self.entities[b].name)
            own.isToMany = self.random.oneIn(2)
            own.isOrdered = own.isToMany && self.random.oneIn(2)
            own.deleteRule = self.deleteRule()
            self.bound(&own)
            self.entities[a].relationships.append(own)
            return
        }
        var near = RelationshipDraft(name: "to\(number)", destination: self.entities[b].name, inverse: "from\(number)")
        var far = RelationshipDraft(name: "from\(number)", destination: self.entities[a].name, inverse: "to\(number)")
        near.isToMany = shape != .oneToOne
        far.isToMany = shape == .manyToMany || shape == .orderedManyToMany || shape == .orderedBothWays
        near.isOrdered = shape == .orderedOneToMany || shape == .orderedManyToMany || shape == .orderedBothWays
        far.isOrdered = shape == .orderedBothWays
        near.deleteRule = self.deleteRule()
        far.deleteRule = self.deleteRule()
        self.bound(&near)
        self.bound(&far)
        // A to-one relationship is required in only one direction between entity trees, so that a first object can
        // exist.
        if !far.isToMany, self.top(a) < self.top(b), self.random.oneIn(3) { far.isOptional = false }
        self.entities[a].relationships.append(near)
        self.entities[b].relationships.append(far)
    }

    private mutating func deleteRule() -> DeleteRule {
        self.random.pick([.nullify, .nullify, .nullify, .cascade, .cascade, .deny])
    }

    private mutating func bound(_ relationship: inout RelationshipDraft) {
        guard relationship.isToMany else { return }
        if self.random.oneIn(5) { relationship.maximumCount = 2 + self.random.below(3) }
        if self.random.oneIn(10) { relationship.minimumCount = 1 + self.random.below(2) }
        if self.random.oneIn(12) {
            relationship.isOptional = false
            // Without a least count it may be empty.
            if self.random.oneIn(2) { relationship.minimumCount = 1 + self.random.below(2) }
        }
    }

    // MARK: Constraints

    private mutating func addConstraints(_ index: Int) {
        var names: [String] = []
        for ancestor in self.lineage(index) {
            names += self.entities[ancestor].attributes.map(\.name)
            names += self.entities[ancestor].relationships.filter { !$0.isToMany }.map(\.name)
        }
        guard !names.isEmpty else { return }
        names.shuffle(using: &self.random)
        if self.random.oneIn(3) {
            self.entities[index].uniquenessConstraints.append(Array(names.prefix(1 + self.random.below(2))))
        }
        if self.random.oneIn(4) { self.entities[index].indexes.append(Array(names.suffix(1 + self.random.below(2)))) }
    }

    /// Gives one entity a root object, as in the built-in model. The root has only optional values or defaults.
    private mutating func addRoot() {
        let alone = self.entities.indices.filter { self.parents[$0] == nil && !self.parents.contains($0) }
        guard let index = alone.randomElement(using: &self.random) else { return }
        let name = self.entities[index].name
        for number in self.entities[index].attributes.indices
        where self.entities[index].attributes[number].defaultValue.isNull {
            self.entities[index].attributes[number].isOptional = true
        }
        for number in self.entities[index].relationships.indices {
            self.entities[index].relationships[number].isOptional = true
        }
        var above = RelationshipDraft(name: "above", destination: name, inverse: "below")
        above.deleteRule = self.deleteRule()
        var below = RelationshipDraft(name: "below", destination: name, inverse: "above")
        below.isToMany = true
        below.isOrdered = self.random.oneIn(2)
        below.deleteRule = self.deleteRule()
        self.entities[index].relationships += [above, below]
        self.entities[index].root = ("above", ObjectID(1))
    }
}

extension AttributeDraft {
    /// The description of the attribute outside a model.
    fileprivate var description: AttributeDescription {
        AttributeDescription(
            number: 1,
            name: self.name,
            type: self.type,
            isOptional: self.isOptional,
            minimum: self.minimum,
            maximum: self.maximum
        )
    }
}

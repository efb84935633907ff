import NestModel

/// Random changes of a model that a running server can make.
extension SeededRandom {
    /// Adds an attribute, an entity, relationships or an index to a model. `number`: different for each change, so that
    /// names are distinct.
    package mutating func grow(_ draft: inout ModelDraft, _ number: Int) {
        let index = self.below(draft.entities.count)
        let name = "n\(number)"
        switch self.below(6) {
        case 0, 1: draft.entities[index].attributes.append(self.newAttribute(name))
        case 2:
            var entity = EntityDraft(name: "N\(number)")
            entity.attributes = (0...self.below(2)).map { self.newAttribute("\(name)_\($0)") }
            draft.entities.append(entity)
            if self.oneIn(3) { return }
            self.relate(draft.entities.count - 1, index, name, &draft)
        case 3, 4: self.relate(index, self.below(draft.entities.count), name, &draft)
        default:
            guard let attribute = draft.entities[index].attributes.randomElement(using: &self) else {
                return draft.entities[index].attributes.append(self.newAttribute(name))
            }
            draft.entities[index].indexes.append([attribute.name])
        }
    }

    private mutating func newAttribute(_ name: String) -> AttributeDraft {
        var attribute = AttributeDraft(name: name, type: self.pick(AttributeType.inRows))
        if self.oneIn(2) { attribute.defaultValue = self.keptValue(of: attribute.type) }
        if attribute.defaultValue.isNull, attribute.type == .date { attribute.defaultsToNow = self.oneIn(2) }
        // A required attribute has a value in the objects that are there.
        let hasValue = !attribute.defaultValue.isNull || attribute.defaultsToNow
        attribute.isOptional = !hasValue || self.oneIn(2)
        return attribute
    }

    private mutating func relate(_ from: Int, _ to: Int, _ name: String, _ draft: inout ModelDraft) {
        let (own, other) = (draft.entities[from].name, draft.entities[to].name)
        let back = "\(name)_back"
        switch self.below(4) {
        case 0:
            draft.entities[from].relationships.append(.toOne(name, other, back))
            draft.entities[to].relationships.append(.toMany(back, own, name, isOrdered: self.oneIn(2)))
        case 1:
            draft.entities[from].relationships.append(.toMany(name, other, back, isOrdered: self.oneIn(2)))
            draft.entities[to].relationships.append(.toMany(back, own, name, isOrdered: self.oneIn(3)))
        case 2:
            draft.entities[from].relationships.append(.toOne(name, other, back))
            draft.entities[to].relationships.append(.toOne(back, own, name))
        default:
            var oneWay = RelationshipDraft(name: name, destination: other)
            oneWay.isToMany = self.oneIn(2)
            draft.entities[from].relationships.append(oneWay)
        }
    }
}

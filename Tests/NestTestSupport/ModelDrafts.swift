import NestModel

/// Random valid models with every attribute type, kind of relationship and delete rule.
extension SeededRandom {
    public mutating func modelDraft(entities count: Int = 5) -> ModelDraft {
        var draft = ModelDraft(entities: (0..<1 + self.below(count)).map { EntityDraft(name: "E\($0)") })
        for index in draft.entities.indices {
            // A parent may be earlier or later in the list. A later entity has no parent yet, so there is no cycle.
            if index > 0, self.oneIn(3) { draft.entities[index].parent = "E\(self.below(index))" }
            draft.entities[index].isAbstract = self.oneIn(5)
            if self.oneIn(5) { draft.entities[index].renamedFrom = "Old\(index)" }
            for number in 0..<self.below(6) {
                draft.entities[index].attributes.append(self.attributeDraft(name: "e\(index)_a\(number)"))
            }
        }
        for number in 0..<self.below(2 * draft.entities.count + 1) { self.addRelationship(number, to: &draft) }
        for index in draft.entities.indices { self.addIndexes(to: &draft.entities[index]) }
        self.addRoot(to: &draft)
        if self.oneIn(2) { draft.entities.shuffle(using: &self) }
        return draft
    }

    private mutating func attributeDraft(name: String) -> AttributeDraft {
        var attribute = AttributeDraft(name: name, type: self.pick(AttributeType.inRows))
        attribute.isOptional = self.oneIn(2)
        if self.oneIn(6) { attribute.renamedFrom = "was_\(name)" }
        if self.oneIn(2) {
            attribute.defaultValue = self.keptValue(of: attribute.type)
        } else if attribute.type == .date {
            attribute.defaultsToNow = self.oneIn(2)
        }
        if self.oneIn(3) { self.addBounds(to: &attribute) }
        return attribute
    }

    /// Adds bounds that include the default value, if the type has bounds.
    private mutating func addBounds(to attribute: inout AttributeDraft) {
        switch (attribute.type, attribute.defaultValue) {
        case (.boolean, _), (.data, _), (.uuid, _): break
        case (.string, let value), (.uri, let value):
            let length = Int64(value.stringValue?.utf16.count ?? self.below(9))
            if self.oneIn(2) { attribute.minimum = .integer(Int64(self.below(Int(length) + 1))) }
            if self.oneIn(2) { attribute.maximum = .integer(length + Int64(self.below(9))) }
        case (_, .null): if self.oneIn(2) { attribute.minimum = self.keptValue(of: attribute.type) }
        case (_, let value): if self.oneIn(2) { attribute.maximum = value } else { attribute.minimum = value }
        }
    }

    /// Returns a random value of the type in its stored form.
    public mutating func keptValue(of type: AttributeType) -> AttributeValue {
        switch type {
        case .string: .string(self.text(max: 12))
        case .integer: .integer(self.integer())
        case .integer16: .integer(Int64(Int16(truncatingIfNeeded: self.next())))
        case .integer32: .integer(Int64(Int32(truncatingIfNeeded: self.next())))
        case .double: .double(self.oneIn(9) ? .infinity : Double(self.integer()) / 8 + 0)
        case .float: .double(Double(Float(self.integer()) / 8) + 0)
        case .decimal: .string(self.decimalText())
        case .boolean: .boolean(self.oneIn(2))
        case .date: .date(self.oneIn(4) ? self.integer() : Int64(self.below(4_000_000_000)) * 1_000_000)
        case .data: .data(self.bytes(self.below(12)))
        case .largeData, .largeText:
            LargeValue(id: 1 + Int64(self.below(9)), length: self.below(1_000), digest: self.bytes(32)).value
        case .uuid: .uuid(self.identifier())
        case .uri: .string("https://example.org/\(self.below(1_000))?q=%20")
        }
    }

    /// Returns a random decimal number in canonical form.
    public mutating func decimalText() -> String {
        let digits = (0..<1 + self.below(12)).map { _ in "\(self.below(10))" }.joined()
        let point = self.oneIn(2) ? ".\(self.below(100_000))" : ""
        return DecimalText.canonical((self.oneIn(2) ? "-" : "") + digits + point)!
    }

    private mutating func addRelationship(_ number: Int, to draft: inout ModelDraft) {
        let a = self.below(draft.entities.count)
        let b = self.below(draft.entities.count)
        var there = self.relationshipDraft("r\(number)", to: draft.entities[b].name, inverse: "r\(number)_inverse")
        if a == b, self.oneIn(4) {
            // The relationship is its own inverse.
            there.inverse = there.name
            there.isOrdered = false
            draft.entities[a].relationships.append(there)
            return
        }
        let back = self.relationshipDraft("r\(number)_inverse", to: draft.entities[a].name, inverse: there.name)
        // Some relationships are one-way.
        if self.oneIn(5) {
            there.inverse = ""
            draft.entities[a].relationships.append(there)
            return
        }
        draft.entities[a].relationships.append(there)
        draft.entities[b].relationships.append(back)
    }

    private mutating func relationshipDraft(_ name: String, to destination: String, inverse: String)
        -> RelationshipDraft
    {
        var relationship = RelationshipDraft(name: name, destination: destination, inverse: inverse)
        relationship.isToMany = self.oneIn(2)
        relationship.isOrdered = relationship.isToMany && self.oneIn(2)
        relationship.isOptional = !self.oneIn(4)
        relationship.deleteRule = self.pick(DeleteRule.allCases)
        if relationship.isToMany, self.oneIn(4) { relationship.minimumCount = self.below(3) }
        // Without a least count a to-many relationship may be empty, whatever the file says.
        if relationship.isToMany, relationship.minimumCount == 0 { relationship.isOptional = true }
        if relationship.isToMany, self.oneIn(4) { relationship.maximumCount = 3 + self.below(9) }
        if self.oneIn(8) { relationship.renamedFrom = "was_\(name)" }
        return relationship
    }

    private mutating func addIndexes(to entity: inout EntityDraft) {
        let names = entity.attributes.map(\.name) + entity.relationships.filter { !$0.isToMany }.map(\.name)
        guard !names.isEmpty else { return }
        let lists = (0..<self.below(3)).map { _ in Array(names.shuffled(using: &self).prefix(1 + self.below(3))) }
        for list in lists {
            if self.oneIn(2) { entity.uniquenessConstraints.append(list) } else { entity.indexes.append(list) }
        }
        let strings = entity.attributes.filter { $0.type == .string }
        if !strings.isEmpty, self.oneIn(3) { entity.label = self.pick(strings).name }
    }

    /// Gives some entities without parent and subentities a root object.
    private mutating func addRoot(to draft: inout ModelDraft) {
        let parents = Set(draft.entities.compactMap(\.parent))
        for index in draft.entities.indices where self.oneIn(4) {
            let entity = draft.entities[index]
            guard entity.parent == nil, !entity.isAbstract, !parents.contains(entity.name),
                let relationship = entity.relationships.first(where: { !$0.isToMany && $0.destination == entity.name })
            else { continue }
            draft.entities[index].root = (relationship.name, ObjectID(Int64(1 + index)))
            // The store creates the root object, so its attributes must be optional or have a default.
            for attribute in entity.attributes.indices
            where entity.attributes[attribute].type != .string && entity.attributes[attribute].defaultValue.isNull
                && !entity.attributes[attribute].defaultsToNow
            {
                draft.entities[index].attributes[attribute].isOptional = true
            }
        }
    }
}

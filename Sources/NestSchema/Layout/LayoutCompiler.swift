import NestModel

/// The parts of a layout, collected from the model.
struct LayoutParts {
    var entity: EntityDescription
    var isJoin = false
    var name: String
    var slots: [EntityLayout.Slot] = []
    var columnNames: [String] = []
    var properties: [PropertyNumber] = []
    var placedSlots: [Int] = []
    var partnerSlots: [Int] = []
    var toMany: [EntityLayout.ToMany] = []
    var manyToMany: [EntityLayout.ManyToMany] = []
    var kinds: [EntityLayout.Kind] = []
    var uniquenesses: [EntityLayout.Uniqueness] = []
    var indexes: [[Int]] = []
}

/// Compiles the layouts of a model's tables: those of objects by their topmost entities, then those of pairs.
struct LayoutCompiler {
    let model: ManagedObjectModel
    /// By topmost entity: the properties of its table, each with an entity that has it.
    private let stored: [EntityNumber: [(PropertyNumber, EntityDescription)]]
    private let topOf: [EntityNumber: EntityNumber]

    init(_ model: ManagedObjectModel) {
        self.model = model
        var topOf: [EntityNumber: EntityNumber] = [:]
        var kinds: [EntityNumber: [EntityDescription]] = [:]
        for entity in model.entities {
            let top = model.lineage(of: entity.number).last!.number
            topOf[entity.number] = top
            kinds[top, default: []].append(entity)
        }
        self.topOf = topOf
        self.stored = kinds.mapValues(Self.storedProperties)
    }

    func layouts() -> [EntityLayout] {
        let tops = self.model.entities.filter { $0.parent == nil }
        var layouts = tops.map { EntityLayout(self.objects($0)) }
        var names = Set(tops.map { $0.name.lowercased() })
        for join in self.joins() {
            var parts = self.pairs(join)
            while !names.insert(parts.name.lowercased()).inserted { parts.name += "_" }
            layouts.append(EntityLayout(parts))
        }
        return layouts
    }

    // MARK: Tables of objects

    private func objects(_ top: EntityDescription) -> LayoutParts {
        let kinds = self.model.kinds(of: top.number)
        var parts = LayoutParts(entity: top, name: top.name)
        var names: Set<String> = ["id"]
        for (property, owner) in self.stored[top.number]! {
            if let attribute = owner.attribute(property) {
                parts.slots.append(.attribute(attribute))
                parts.partnerSlots.append(-1)
                parts.columnNames.append(Self.columnName(attribute.name, owner, &names))
            } else if let relationship = owner.relationship(property) {
                // A valid model has the inverse: `faults` checks this first.
                let inverse = self.model.inverse(of: relationship)!
                parts.slots.append(.toOne(relationship, place: inverse.isOrdered ? parts.placedSlots.count : nil))
                if inverse.isOrdered { parts.placedSlots.append(parts.slots.count - 1) }
                parts.partnerSlots.append(inverse.isToMany ? -1 : self.slot(inverse.number, relationship.destination))
                parts.columnNames.append(Self.columnName(relationship.name, owner, &names))
            }
            parts.properties.append(property)
        }
        var seen: Set<PropertyNumber> = []
        for kind in kinds {
            for relationship in kind.relationships
            where relationship.isToMany && seen.insert(relationship.number).inserted {
                self.add(relationship, of: kind, to: &parts)
            }
        }
        parts.kinds = kinds.map { self.kind($0, parts) }
        self.addIndexes(kinds, &parts)
        return parts
    }

    /// Returns the stored properties of any of the entities, ascending by number, each with an entity that has it.
    private static func storedProperties(_ kinds: [EntityDescription]) -> [(PropertyNumber, EntityDescription)] {
        var owners: [PropertyNumber: EntityDescription] = [:]
        for kind in kinds {
            for property in kind.storedProperties where owners[property] == nil { owners[property] = kind }
        }
        return owners.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Returns the slot of an entity's property in its table.
    private func slot(_ property: PropertyNumber, _ entity: EntityNumber) -> Int {
        self.stored[self.topOf[entity]!]!.firstIndex { $0.0 == property }!
    }

    /// Returns the index of a property among those of its table with a position.
    private func place(_ property: PropertyNumber, _ entity: EntityNumber) -> Int? {
        let placed = self.stored[self.topOf[entity]!]!.filter { number, owner in
            owner.relationship(number).flatMap { self.model.inverse(of: $0) }?.isOrdered ?? false
        }
        return placed.firstIndex { $0.0 == property }
    }

    /// Returns a distinct name for a column. `id` is the object id; entities below one topmost entity may have
    /// different properties with the same name.
    private static func columnName(_ name: String, _ owner: EntityDescription, _ names: inout Set<String>) -> String {
        if names.insert(name.lowercased()).inserted { return name }
        var name = name.lowercased() == "id" ? "\(name)_" : "\(name)_\(owner.name)"
        while !names.insert(name.lowercased()).inserted { name += "_" }
        return name
    }

    private func add(_ relationship: RelationshipDescription, of owner: EntityDescription, to parts: inout LayoutParts)
    {
        if let join = relationship.join {
            let inverse = self.model.inverse(of: relationship)!
            let isFirst = self.isFirst(relationship, inverse)
            let firstPlace = (isFirst ? relationship : inverse).isOrdered ? 0 : nil
            let secondPlace = (isFirst ? inverse : relationship).isOrdered ? (firstPlace == nil ? 0 : 1) : nil
            parts.manyToMany.append(
                .init(
                    relationship: relationship,
                    destination: relationship.destination,
                    join: join,
                    ownerSlot: isFirst ? 0 : 1,
                    targetSlot: isFirst ? 1 : 0,
                    ownerPlace: isFirst ? firstPlace : secondPlace,
                    isSymmetric: self.isSymmetric(relationship, inverse)
                )
            )
        } else {
            parts.toMany.append(
                .init(
                    relationship: relationship,
                    destination: relationship.destination,
                    inverseSlot: self.slot(relationship.inverse, relationship.destination),
                    inversePlace: self.place(relationship.inverse, relationship.destination)
                )
            )
        }
    }

    private func kind(_ entity: EntityDescription, _ parts: LayoutParts) -> EntityLayout.Kind {
        var slots = SlotSet()
        var required: [Int] = []
        var defaults: [AttributeValue] = []
        var now: [Int] = []
        var sized = 0
        for (slot, property) in parts.properties.enumerated() {
            var value = AttributeValue.null
            if let attribute = entity.attribute(property) {
                slots.insert(slot)
                if !attribute.isOptional { required.append(slot) }
                value = attribute.kept(attribute.defaultValue)
                if attribute.defaultsToNow { now.append(slot) }
                if [.string, .data, .uri].contains(attribute.type) { sized += 1 }
            } else if let relationship = entity.relationship(property) {
                slots.insert(slot)
                if !relationship.isOptional { required.append(slot) }
            }
            defaults.append(value)
        }
        return EntityLayout.Kind(
            entity,
            slots: slots,
            requiredSlots: required,
            labelSlot: entity.labelAttribute.flatMap { parts.properties.firstIndex(of: $0) },
            defaultValues: EncodedValues(defaults),
            nowSlots: now,
            mayBeTooLarge: sized * Limits.valueBytesMax > Limits.objectBytesMax
        )
    }

    private func addIndexes(_ kinds: [EntityDescription], _ parts: inout LayoutParts) {
        var indexes: [[Int]] = []
        for kind in kinds {
            let inherited = kind.parent.flatMap { self.model.entity($0) }
            for properties in kind.uniquenessConstraints
            where !(inherited?.uniquenessConstraints.contains(properties) ?? false) {
                let slots = properties.map { property in parts.properties.firstIndex(of: property)! }
                let entities = kinds.filter { self.model.isKind($0.number, of: kind.number) }
                parts.uniquenesses.append(.init(slots: slots, entities: entities.map(\.number)))
                indexes.append(slots)
            }
            for properties in kind.indexes where !(inherited?.indexes.contains(properties) ?? false) {
                indexes.append(properties.map { property in parts.properties.firstIndex(of: property)! })
            }
        }
        var seen: Set<[Int]> = []
        parts.indexes = indexes.filter { seen.insert($0).inserted }
    }

    // MARK: Tables of pairs

    private struct Join {
        var first: RelationshipDescription
        var firstOwner: EntityDescription
        var second: RelationshipDescription
    }

    /// Returns the entity that declares a relationship: the topmost that has it.
    private func declarer(_ relationship: PropertyNumber, _ entity: EntityNumber) -> EntityDescription {
        self.model.lineage(of: entity).last { $0.relationship(relationship) != nil }!
    }

    private func isSymmetric(_ a: RelationshipDescription, _ b: RelationshipDescription) -> Bool {
        a.number == b.number && a.destination == b.destination
    }

    /// Whether the owner of `a` is first in a pair: the side with the lower numbers, which never change.
    private func isFirst(_ a: RelationshipDescription, _ b: RelationshipDescription) -> Bool {
        if self.isSymmetric(a, b) { return true }
        // The owner of one side is the destination of the other.
        let ownerOfA = self.declarer(a.number, b.destination).number
        let ownerOfB = self.declarer(b.number, a.destination).number
        return (ownerOfA, a.number) < (ownerOfB, b.number)
    }

    private func joins() -> [Join] {
        var joins: [EntityNumber: Join] = [:]
        for entity in self.model.entities {
            for relationship in entity.relationships {
                guard let number = relationship.join, let inverse = self.model.inverse(of: relationship),
                    joins[number] == nil, self.isFirst(relationship, inverse)
                else { continue }
                let owner = self.declarer(relationship.number, entity.number)
                joins[number] = Join(first: relationship, firstOwner: owner, second: inverse)
            }
        }
        return joins.sorted { $0.key < $1.key }.map(\.value)
    }

    private func pairs(_ join: Join) -> LayoutParts {
        let isSymmetric = self.isSymmetric(join.first, join.second)
        let names = [isSymmetric ? "\(join.second.name)_of" : join.second.name, join.first.name]
        let destinations = [join.second.destination, join.first.destination]
        let isOrdered = [join.first.isOrdered, join.second.isOrdered]
        let relationships = (0..<2).map { side in
            RelationshipDescription(
                number: UInt16(side + 1),
                name: names[side],
                destination: destinations[side].rawValue,
                inverse: 0,
                isOptional: false,
                deleteRule: .nullify
            )
        }
        let name = "\(join.firstOwner.name)_\(join.first.name)"
        let entity = EntityDescription(
            number: join.first.join!.rawValue,
            name: name,
            attributes: [],
            relationships: relationships
        )
        var parts = LayoutParts(entity: entity, isJoin: true, name: name)
        parts.properties = [PropertyNumber(1), PropertyNumber(2)]
        parts.partnerSlots = [-1, -1]
        for side in 0..<2 {
            parts.slots.append(.toOne(relationships[side], place: isOrdered[side] ? parts.placedSlots.count : nil))
            if isOrdered[side] { parts.placedSlots.append(side) }
        }
        var used: Set<String> = ["id"]
        parts.columnNames = names.map { Self.columnName($0, join.firstOwner, &used) }
        parts.kinds = [self.kind(entity, parts)]
        return parts
    }
}

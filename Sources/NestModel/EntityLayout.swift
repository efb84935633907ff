/// How the rows of one table are laid out: its stored properties as numbered slots, compiled once from the model so that the
/// row path looks nothing up by name. A class, because it is handed about for every row and holds much.
///
/// A table holds the objects of a topmost entity and of all entities below it, with a slot for each property of any of
/// them; or the pairs of a many-to-many relationship, which are rows with two to-one relationships, so that order, journal
/// and undo treat them as they treat objects.
package final class EntityLayout: Sendable {
    package enum Slot: Sendable {
        case attribute(AttributeDescription)
        /// `place` indexes `ObjectRow.places` when the relationship's other side is ordered.
        case toOne(RelationshipDescription, place: Int?)
    }

    /// A to-many relationship whose other side is to-one, seen from the object that owns it.
    package struct ToMany: Sendable {
        package let relationship: RelationshipDescription
        package let destination: EntityNumber
        /// The slot of the destination's rows that points back.
        package let inverseSlot: Int
        package let inversePlace: Int?
    }

    /// A relationship that is to-many on both sides, seen from the object that owns it.
    package struct ManyToMany: Sendable {
        package let relationship: RelationshipDescription
        package let destination: EntityNumber
        /// The layout of the pairs.
        package let join: EntityNumber
        /// The slots of a pair that hold the owner and the other object.
        package let ownerSlot: Int
        package let targetSlot: Int
        /// The place of `ownerSlot`, when the relationship is ordered.
        package let ownerPlace: Int?
        /// The relationship is its own inverse: each pair is there both ways round.
        package let isSymmetric: Bool
    }

    /// What a slot's column holds: all that reading and writing a row needs to know of it.
    package enum Column: UInt8, Sendable {
        case string, integer, double, boolean, date, data, uuid, reference
    }

    /// One entity of the table. A class, because every row's is looked up and it holds much.
    package final class Kind: Sendable {
        package let number: EntityNumber
        package let entity: EntityDescription
        /// The name in the middle of a sentence.
        package let noun: String
        /// The slots its objects have.
        package let slots: SlotSet
        /// Those of them that may not be null.
        package let requiredSlots: [Int]
        /// The slot of the attribute that names an object to a person.
        package let labelSlot: Int?
        /// By slot: what an insert starts from.
        package let defaultValues: [AttributeValue]
        /// Dates that an insert gets from the clock.
        package let nowSlots: [Int]
        /// Its strings and data together can be over `Limits.objectBytesMax`.
        package let mayBeTooLarge: Bool

        fileprivate init(
            _ entity: EntityDescription,
            slots: SlotSet,
            requiredSlots: [Int],
            labelSlot: Int?,
            defaultValues: [AttributeValue],
            nowSlots: [Int],
            mayBeTooLarge: Bool
        ) {
            self.number = entity.number
            self.entity = entity
            self.noun = entity.name.lowercased()
            self.slots = slots
            self.requiredSlots = requiredSlots
            self.labelSlot = labelSlot
            self.defaultValues = defaultValues
            self.nowSlots = nowSlots
            self.mayBeTooLarge = mayBeTooLarge
        }
    }

    /// Slots whose values together occur once among the objects of some entities.
    package struct Uniqueness: Sendable {
        package let slots: [Int]
        package let entities: [EntityNumber]
    }

    /// The topmost entity.
    package let entity: EntityDescription
    package let number: EntityNumber
    package let isJoin: Bool
    /// The name of its table.
    package let name: String
    package let root: RootDescription?
    /// The entities whose objects the table holds, ascending by number; abstract ones too.
    package let kinds: [Kind]
    private let kindIndexes: [EntityNumber: Int]
    package let slots: [Slot]
    package let columns: [Column]
    /// By slot: the name of its column, distinct whatever the case.
    package let columnNames: [String]
    /// By slot: the index into `ObjectRow.places`, or -1.
    package let placeOfSlot: [Int]
    /// By slot: the slot of the destination's rows that points back, when both sides are to-one; otherwise -1.
    package let partnerSlots: [Int]
    /// The property of each slot, ascending.
    package let properties: [PropertyNumber]
    /// Slots of to-one relationships whose other side is ordered, in the order of `ObjectRow.places`.
    package let placedSlots: [Int]
    package let toMany: [ToMany]
    package let manyToMany: [ManyToMany]
    package let uniquenesses: [Uniqueness]
    /// Slots by which objects are looked up, in lists.
    package let indexes: [[Int]]
    /// More than one entity: rows say which is theirs.
    package var hasKinds: Bool { self.kinds.count > 1 }

    package func slot(of property: PropertyNumber) -> Int? {
        self.properties.firstIndex(of: property)
    }

    package func toMany(_ property: PropertyNumber) -> ToMany? {
        self.toMany.first { $0.relationship.number == property }
    }

    package func manyToMany(_ property: PropertyNumber) -> ManyToMany? {
        self.manyToMany.first { $0.relationship.number == property }
    }

    package func kind(_ entity: EntityNumber) -> Kind {
        if self.kinds.count == 1, self.kinds[0].number == entity { return self.kinds[0] }
        guard let index = self.kindIndexes[entity] else {
            preconditionFailure("the entity \(entity.rawValue) is one of the table \(self.name)")
        }
        return self.kinds[index]
    }

    /// The name of a property of any of the table's entities.
    package func propertyName(_ property: PropertyNumber) -> String? {
        for kind in self.kinds {
            if let name = kind.entity.propertyName(property) { return name }
        }
        return nil
    }

    /// `Item.children`, by the topmost entity that has it, for messages.
    package func relationshipName(_ property: PropertyNumber) -> String {
        let kind = self.kinds.first { $0.entity.relationship(property) != nil }
        return "\(kind?.entity.name ?? self.name).\(self.propertyName(property) ?? "")"
    }

    /// `Item.title`, for messages.
    package func fullName(_ slot: Int, _ entity: EntityNumber) -> String {
        "\(self.kind(entity).entity.name).\(self.propertyName(self.properties[slot]) ?? "")"
    }

    fileprivate init(_ parts: LayoutParts) {
        self.entity = parts.entity
        self.number = parts.entity.number
        self.isJoin = parts.isJoin
        self.name = parts.name
        self.root = parts.entity.root
        self.slots = parts.slots
        self.columns = parts.slots.map(Self.column)
        self.columnNames = parts.columnNames
        self.properties = parts.properties
        self.placedSlots = parts.placedSlots
        self.placeOfSlot = parts.slots.map { slot in
            if case .toOne(_, let place?) = slot { place } else { -1 }
        }
        self.partnerSlots = parts.partnerSlots
        self.toMany = parts.toMany
        self.manyToMany = parts.manyToMany
        self.kinds = parts.kinds
        self.kindIndexes = Dictionary(uniqueKeysWithValues: parts.kinds.enumerated().map { ($1.number, $0) })
        self.uniquenesses = parts.uniquenesses
        self.indexes = parts.indexes
    }

    private static func column(_ slot: Slot) -> Column {
        switch slot {
        case .toOne: .reference
        case .attribute(let attribute):
            switch attribute.type {
            case .string, .decimal, .uri: .string
            case .integer, .integer16, .integer32: .integer
            case .double, .float: .double
            case .boolean: .boolean
            case .date: .date
            case .data: .data
            case .uuid: .uuid
            }
        }
    }
}

/// What a layout is made of, put together from the model.
private struct LayoutParts {
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

/// The layouts of a model's tables.
package final class ModelLayout: Sendable {
    package let model: ManagedObjectModel
    package let modelHash: UInt64
    /// Tables of objects, by the number of their topmost entity; then those of pairs.
    package let entities: [EntityLayout]
    private let indexes: [EntityNumber: Int]
    /// Some to-many relationship has bounds.
    package let hasCounts: Bool
    /// Some rule of the model can be judged only at the end of a request: uniqueness, bounds, one-to-one.
    package let isJudgedLate: Bool

    /// Precondition: `model.faults` is empty.
    package init(_ model: ManagedObjectModel) {
        self.model = model
        self.modelHash = model.hash
        self.entities = LayoutCompiler(model).layouts()
        self.hasCounts = model.entities.contains { entity in
            entity.relationships.contains {
                $0.isToMany && (!$0.isOptional || $0.minimumCount > 0 || $0.maximumCount > 0)
            }
        }
        self.isJudgedLate =
            self.hasCounts
            || self.entities.contains { !$0.uniquenesses.isEmpty || $0.partnerSlots.contains { $0 >= 0 } }
        var indexes: [EntityNumber: Int] = [:]
        for (index, layout) in self.entities.enumerated() {
            for kind in layout.kinds { indexes[kind.entity.number] = index }
        }
        self.indexes = indexes
    }

    /// The place of the table that holds an entity's objects.
    package func index(of entity: EntityNumber) -> Int? { self.indexes[entity] }

    package subscript(_ entity: EntityNumber) -> EntityLayout? {
        self.indexes[entity].map { self.entities[$0] }
    }
}

private struct LayoutCompiler {
    let model: ManagedObjectModel
    /// By topmost entity: its table's properties, each with an entity that has it.
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
                // A sound model has the inverse: checked by `faults` before a layout is made.
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

    /// The stored properties of any of the entities, ascending by number, each with an entity that has it.
    private static func storedProperties(_ kinds: [EntityDescription]) -> [(PropertyNumber, EntityDescription)] {
        var owners: [PropertyNumber: EntityDescription] = [:]
        for kind in kinds {
            for property in kind.storedProperties where owners[property] == nil { owners[property] = kind }
        }
        return owners.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The slot that a property of an entity has in its table.
    private func slot(_ property: PropertyNumber, _ entity: EntityNumber) -> Int {
        self.stored[self.topOf[entity]!]!.firstIndex { $0.0 == property }!
    }

    /// The place that a slot of a table has among those with an order.
    private func place(_ property: PropertyNumber, _ entity: EntityNumber) -> Int? {
        let placed = self.stored[self.topOf[entity]!]!.filter { number, owner in
            owner.relationship(number).flatMap { self.model.inverse(of: $0) }?.isOrdered ?? false
        }
        return placed.firstIndex { $0.0 == property }
    }

    /// `id` is the object id; entities below one topmost may have different properties of one name.
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
            defaultValues: defaults,
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

    /// The entity that declares a relationship: the topmost that has it.
    private func declarer(_ relationship: PropertyNumber, _ entity: EntityNumber) -> EntityDescription {
        self.model.lineage(of: entity).last { $0.relationship(relationship) != nil }!
    }

    private func isSymmetric(_ a: RelationshipDescription, _ b: RelationshipDescription) -> Bool {
        a.number == b.number && a.destination == b.destination
    }

    /// Which side's owner stands first in a pair: that of the lower numbers, which never change.
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

import NestModel

/// The layout of one table's rows: the stored properties as numbered slots, compiled once from the model so that
/// reading and writing rows looks up no names. A class, because it is large and passed around for every row.
///
/// A table contains the objects of a topmost entity and of all entities below it, with a slot for each property of any
/// of them; or the pairs of a many-to-many relationship. Pairs are rows with two to-one relationships, so that order,
/// journal and undo treat them like objects.
package final class EntityLayout: Sendable {
    package enum Slot: Sendable {
        case attribute(AttributeDescription)
        /// `place` is the index in `ObjectRow.places` if the inverse is ordered.
        case toOne(RelationshipDescription, place: Int?)
    }

    /// A to-many relationship with a to-one inverse, seen from its owner.
    package struct ToMany: Sendable {
        package let relationship: RelationshipDescription
        package let destination: EntityNumber
        /// The slot of the destination's rows that refers back.
        package let inverseSlot: Int
        package let inversePlace: Int?
    }

    /// A many-to-many relationship, seen from its owner.
    package struct ManyToMany: Sendable {
        package let relationship: RelationshipDescription
        package let destination: EntityNumber
        /// The layout of the pairs.
        package let join: EntityNumber
        /// The slots of a pair with the owner and the other object.
        package let ownerSlot: Int
        package let targetSlot: Int
        /// The index of `ownerSlot`'s position, if the relationship is ordered.
        package let ownerPlace: Int?
        /// Whether the relationship is its own inverse: each pair is stored in both directions.
        package let isSymmetric: Bool
    }

    /// The type of a slot's column: all that reading and writing a row needs.
    package enum Column: UInt8, Sendable {
        case string, integer, double, boolean, date, data, uuid, reference
    }

    /// One entity of the table. A class, because it is large and looked up for every row.
    package final class Kind: Sendable {
        package let number: EntityNumber
        package let entity: EntityDescription
        /// The name for the middle of a sentence.
        package let noun: String
        /// The name of a transaction that inserts an object without a label.
        package let nameOfInsert: String
        /// The slots of its objects.
        package let slots: SlotSet
        /// The slots that may not be null.
        package let requiredSlots: [Int]
        /// The slot of the attribute that names an object for people.
        package let labelSlot: Int?
        /// The initial values of an insert, by slot.
        package let defaultValues: EncodedValues
        /// The slots of dates that an insert sets to the current time.
        package let nowSlots: [Int]
        /// Whether an object's strings and data can exceed `Limits.objectBytesMax`.
        package let mayBeTooLarge: Bool

        init(
            _ entity: EntityDescription,
            slots: SlotSet,
            requiredSlots: [Int],
            labelSlot: Int?,
            defaultValues: EncodedValues,
            nowSlots: [Int],
            mayBeTooLarge: Bool
        ) {
            self.number = entity.number
            self.entity = entity
            let noun = entity.name.lowercased()
            self.noun = noun
            self.nameOfInsert = "add \(noun)"
            self.slots = slots
            self.requiredSlots = requiredSlots
            self.labelSlot = labelSlot
            self.defaultValues = defaultValues
            self.nowSlots = nowSlots
            self.mayBeTooLarge = mayBeTooLarge
        }
    }

    /// Slots whose combined values are unique among the objects of some entities.
    package struct Uniqueness: Sendable {
        package let slots: [Int]
        package let entities: [EntityNumber]
    }

    /// In a projection: the object's own entity, an integer.
    package static let entitySlot = -1
    /// Returns the slot of a column of the request in a projection.
    package static func columnSlot(_ column: Int) -> Int { -2 - column }
    /// Returns the column of a slot in a projection.
    package static func column(ofSlot slot: Int) -> Int? { slot <= -2 ? -2 - slot : nil }

    /// The topmost entity.
    package let entity: EntityDescription
    package let number: EntityNumber
    package let isJoin: Bool
    /// The name of its table.
    package let name: String
    package let root: RootDescription?
    /// The entities of the table's objects, ascending by number, abstract ones included.
    package let kinds: [Kind]
    private let kindIndexes: [EntityNumber: Int]
    package let slots: [Slot]
    package let columns: [Column]
    /// The slots of large values.
    package let largeSlots: [Int]
    /// By slot: whether every value of the column's type may be stored as it is, if it is not too large. Otherwise the
    /// attribute's description decides.
    package let isPlain: [Bool]
    /// By slot: the regular expression that a text must match. Faults of the model are refused before it has a layout.
    private let patterns: [AttributePattern?]
    /// By slot: the entity that a to-one relationship refers to.
    package let destinations: [EntityNumber?]
    /// The name of each slot's column. Names are distinct, ignoring case.
    package let columnNames: [String]
    /// By slot: the index in `ObjectRow.places`, or -1.
    package let placeOfSlot: [Int]
    /// By slot: the slot of the destination's rows that refers back, if both sides are to-one; otherwise -1.
    package let partnerSlots: [Int]
    /// The property of each slot, ascending.
    package let properties: [PropertyNumber]
    /// The slots of to-one relationships with an ordered inverse, in the order of `ObjectRow.places`.
    package let placedSlots: [Int]
    package let toMany: [ToMany]
    package let manyToMany: [ManyToMany]
    package let uniquenesses: [Uniqueness]
    /// The lists of slots that are indexed.
    package let indexes: [[Int]]
    /// Whether there are several entities: each row then stores its own.
    package var hasKinds: Bool { self.kinds.count > 1 }

    /// Returns why a value that is right otherwise does not match the regular expression of its attribute, in words
    /// that follow the attribute's name; `nil` if it does, or if there is none.
    package func patternFault(_ slot: Int, _ value: AttributeValue) -> (reason: ValidationFault.Reason, text: String)? {
        self.patterns[slot]?.fault(value)
    }

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

    /// Returns the name of a property of any of the table's entities.
    package func propertyName(_ property: PropertyNumber) -> String? {
        for kind in self.kinds {
            if let name = kind.entity.propertyName(property) { return name }
        }
        return nil
    }

    /// Returns `Item.children`, with the first entity that has it, for messages.
    package func relationshipName(_ property: PropertyNumber) -> String {
        let kind = self.kinds.first { $0.entity.relationship(property) != nil }
        return "\(kind?.entity.name ?? self.name).\(self.propertyName(property) ?? "")"
    }

    /// Returns `Item.title`, for messages.
    package func fullName(_ slot: Int, _ entity: EntityNumber) -> String {
        "\(self.kind(entity).entity.name).\(self.propertyName(self.properties[slot]) ?? "")"
    }

    init(_ parts: LayoutParts) {
        self.entity = parts.entity
        self.number = parts.entity.number
        self.isJoin = parts.isJoin
        self.name = parts.name
        self.root = parts.entity.root
        self.slots = parts.slots
        self.columns = parts.slots.map(Self.column)
        self.isPlain = parts.slots.map { slot in
            if case .attribute(let attribute) = slot { attribute.isPlain } else { false }
        }
        self.largeSlots = parts.slots.indices.filter { slot in
            if case .attribute(let attribute) = parts.slots[slot] { attribute.type.isLarge } else { false }
        }
        self.patterns = parts.slots.map { slot in
            guard case .attribute(let attribute) = slot else { return nil }
            return attribute.pattern.flatMap { AttributePattern($0) }
        }
        self.destinations = parts.slots.map { slot in
            if case .toOne(let relationship, _) = slot { relationship.destination } else { nil }
        }
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
            case .data, .largeData, .largeText: .data
            case .uuid: .uuid
            }
        }
    }
}

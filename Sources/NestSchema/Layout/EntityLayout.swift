import NestModel

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

        init(
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

    /// Stands in a projection for the object's own entity, an integer.
    package static let entitySlot = -1
    /// Stands for a column of the request.
    package static func columnSlot(_ column: Int) -> Int { -2 - column }
    /// The column that a slot of a projection stands for.
    package static func column(ofSlot slot: Int) -> Int? { slot <= -2 ? -2 - slot : nil }

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

    init(_ parts: LayoutParts) {
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

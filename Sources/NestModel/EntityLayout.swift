/// How rows of an entity are laid out: its stored properties as numbered slots, compiled once from the model so that the
/// row path looks nothing up by name. A class, because it is handed about for every row and holds much.
package final class EntityLayout: Sendable {
    package enum Slot: Sendable {
        case attribute(AttributeDescription)
        /// `place` indexes `ObjectRow.places` when the relationship's other side is ordered.
        case toOne(RelationshipDescription, place: Int?)
    }

    /// A to-many relationship, seen from the object that owns it.
    package struct ToMany: Sendable {
        package let relationship: RelationshipDescription
        package let destination: EntityNumber
        /// The slot of the destination's rows that points back.
        package let inverseSlot: Int
        package let inversePlace: Int?
    }

    /// What a slot's column holds: all that reading and writing a row needs to know of it.
    package enum Column: UInt8, Sendable {
        case string, integer, double, boolean, date, data, uuid, reference
    }

    package let entity: EntityDescription
    package let number: EntityNumber
    package let name: String
    /// The name in the middle of a sentence.
    package let noun: String
    package let root: RootDescription?
    package let slots: [Slot]
    package let columns: [Column]
    /// By slot: the index into `ObjectRow.places`, or -1.
    package let placeOfSlot: [Int]
    /// By slot: what an insert starts from.
    package let defaultValues: [AttributeValue]
    /// The property of each slot, ascending.
    package let properties: [PropertyNumber]
    /// Slots of to-one relationships whose other side is ordered, in the order of `ObjectRow.places`.
    package let placedSlots: [Int]
    package let toMany: [ToMany]
    /// The slot of the attribute that names an object to a person.
    package let labelSlot: Int?

    package func slot(of property: PropertyNumber) -> Int? {
        self.properties.firstIndex(of: property)
    }

    package func toMany(_ property: PropertyNumber) -> ToMany? {
        self.toMany.first { $0.relationship.number == property }
    }

    fileprivate init(_ entity: EntityDescription, in model: ManagedObjectModel) {
        self.entity = entity
        self.number = entity.number
        self.name = entity.name
        self.noun = entity.name.lowercased()
        self.root = entity.root
        let (slots, placed) = Self.slots(of: entity, in: model)
        self.slots = slots
        self.columns = slots.map { slot in
            switch slot {
            case .toOne: .reference
            case .attribute(let attribute):
                switch attribute.type {
                case .string: .string
                case .integer: .integer
                case .double: .double
                case .boolean: .boolean
                case .date: .date
                case .data: .data
                case .uuid: .uuid
                }
            }
        }
        self.defaultValues = slots.map { slot in
            if case .attribute(let attribute) = slot { attribute.defaultValue } else { .null }
        }
        self.placeOfSlot = slots.map { slot in
            if case .toOne(_, let place?) = slot { place } else { -1 }
        }
        self.placedSlots = placed
        let properties = entity.storedProperties
        self.properties = properties
        self.labelSlot = entity.labelAttribute.flatMap { properties.firstIndex(of: $0) }
        self.toMany = entity.relationships.filter(\.isToMany).map { relationship in
            // A sound model has both: checked by `faults` before a layout is made.
            let destination = model.entity(relationship.destination)!
            let inverseSlot = destination.storedProperties.firstIndex(of: relationship.inverse)!
            let (_, placed) = Self.slots(of: destination, in: model)
            return ToMany(
                relationship: relationship,
                destination: destination.number,
                inverseSlot: inverseSlot,
                inversePlace: placed.firstIndex(of: inverseSlot)
            )
        }
    }

    private static func slots(of entity: EntityDescription, in model: ManagedObjectModel) -> ([Slot], [Int]) {
        var slots: [Slot] = []
        var placed: [Int] = []
        for property in entity.storedProperties {
            if let attribute = entity.attribute(property) {
                slots.append(.attribute(attribute))
            } else if let relationship = entity.relationship(property) {
                let isPlaced = model.inverse(of: relationship)?.isOrdered ?? false
                slots.append(.toOne(relationship, place: isPlaced ? placed.count : nil))
                if isPlaced { placed.append(slots.count - 1) }
            }
        }
        return (slots, placed)
    }
}

/// The layouts of a model's entities.
package final class ModelLayout: Sendable {
    package let model: ManagedObjectModel
    package let modelHash: UInt64
    package let entities: [EntityLayout]
    private let indexes: [EntityNumber: Int]

    /// Precondition: `model.faults` is empty.
    package init(_ model: ManagedObjectModel) {
        self.model = model
        self.modelHash = model.hash
        self.entities = model.entities.map { EntityLayout($0, in: model) }
        self.indexes = Dictionary(uniqueKeysWithValues: self.entities.enumerated().map { ($1.entity.number, $0) })
    }

    package func index(of entity: EntityNumber) -> Int? { self.indexes[entity] }

    package subscript(_ entity: EntityNumber) -> EntityLayout? {
        self.indexes[entity].map { self.entities[$0] }
    }
}

/// Numbers an entity for as long as a store lives; never reused, so journals and frames can name it.
public struct EntityNumber: Hashable, Comparable, Sendable {
    public let rawValue: UInt16

    public init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }

    public static func < (a: EntityNumber, b: EntityNumber) -> Bool { a.rawValue < b.rawValue }
}

/// Numbers an attribute or relationship within its entity; never reused.
public struct PropertyNumber: Hashable, Comparable, Sendable {
    public let rawValue: UInt16

    public init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }

    public static func < (a: PropertyNumber, b: PropertyNumber) -> Bool { a.rawValue < b.rawValue }
}

public enum AttributeType: UInt8, Sendable, CaseIterable {
    case string = 1
    case integer = 2
    case double = 3
    case boolean = 4
    case date = 5
    case data = 6
    case uuid = 7

    public func admits(_ value: AttributeValue) -> Bool {
        switch (self, value) {
        case (.string, .string), (.integer, .integer), (.double, .double), (.boolean, .boolean), (.date, .date),
            (.data, .data), (.uuid, .uuid):
            true
        default:
            false
        }
    }
}

public struct AttributeDescription: Hashable, Sendable {
    public let number: PropertyNumber
    public let name: String
    public let type: AttributeType
    public let isOptional: Bool
    /// The value an insert gets that does not say one.
    public let defaultValue: AttributeValue

    public init(
        number: UInt16,
        name: String,
        type: AttributeType,
        isOptional: Bool = false,
        defaultValue: AttributeValue = .null
    ) {
        self.number = PropertyNumber(number)
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.defaultValue = defaultValue
    }
}

/// What happens to the objects at the other end of a relationship when an object is deleted.
public enum DeleteRule: UInt8, Sendable, CaseIterable {
    case nullify = 1
    case cascade = 2
    case deny = 3
}

public struct RelationshipDescription: Hashable, Sendable {
    public let number: PropertyNumber
    public let name: String
    public let destination: EntityNumber
    /// The relationship of the destination that leads back. Setting one side sets the other.
    public let inverse: PropertyNumber
    public let isToMany: Bool
    /// A to-many relationship whose objects have places 0..<n.
    public let isOrdered: Bool
    public let isOptional: Bool
    public let deleteRule: DeleteRule

    public init(
        number: UInt16,
        name: String,
        destination: UInt16,
        inverse: UInt16,
        isToMany: Bool = false,
        isOrdered: Bool = false,
        isOptional: Bool = true,
        deleteRule: DeleteRule
    ) {
        self.number = PropertyNumber(number)
        self.name = name
        self.destination = EntityNumber(destination)
        self.inverse = PropertyNumber(inverse)
        self.isToMany = isToMany
        self.isOrdered = isOrdered
        self.isOptional = isOptional
        self.deleteRule = deleteRule
    }
}

/// The object under which everything of its entity hangs: it exists in a new store, cannot be deleted or moved, and
/// takes what is inserted without an owner.
public struct RootDescription: Hashable, Sendable {
    public let object: ObjectID
    /// The to-one relationship by which others hang under it.
    public let relationship: PropertyNumber

    public init(object: ObjectID, relationship: PropertyNumber) {
        self.object = object
        self.relationship = relationship
    }
}

public struct EntityDescription: Hashable, Sendable {
    public let number: EntityNumber
    public let name: String
    /// Ascending by number.
    public let attributes: [AttributeDescription]
    /// Ascending by number.
    public let relationships: [RelationshipDescription]
    public let root: RootDescription?

    public init(
        number: UInt16,
        name: String,
        attributes: [AttributeDescription],
        relationships: [RelationshipDescription],
        root: RootDescription? = nil
    ) {
        self.number = EntityNumber(number)
        self.name = name
        self.attributes = attributes.sorted { $0.number < $1.number }
        self.relationships = relationships.sorted { $0.number < $1.number }
        self.root = root
    }

    public func attribute(_ number: PropertyNumber) -> AttributeDescription? {
        self.attributes.first { $0.number == number }
    }

    public func relationship(_ number: PropertyNumber) -> RelationshipDescription? {
        self.relationships.first { $0.number == number }
    }

    /// The attribute or relationship of this name.
    public func propertyNumber(named name: String) -> PropertyNumber? {
        self.attributes.first { $0.name.hasSameBytes(as: name) }?.number
            ?? self.relationships.first { $0.name.hasSameBytes(as: name) }?.number
    }

    public func propertyName(_ number: PropertyNumber) -> String? {
        self.attribute(number)?.name ?? self.relationship(number)?.name
    }

    /// What a row can hold: attributes and to-one relationships, ascending by number.
    public var storedProperties: [PropertyNumber] {
        (self.attributes.map(\.number) + self.relationships.filter { !$0.isToMany }.map(\.number)).sorted()
    }

    /// The attribute that names an object to a person: `title`, else `name`, else the first string.
    public var labelAttribute: PropertyNumber? {
        let strings = self.attributes.filter { $0.type == .string }
        return (strings.first { $0.name == "title" } ?? strings.first { $0.name == "name" } ?? strings.first)?.number
    }
}

/// The schema of a store: its entities, each with attributes and relationships.
public struct ManagedObjectModel: Hashable, Sendable {
    /// Ascending by number.
    public let entities: [EntityDescription]

    public init(entities: [EntityDescription]) {
        self.entities = entities.sorted { $0.number < $1.number }
    }

    public func entity(_ number: EntityNumber) -> EntityDescription? {
        self.entities.first { $0.number == number }
    }

    public func entity(named name: String) -> EntityDescription? {
        self.entities.first { $0.name.hasSameBytes(as: name) }
    }

    /// The relationship at the other end.
    public func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
        self.entity(relationship.destination)?.relationship(relationship.inverse)
    }

    /// FNV-1a (64 bits) of the byte form: two models with the same hash are the same to a client.
    public var hash: UInt64 {
        var writer = ByteWriter()
        writer.write(model: self)
        return fnv1a(writer.bytes)
    }
}

/// The 64-bit FNV-1a hash (Fowler, Noll, Vo).
public func fnv1a(_ bytes: some Sequence<UInt8>, seed: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
    var hash = seed
    for byte in bytes {
        hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3
    }
    return hash
}

/// The number of an entity, which it keeps while the store exists. Never reused, so journals and frames can use it.
public struct EntityNumber: Hashable, Comparable, Sendable {
    public let rawValue: UInt16

    public init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }

    public static func < (a: EntityNumber, b: EntityNumber) -> Bool { a.rawValue < b.rawValue }
}

/// The number of an attribute or relationship within its entity; never reused.
public struct PropertyNumber: Hashable, Comparable, Sendable {
    public let rawValue: UInt16

    public init(_ rawValue: UInt16) {
        self.rawValue = rawValue
    }

    public static func < (a: PropertyNumber, b: PropertyNumber) -> Bool { a.rawValue < b.rawValue }
}

/// What deleting an object does to the objects at the other end of a relationship.
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
    /// Whether the objects of a to-many relationship have positions 0..<n.
    public let isOrdered: Bool
    /// If false, a to-one relationship must have a destination, a to-many relationship `minimumCount` objects. Always
    /// true for a to-many relationship without `minimumCount`, which may be empty, as in Core Data.
    public let isOptional: Bool
    public let deleteRule: DeleteRule
    /// The least and greatest number of objects of a to-many relationship; 0 is no bound. An optional relationship may
    /// always be empty.
    public let minimumCount: Int
    public let maximumCount: Int
    /// The entity number under which a many-to-many relationship stores and journals its pairs; the same on both sides.
    public let join: EntityNumber?
    /// The relationship's name in an earlier version of the model. Clients do not see it.
    public let renamedFrom: String?

    public init(
        number: UInt16,
        name: String,
        destination: UInt16,
        inverse: UInt16,
        isToMany: Bool = false,
        isOrdered: Bool = false,
        isOptional: Bool = true,
        deleteRule: DeleteRule,
        minimumCount: Int = 0,
        maximumCount: Int = 0,
        join: UInt16? = nil,
        renamedFrom: String? = nil
    ) {
        self.number = PropertyNumber(number)
        self.name = name
        self.destination = EntityNumber(destination)
        self.inverse = PropertyNumber(inverse)
        self.isToMany = isToMany
        self.isOrdered = isOrdered
        self.isOptional = isOptional || isToMany && minimumCount == 0
        self.deleteRule = deleteRule
        self.minimumCount = minimumCount
        self.maximumCount = maximumCount
        self.join = join.map(EntityNumber.init)
        self.renamedFrom = renamedFrom
    }

    /// Whether the relationship may have `count` objects.
    public func admits(count: Int) -> Bool {
        if self.maximumCount > 0, count > self.maximumCount { return false }
        return count == 0 ? self.isOptional : count >= self.minimumCount
    }
}

/// The object at the top of its entity's tree. It exists in a new store, cannot be deleted or moved, and owns objects
/// that are inserted without an owner.
public struct RootDescription: Hashable, Sendable {
    public let object: ObjectID
    /// The to-one relationship by which other objects refer to their owner.
    public let relationship: PropertyNumber

    public init(object: ObjectID, relationship: PropertyNumber) {
        self.object = object
        self.relationship = relationship
    }
}

/// An entity with all properties of its objects, inherited ones included.
public struct EntityDescription: Hashable, Sendable {
    public let number: EntityNumber
    public let name: String
    /// The parent entity. A fetch of the parent finds objects of this entity too.
    public let parent: EntityNumber?
    /// Whether the entity has no objects of its own, only those of the entities below it.
    public let isAbstract: Bool
    /// Ascending by number.
    public private(set) var attributes: [AttributeDescription]
    /// Ascending by number.
    public let relationships: [RelationshipDescription]
    /// Sets of properties whose combined values are unique; a null is equal to nothing.
    public let uniquenessConstraints: [[PropertyNumber]]
    /// The property lists of the indexes.
    public let indexes: [[PropertyNumber]]
    /// The attribute that names an object for people, if the model specifies one.
    public let label: PropertyNumber?
    public let root: RootDescription?
    /// The entity's name in an earlier version of the model. Clients do not see it.
    public let renamedFrom: String?

    public init(
        number: UInt16,
        name: String,
        parent: UInt16? = nil,
        isAbstract: Bool = false,
        attributes: [AttributeDescription],
        relationships: [RelationshipDescription],
        uniquenessConstraints: [[UInt16]] = [],
        indexes: [[UInt16]] = [],
        label: UInt16? = nil,
        root: RootDescription? = nil,
        renamedFrom: String? = nil
    ) {
        self.number = EntityNumber(number)
        self.name = name
        self.parent = parent.map(EntityNumber.init)
        self.isAbstract = isAbstract
        self.attributes = attributes.sorted { $0.number < $1.number }
        self.relationships = relationships.sorted { $0.number < $1.number }
        self.uniquenessConstraints = uniquenessConstraints.map { $0.map(PropertyNumber.init) }
        self.indexes = indexes.map { $0.map(PropertyNumber.init) }
        self.label = label.map(PropertyNumber.init)
        self.root = root
        self.renamedFrom = renamedFrom
    }

    /// Sets the regular expression of an attribute, if the entity has it.
    mutating func setPattern(_ pattern: String, of attribute: PropertyNumber) {
        guard let index = self.attributes.firstIndex(where: { $0.number == attribute }) else { return }
        self.attributes[index].pattern = pattern
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

    /// The properties that a row can hold: attributes and to-one relationships, ascending by number.
    public var storedProperties: [PropertyNumber] {
        (self.attributes.map(\.number) + self.relationships.filter { !$0.isToMany }.map(\.number)).sorted()
    }

    /// The attribute that names an object for people: the model's label, else `title`, else `name`, else the first
    /// string.
    public var labelAttribute: PropertyNumber? {
        if let label = self.label { return label }
        let strings = self.attributes.filter { $0.type == .string }
        return (strings.first { $0.name == "title" } ?? strings.first { $0.name == "name" } ?? strings.first)?.number
    }
}

/// The schema of a store: its entities, each with attributes and relationships.
public struct ManagedObjectModel: Hashable, Sendable {
    /// Ascending by number.
    public let entities: [EntityDescription]
    /// The requests that the model names, ascending by name.
    public let requests: [RequestDescription]

    public init(entities: [EntityDescription], requests: [RequestDescription] = []) {
        self.entities = entities.sorted { $0.number < $1.number }
        self.requests = requests.sorted { $0.name < $1.name }
    }

    /// The regular expressions of its attributes: the entity that has it, inherited ones too, the attribute, and the
    /// expression.
    package var patterns: [(entity: EntityNumber, attribute: PropertyNumber, pattern: String)] {
        self.entities.flatMap { entity in
            entity.attributes.compactMap { attribute in
                attribute.pattern.map { (entity.number, attribute.number, $0) }
            }
        }
    }

    /// O(log n).
    public func entity(_ number: EntityNumber) -> EntityDescription? {
        var low = 0
        var high = self.entities.count
        while low < high {
            let middle = (low + high) / 2
            if self.entities[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < self.entities.count && self.entities[low].number == number ? self.entities[low] : nil
    }

    public func entity(named name: String) -> EntityDescription? {
        self.entities.first { $0.name.hasSameBytes(as: name) }
    }

    /// Whether objects of an entity are objects of `ancestor`: whether the entity is `ancestor` or below it.
    public func isKind(_ number: EntityNumber, of ancestor: EntityNumber) -> Bool {
        self.lineage(of: number).contains { $0.number == ancestor }
    }

    /// Returns an entity, its parent, and so on to the top.
    public func lineage(of number: EntityNumber) -> [EntityDescription] {
        var lineage: [EntityDescription] = []
        var next = self.entity(number)
        // The parents of an invalid model may form a cycle.
        while let entity = next, lineage.count <= self.entities.count {
            lineage.append(entity)
            next = entity.parent.flatMap { self.entity($0) }
        }
        return lineage
    }

    /// Returns the entities whose objects a fetch of this one finds: itself and all below it, ascending by number.
    public func kinds(of number: EntityNumber) -> [EntityDescription] {
        self.entities.filter { self.isKind($0.number, of: number) }
    }

    /// Returns the inverse relationship.
    public func inverse(of relationship: RelationshipDescription) -> RelationshipDescription? {
        self.entity(relationship.destination)?.relationship(relationship.inverse)
    }

    /// FNV-1a (64 bits) of the byte form. Models with the same hash are the same to a client.
    public var hash: UInt64 {
        var writer = ByteWriter()
        writer.write(model: self)
        return fnv1a(writer.bytes)
    }
}

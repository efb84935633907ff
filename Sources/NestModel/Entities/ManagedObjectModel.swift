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
    /// One that is not: a to-one must lead somewhere, a to-many to one object at least.
    public let isOptional: Bool
    public let deleteRule: DeleteRule
    /// Bounds of how many objects a to-many relationship leads to; 0 is no bound. Of an optional one, none is always
    /// enough.
    public let minimumCount: Int
    public let maximumCount: Int
    /// Many-to-many: the number under which the pairs of the two sides are kept and journalled. The same on both sides.
    public let join: EntityNumber?
    /// The name it had in an earlier version of the model. No part of the model that clients see.
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
        self.isOptional = isOptional
        self.deleteRule = deleteRule
        self.minimumCount = minimumCount
        self.maximumCount = maximumCount
        self.join = join.map(EntityNumber.init)
        self.renamedFrom = renamedFrom
    }

    /// Whether so many objects may be at its other end.
    public func admits(count: Int) -> Bool {
        if self.maximumCount > 0, count > self.maximumCount { return false }
        return count == 0 ? self.isOptional : count >= self.minimumCount
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

/// An entity with everything its objects have, what it inherits included.
public struct EntityDescription: Hashable, Sendable {
    public let number: EntityNumber
    public let name: String
    /// The entity it is a kind of: a fetch of that one finds its objects too.
    public let parent: EntityNumber?
    /// There are objects of the entities below it only.
    public let isAbstract: Bool
    /// Ascending by number.
    public let attributes: [AttributeDescription]
    /// Ascending by number.
    public let relationships: [RelationshipDescription]
    /// Properties whose values together occur once; a null among them is equal to nothing.
    public let uniquenessConstraints: [[PropertyNumber]]
    /// Properties by which objects are looked up.
    public let indexes: [[PropertyNumber]]
    /// The attribute that names an object to a person, when the model says it.
    public let label: PropertyNumber?
    public let root: RootDescription?
    /// The name it had in an earlier version of the model. No part of the model that clients see.
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

    /// The attribute that names an object to a person: the model's label, else `title`, else `name`, else the first string.
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

    public init(entities: [EntityDescription]) {
        self.entities = entities.sorted { $0.number < $1.number }
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

    /// Whether objects of an entity are objects of `ancestor`: it is that entity or one below it.
    public func isKind(_ number: EntityNumber, of ancestor: EntityNumber) -> Bool {
        self.lineage(of: number).contains { $0.number == ancestor }
    }

    /// An entity, its parent, and so on to the top.
    public func lineage(of number: EntityNumber) -> [EntityDescription] {
        var lineage: [EntityDescription] = []
        var next = self.entity(number)
        // A model that is not sound may go in a circle.
        while let entity = next, lineage.count <= self.entities.count {
            lineage.append(entity)
            next = entity.parent.flatMap { self.entity($0) }
        }
        return lineage
    }

    /// The entities whose objects a fetch of this one finds: itself and all below it, ascending by number.
    public func kinds(of number: EntityNumber) -> [EntityDescription] {
        self.entities.filter { self.isKind($0.number, of: number) }
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

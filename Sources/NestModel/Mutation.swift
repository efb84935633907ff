/// Where an object stands in an ordered relationship.
public enum Place: Hashable, Sendable {
    case last
    case first
    case before(ObjectReference)
    case after(ObjectReference)
    /// The final index, 0...n (0..<n for a move inside the same list). Beyond the end is refused with the count.
    case at(Int)
}

/// A place under an owner: `relationship` is the to-one side that the placed object holds.
public struct Placement: Hashable, Sendable {
    public var relationship: PropertyNumber
    public var owner: ObjectReference
    public var place: Place

    public init(relationship: PropertyNumber, owner: ObjectReference, place: Place) {
        self.relationship = relationship
        self.owner = owner
        self.place = place
    }
}

/// What a request sets an attribute or to-one relationship to.
public enum MutationValue: Hashable, Sendable {
    case value(AttributeValue)
    /// An object of the same transaction or an existing one. In an ordered relationship: as its last.
    case reference(ObjectReference)
}

public struct PropertyAssignment: Hashable, Sendable {
    public var property: PropertyNumber
    public var value: MutationValue

    public init(_ property: PropertyNumber, _ value: MutationValue) {
        self.property = property
        self.value = value
    }
}

/// One step of a transaction.
public enum Mutation: Hashable, Sendable {
    case insert(entity: EntityNumber, values: [PropertyAssignment], placements: [Placement])
    case update(ObjectReference, values: [PropertyAssignment])
    case move(ObjectReference, Placement)
    /// With everything its delete rules reach.
    case delete(ObjectReference)
}

/// "This object has not changed since `revision`": otherwise the transaction is refused with `conflict`.
public struct Precondition: Hashable, Sendable {
    public var object: ObjectID
    public var revision: Revision

    public init(object: ObjectID, revision: Revision) {
        self.object = object
        self.revision = revision
    }
}

/// Mutations that happen together or not at all, as one undo entry.
public struct Transaction: Hashable, Sendable {
    /// The undo entry's name; made from the mutations when `nil`.
    public var name: String?
    /// A repeated key of the same session is answered with the first answer and does nothing.
    public var key: Identifier128?
    public var preconditions: [Precondition]
    public var mutations: [Mutation]

    public init(
        name: String? = nil,
        key: Identifier128? = nil,
        preconditions: [Precondition] = [],
        mutations: [Mutation]
    ) {
        self.name = name
        self.key = key
        self.preconditions = preconditions
        self.mutations = mutations
    }
}

/// What a committed write answers with.
public struct Receipt: Hashable, Sendable {
    /// The revision the write became, or the one it was answered at when it changed nothing.
    public var revision: Revision
    public var isChanged: Bool
    /// The answer is that of an earlier request with the same idempotency key.
    public var isReplayed: Bool
    /// Ids of the inserted objects: `insertedCount` numbers from `firstInserted`, in the order of the request.
    public var firstInserted: ObjectID?
    public var insertedCount: Int
    /// The name of the undo entry (of what was undone or redone, for `undo` and `redo`).
    public var name: String

    public init(
        revision: Revision,
        isChanged: Bool,
        isReplayed: Bool = false,
        firstInserted: ObjectID? = nil,
        insertedCount: Int = 0,
        name: String = ""
    ) {
        self.revision = revision
        self.isChanged = isChanged
        self.isReplayed = isReplayed
        self.firstInserted = firstInserted
        self.insertedCount = insertedCount
        self.name = name
    }

    public var insertedIDs: [ObjectID] {
        guard let first = self.firstInserted else { return [] }
        return (0..<Int64(self.insertedCount)).map { ObjectID(first.rawValue + $0) }
    }
}

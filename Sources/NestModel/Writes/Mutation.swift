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
    /// Puts an object among those that a to-many relationship of the first leads to; one that is there already moves to the
    /// place. A place other than `last` needs an ordered relationship.
    case relate(ObjectReference, PropertyNumber, ObjectReference, Place)
    /// Takes an object out of a to-many relationship of the first; nothing happens when it is not there.
    case unrelate(ObjectReference, PropertyNumber, ObjectReference)
    /// Makes a to-many relationship lead to these objects and no others, in this order when it is ordered.
    case setRelated(ObjectReference, PropertyNumber, [ObjectReference])
    /// The first object by id of the entity whose properties equal all of `match`; when there is none, it is inserted with
    /// `match` and `values`. One that is found is not changed.
    case findOrCreate(
        entity: EntityNumber,
        match: [PropertyAssignment],
        values: [PropertyAssignment],
        placements: [Placement]
    )
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

/// Joins a write with the one before it into one undo entry: typing, a slider that is being dragged.
public struct Coalescing: Hashable, Sendable {
    /// Chosen by the client: what is being edited, for example "7.title". 1 to `Limits.coalesceKeyBytesMax` bytes.
    public var key: String
    /// The write joins when the one before it has the same key, is the session's newest, and is not older than this.
    public var milliseconds: Int

    public init(key: String, milliseconds: Int) {
        self.key = key
        self.milliseconds = milliseconds
    }
}

/// Mutations that happen together or not at all, as one undo entry.
public struct WriteTransaction: Hashable, Sendable {
    /// The undo entry's name; made from the mutations when `nil`.
    public var name: String?
    /// A repeated key of the same session is answered with the first answer and does nothing.
    public var key: Identifier128?
    public var preconditions: [Precondition]
    public var mutations: [Mutation]
    /// `nil`: an undo entry of its own, or of the connection's open group.
    public var coalescing: Coalescing?

    public init(
        name: String? = nil,
        key: Identifier128? = nil,
        preconditions: [Precondition] = [],
        mutations: [Mutation],
        coalescing: Coalescing? = nil
    ) {
        self.name = name
        self.key = key
        self.preconditions = preconditions
        self.mutations = mutations
        self.coalescing = coalescing
    }
}

/// What a committed write answers with.
public struct Receipt: Hashable, Sendable {
    /// Objects that steps of a transaction inserted or found: ids that follow one another.
    public struct Run: Hashable, Sendable {
        public var first: ObjectID
        public var count: Int
        /// Found by `findOrCreate`: nothing was inserted.
        public var isFound: Bool

        public init(first: ObjectID, count: Int, isFound: Bool = false) {
            self.first = first
            self.count = count
            self.isFound = isFound
        }

        public var ids: [ObjectID] { (0..<Int64(self.count)).map { ObjectID(self.first.rawValue + $0) } }
    }

    /// The revision the write became, or the one it was answered at when it changed nothing.
    public var revision: Revision
    public var isChanged: Bool
    /// The answer is that of an earlier request with the same idempotency key.
    public var isReplayed: Bool
    /// What the inserts and find-or-creates of the request made or found, in its order.
    public var results: [Run]
    /// The name of the undo entry (of what was undone or redone, for `undo` and `redo`).
    public var name: String
    /// What an undo or redo left as it found it.
    public var conflicts: UndoConflicts
    /// How many revisions it became, the last of which is `revision`: undo entries of several transactions may need some.
    /// Known to the server only.
    package var revisionCount = 1

    public init(
        revision: Revision,
        isChanged: Bool,
        isReplayed: Bool = false,
        results: [Run] = [],
        name: String = "",
        conflicts: UndoConflicts = UndoConflicts()
    ) {
        self.revision = revision
        self.isChanged = isChanged
        self.isReplayed = isReplayed
        self.results = results
        self.name = name
        self.conflicts = conflicts
    }

    /// Ids of the inserted objects, in the order of the request.
    public var insertedIDs: [ObjectID] { self.results.filter { !$0.isFound }.flatMap(\.ids) }

    public var firstInserted: ObjectID? { self.results.first { !$0.isFound }?.first }

    public var insertedCount: Int { self.results.reduce(0) { $0 + ($1.isFound ? 0 : $1.count) } }

    /// Ids of inserted and found objects, in the order of the request.
    public var resultIDs: [ObjectID] { self.results.flatMap(\.ids) }

    /// What the `number`-th insert or find-or-create of the request made or found, counted from 1 as references count.
    public func result(_ number: Int) -> (id: ObjectID, isFound: Bool)? {
        var index = number - 1
        guard index >= 0 else { return nil }
        for run in self.results {
            if index < run.count { return (ObjectID(run.first.rawValue + Int64(index)), run.isFound) }
            index -= run.count
        }
        return nil
    }
}

extension [Receipt.Run] {
    /// Adds one more object, to the last run when it follows it.
    package mutating func append(_ id: ObjectID, isFound: Bool) {
        if let last = self.last, last.isFound == isFound, last.first.rawValue + Int64(last.count) == id.rawValue {
            self[self.count - 1].count += 1
        } else {
            self.append(Receipt.Run(first: id, count: 1, isFound: isFound))
        }
    }
}

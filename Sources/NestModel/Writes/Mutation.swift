/// A position in an ordered relationship.
public enum Place: Hashable, Sendable {
    case last
    case first
    case before(ObjectReference)
    case after(ObjectReference)
    /// The final index, 0...n (0..<n for a move inside the same list). A larger index is refused; the error states the
    /// count.
    case at(Int)
    /// After the first object if it is in the list, else before the second if that is, else last. It is what a drop
    /// between two objects means while others move them. `nil`: there was none.
    case near(left: ObjectReference?, right: ObjectReference?)
}

/// A position under an owner. `relationship` is the to-one relationship of the placed object.
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

/// The value that a request sets an attribute or to-one relationship to.
public enum MutationValue: Hashable, Sendable {
    case value(AttributeValue)
    /// An existing object or one of the same transaction. In an ordered relationship it becomes the last.
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
    /// Deletes an object and everything that its delete rules reach.
    case delete(ObjectReference)
    /// Adds an object (the second) to a to-many relationship of the first, or moves it to the position if it is there
    /// already. A position other than `last` requires an ordered relationship.
    case relate(ObjectReference, PropertyNumber, ObjectReference, Place)
    /// Removes an object (the second) from a to-many relationship of the first; does nothing if it is not there.
    case unrelate(ObjectReference, PropertyNumber, ObjectReference)
    /// Sets a to-many relationship to exactly these objects, in this order if it is ordered.
    case setRelated(ObjectReference, PropertyNumber, [ObjectReference])
    /// Finds the first object (by id) of the entity whose properties equal all of `match`. If there is none, inserts
    /// one with `match` and `values`. An existing object is not changed.
    case findOrCreate(
        entity: EntityNumber,
        match: [PropertyAssignment],
        values: [PropertyAssignment],
        placements: [Placement]
    )
    /// Inserts an object with an id that the session has reserved and not used yet.
    case insertAs(ObjectID, entity: EntityNumber, values: [PropertyAssignment], placements: [Placement])
}

/// Requires that an object has not changed since `revision`; otherwise the transaction is refused with `conflict`.
public struct Precondition: Hashable, Sendable {
    public var object: ObjectID
    public var revision: Revision

    public init(object: ObjectID, revision: Revision) {
        self.object = object
        self.revision = revision
    }
}

/// Joins a write with the preceding one into one undo entry: undo coalescing, for typing or dragging a slider.
public struct Coalescing: Hashable, Sendable {
    /// Names what is being edited, for example "7.title"; the client chooses it. 1 to `Limits.coalesceKeyBytesMax`
    /// bytes.
    public var key: String
    /// The greatest age of the preceding write. The write joins it if it has the same key and is the session's newest.
    public var milliseconds: Int

    public init(key: String, milliseconds: Int) {
        self.key = key
        self.milliseconds = milliseconds
    }
}

/// Mutations that are applied together or not at all, as one undo entry.
public struct WriteTransaction: Hashable, Sendable {
    /// The name of the undo entry; made from the mutations if `nil`.
    public var name: String?
    /// The idempotency key. If the session repeats a key, the server does nothing and sends the first answer again.
    public var key: Identifier128?
    public var preconditions: [Precondition]
    public var mutations: [Mutation]
    /// `nil`: the write is an undo entry of its own, or part of the connection's open group.
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

/// The answer to a committed write.
public struct Receipt: Hashable, Sendable {
    /// Objects that steps of a transaction inserted or found, with consecutive ids.
    public struct Run: Hashable, Sendable {
        public var first: ObjectID
        public var count: Int
        /// Whether `findOrCreate` found the objects instead of inserting them.
        public var isFound: Bool

        public init(first: ObjectID, count: Int, isFound: Bool = false) {
            self.first = first
            self.count = count
            self.isFound = isFound
        }

        public var ids: [ObjectID] { (0..<Int64(self.count)).map { ObjectID(self.first.rawValue + $0) } }
    }

    /// The revision of the write, or the current revision if it changed nothing.
    public var revision: Revision
    public var isChanged: Bool
    /// Whether the answer is a repetition of an earlier one, for the same idempotency key.
    public var isReplayed: Bool
    /// The objects that the request's inserts and find-or-creates inserted or found, in its order.
    public var results: [Run]
    /// The name of the undo entry; for `undo` and `redo`, of the entry that was undone or redone.
    public var name: String
    /// The conflicts of an undo or redo.
    public var conflicts: UndoConflicts
    /// The number of revisions of the write; `revision` is the last. An undo entry of several transactions may need
    /// several. Only the server knows it.
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

    /// The ids of the inserted objects, in the order of the request.
    public var insertedIDs: [ObjectID] { self.results.filter { !$0.isFound }.flatMap(\.ids) }

    public var firstInserted: ObjectID? { self.results.first { !$0.isFound }?.first }

    public var insertedCount: Int { self.results.reduce(0) { $0 + ($1.isFound ? 0 : $1.count) } }

    /// The ids of inserted and found objects, in the order of the request.
    public var resultIDs: [ObjectID] { self.results.flatMap(\.ids) }

    /// Returns the object that the `number`-th insert or find-or-create of the request inserted or found, counted from
    /// 1 as in references.
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
    /// Appends an object, to the last run if its id is the next one.
    package mutating func append(_ id: ObjectID, isFound: Bool) {
        if let last = self.last, last.isFound == isFound, last.first.rawValue + Int64(last.count) == id.rawValue {
            self[self.count - 1].count += 1
        } else if self.isEmpty {
            // Most requests have one run: memory for exactly one.
            self = [Receipt.Run(first: id, count: 1, isFound: isFound)]
        } else {
            self.append(Receipt.Run(first: id, count: 1, isFound: isFound))
        }
    }
}

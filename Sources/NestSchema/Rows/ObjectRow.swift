import NestModel

/// Where an object stands among the objects of one owner, as the store keeps it.
package struct SparsePlace: Hashable, Sendable {
    /// Ascending in the order of the owner's objects; numbers have gaps. Means nothing to clients.
    package var position: Int64
    /// The revision of the placement. Undoing a placement brings the older stamp back, so a stamp names one placement.
    package var stamp: UInt64

    package static let none = SparsePlace(position: 0, stamp: 0)

    package init(position: Int64, stamp: UInt64) {
        self.position = position
        self.stamp = stamp
    }
}

/// Everything the store holds of one object.
package struct ObjectRow: Hashable, Sendable {
    package var entity: EntityNumber
    /// The revision of the last change.
    package var revision: Revision
    /// By slot of the entity's layout.
    package var values: [AttributeValue]
    /// By `EntityLayout.placedSlots`; `.none` without an owner.
    package var places: [SparsePlace]

    package init(entity: EntityNumber, revision: Revision, values: [AttributeValue], places: [SparsePlace]) {
        self.entity = entity
        self.revision = revision
        self.values = values
        self.places = places
    }
}

/// The neighbours an object had in its owner's order before a transaction moved it or took it away.
package struct Neighbours: Hashable, Sendable {
    package var left: ObjectID?
    package var right: ObjectID?

    package init(left: ObjectID?, right: ObjectID?) {
        self.left = left
        self.right = right
    }
}

/// One object that a transaction changed, whole before and whole after.
package struct TouchedObject: Sendable {
    package var entity: EntityNumber
    package var id: ObjectID
    /// `nil`: inserted.
    package var before: ObjectRow?
    /// `nil`: deleted.
    package var after: ObjectRow?
    /// By `EntityLayout.placedSlots`: for places the object had before and has left.
    package var neighbours: [Neighbours?]

    package init(
        entity: EntityNumber,
        id: ObjectID,
        before: ObjectRow?,
        after: ObjectRow?,
        neighbours: [Neighbours?] = []
    ) {
        self.entity = entity
        self.id = id
        self.before = before
        self.after = after
        self.neighbours = neighbours
    }
}

/// A sparse position that changed because its neighbourhood ran out of gaps. Not an edit: only live results and catching
/// up read it.
package struct Reposition: Hashable, Sendable {
    package var entity: EntityNumber
    package var property: PropertyNumber
    package var owner: ObjectID
    package var id: ObjectID
    package var oldPosition: Int64
    package var newPosition: Int64

    package init(
        entity: EntityNumber,
        property: PropertyNumber,
        owner: ObjectID,
        id: ObjectID,
        oldPosition: Int64,
        newPosition: Int64
    ) {
        self.entity = entity
        self.property = property
        self.owner = owner
        self.id = id
        self.oldPosition = oldPosition
        self.newPosition = newPosition
    }
}

/// The effect of one committed transaction: the same value drives live queries, undo, and catching up.
package struct ChangeSet: Sendable {
    package var revision: Revision
    /// Each object at most once. A bulk write keeps only its first objects here; the rest is in journal blocks.
    package var touched: [TouchedObject]
    /// How many journal blocks hold the objects of a bulk write, in order.
    package var blockCount: Int
    /// Those of them with objects that the writer's `isConcerned` asked for; see `Store.forEachChangedObject`.
    package var concernedBlocks: [Int] = []
    package var repositions: [Reposition]
    package var insertedCount: Int
    package var updatedCount: Int
    package var deletedCount: Int

    package init(revision: Revision) {
        self.revision = revision
        self.touched = []
        self.blockCount = 0
        self.repositions = []
        self.insertedCount = 0
        self.updatedCount = 0
        self.deletedCount = 0
    }
}

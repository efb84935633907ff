import NestModel

/// The stored position of an object among the objects of one owner.
@frozen
@usableFromInline
package struct SparsePlace: Hashable, Sendable {
    /// Ascending in the order of the owner's objects, with gaps. Clients do not see it.
    @usableFromInline package var position: Int64
    /// The revision of the placement. Undoing a placement restores the older stamp, so a stamp identifies one
    /// placement.
    @usableFromInline package var stamp: UInt64

    @inlinable
    package static var none: SparsePlace { SparsePlace(position: 0, stamp: 0) }

    @inlinable
    package init(position: Int64, stamp: UInt64) {
        self.position = position
        self.stamp = stamp
    }
}

/// All stored values of one object. Frozen and usable from inline, as `ByteWriter` is.
@frozen
@usableFromInline
package struct ObjectRow: Hashable, Sendable {
    @usableFromInline package var entity: EntityNumber
    /// The revision of the last change.
    @usableFromInline package var revision: Revision
    /// The values, by slot of the entity's layout.
    @usableFromInline package var values: EncodedValues
    /// The positions, by `EntityLayout.placedSlots`; `.none` without an owner.
    @usableFromInline package var places: SparsePlaces

    @inlinable
    package init(entity: EntityNumber, revision: Revision, values: EncodedValues, places: SparsePlaces) {
        self.entity = entity
        self.revision = revision
        self.values = values
        self.places = places
    }

    package init(entity: EntityNumber, revision: Revision, values: [AttributeValue], places: SparsePlaces) {
        self.init(entity: entity, revision: revision, values: EncodedValues(values), places: places)
    }
}

/// The neighbours of an object in its owner's order before a transaction moved or removed it.
@frozen
@usableFromInline
package struct Neighbours: Hashable, Sendable {
    @usableFromInline package var left: ObjectID?
    @usableFromInline package var right: ObjectID?

    @inlinable
    package init(left: ObjectID?, right: ObjectID?) {
        self.left = left
        self.right = right
    }
}

/// One object that a transaction changed: its whole row before and after. Frozen, as `ByteWriter` is.
@frozen
@usableFromInline
package struct ChangedRow: Sendable {
    @usableFromInline package var entity: EntityNumber
    @usableFromInline package var id: ObjectID
    /// `nil`: inserted. `Optional` is written out here and below: a variable of the type `ObjectRow?` is `nil` before
    /// the initializer assigns it, which costs the release of that value.
    @usableFromInline package var before: Optional<ObjectRow>
    /// `nil`: deleted.
    @usableFromInline package var after: Optional<ObjectRow>
    /// By `EntityLayout.placedSlots`: the neighbours at the positions that the object left.
    @usableFromInline package var neighbours: [Neighbours?]

    @inlinable
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

/// A change of a sparse position because there was no gap left between neighbours. Not an edit: only live results and
/// catching up read it.
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

/// What journal blocks add to a change set. A class, because few change sets have blocks.
private final class StreamedPart: Sendable {
    let blockCount: Int
    let concernedBlocks: [Int]
    let preparedPart: PreparedPart?
    let entities: Set<EntityNumber>

    init(blockCount: Int, concernedBlocks: [Int], preparedPart: PreparedPart?, entities: Set<EntityNumber>) {
        self.blockCount = blockCount
        self.concernedBlocks = concernedBlocks
        self.preparedPart = preparedPart
        self.entities = entities
    }
}

/// What a prepared write adds to a change set. A class, because few change sets have it.
package final class PreparedPart: Sendable {
    package let ids: IDRuns
    package let blockCount: Int

    package init(ids: IDRuns, blockCount: Int) {
        self.ids = ids
        self.blockCount = blockCount
    }
}

/// The effect of one committed transaction. Live queries, undo and catching up all use it. A class, because it is large
/// and passed on often.
package final class ChangeSet: Sendable {
    /// A change set while it is collected.
    package struct Draft: Sendable {
        package var revision: Revision
        package var changedRows: [ChangedRow] = []
        package var blockCount = 0
        package var concernedBlocks: [Int] = []
        package var preparedPart: PreparedPart?
        package var streamedEntities: Set<EntityNumber> = []
        package var repositions: [Reposition] = []
        package var insertedCount = 0
        package var updatedCount = 0
        package var deletedCount = 0

        package init(revision: Revision) {
            self.revision = revision
        }
    }

    package let revision: Revision
    /// Each object at most once. For a bulk write only the first objects; journal blocks contain the others.
    package let changedRows: [ChangedRow]
    /// `nil`: no blocks.
    private let streamed: StreamedPart?
    /// The number of journal blocks with the objects of a bulk write, in order.
    package var blockCount: Int { self.streamed?.blockCount ?? 0 }
    /// The blocks with objects that the writer's `isConcerned` selected; see `Store.forEachChangedObject`.
    package var concernedBlocks: [Int] { self.streamed?.concernedBlocks ?? [] }
    package var preparedPart: PreparedPart? { self.streamed?.preparedPart }
    /// The objects of a prepared write. Except for the topmost ones, they are in the first `preparedBlockCount` blocks,
    /// for whose objects `isConcerned` was not asked.
    package var prepared: IDRuns { self.preparedPart?.ids ?? IDRuns() }
    package var preparedBlockCount: Int { self.preparedPart?.blockCount ?? 0 }
    /// The entities of the objects in the blocks.
    package var streamedEntities: Set<EntityNumber> { self.streamed?.entities ?? [] }
    package let repositions: [Reposition]
    package let insertedCount: Int
    package let updatedCount: Int
    package let deletedCount: Int

    package init(
        revision: Revision,
        changedRows: [ChangedRow],
        blockCount: Int,
        concernedBlocks: [Int],
        preparedPart: PreparedPart?,
        streamedEntities: Set<EntityNumber>,
        repositions: [Reposition],
        insertedCount: Int,
        updatedCount: Int,
        deletedCount: Int
    ) {
        self.revision = revision
        self.changedRows = changedRows
        let hasStreamed =
            blockCount > 0 || !concernedBlocks.isEmpty || preparedPart != nil || !streamedEntities.isEmpty
        self.streamed =
            hasStreamed
            ? StreamedPart(
                blockCount: blockCount,
                concernedBlocks: concernedBlocks,
                preparedPart: preparedPart,
                entities: streamedEntities
            ) : nil
        self.repositions = repositions
        self.insertedCount = insertedCount
        self.updatedCount = updatedCount
        self.deletedCount = deletedCount
    }

    package convenience init(_ draft: Draft) {
        self.init(
            revision: draft.revision,
            changedRows: draft.changedRows,
            blockCount: draft.blockCount,
            concernedBlocks: draft.concernedBlocks,
            preparedPart: draft.preparedPart,
            streamedEntities: draft.streamedEntities,
            repositions: draft.repositions,
            insertedCount: draft.insertedCount,
            updatedCount: draft.updatedCount,
            deletedCount: draft.deletedCount
        )
    }
}

import NestModel
import NestProtocol
import NestSchema

/// Collects what one request does to the store, as one change set: each object once, whole before and whole after.
///
/// A bulk write (a cascade, an import, their undo) changes each object just once: past `changedMax` objects, it writes
/// them to journal blocks as they come, so that memory does not grow with the write. What the steps of a transaction
/// insert stays in memory: a later step may change it again, and there are at most `Limits.mutationsPerTransactionMax`.
final class ChangeRecorder {
    let revision: Revision
    private let layout: ModelLayout
    private let changedMax: Int
    /// The distance of objects that are appended to an order.
    let orderStep: Int64
    /// Takes full blocks of the journal, and knows whether a result or subscription needs an object in one.
    private let group: WriteGroup
    private var isBlockConcerned = false
    private var concernedBlocks: [Int] = []

    private var changed: [TouchedObject] = []
    /// The index of each object in `changed`; while those are few, a search replaces it.
    private var indexes: [ObjectID: Int] = [:]
    private static let searchedMax = 8
    /// Room for the journal's form of an object with a short text.
    private static let changeBytes = 96
    private var block = ByteWriter()
    private var blockCount = 0
    private var streamedInserts = 0
    private var streamedDeletes = 0
    /// The objects among them, by entity.
    private var streamedDeletedCounts: [EntityNumber: Int] = [:]
    /// Inserted objects of entities with uniqueness constraints that are in blocks.
    private(set) var streamedUnique: [(entity: EntityNumber, id: ObjectID)] = []
    /// What the objects in blocks mean to relationships with bounds.
    private(set) var streamedCounted: CountedOwners
    /// The indexes in `changed` of objects that existed before and have been written more than once.
    private(set) var rewritten: Set<Int> = []

    private struct PlaceKey: Hashable {
        var id: ObjectID
        /// The table's.
        var entity: EntityNumber
        var place: Int
    }
    /// Objects that this request has put somewhere: they had no neighbours there before it.
    private var placed = SmallSet<PlaceKey>()
    /// The object that had the key, which is still there, as its right (left) neighbour, among those that have left.
    private var departedLeftOf: [PlaceKey: ObjectID] = [:]
    private var departedRightOf: [PlaceKey: ObjectID] = [:]
    private var repositions: [PlaceKey: Reposition] = [:]
    private var repositionOrder: [PlaceKey] = []
    /// Owners whose order this request has changed (the key's id is the owner).
    private var disturbed = SmallSet<PlaceKey>()

    /// Whether anything has been written to the store for this request.
    private(set) var hasWritten = false

    init(
        revision: Revision,
        layout: ModelLayout,
        changedMax: Int,
        orderStep: Int64,
        group: WriteGroup
    ) {
        self.revision = revision
        self.layout = layout
        self.streamedCounted = CountedOwners(layout)
        self.changedMax = changedMax
        self.orderStep = orderStep
        self.group = group
    }

    // MARK: Recording

    /// An object is now `after` instead of `before` (as read just before the write). `isBulk`: this request inserts it
    /// and will not change it again.
    func record(
        _ entity: EntityNumber,
        _ id: ObjectID,
        before: ObjectRow?,
        after: ObjectRow?,
        isBulk: Bool = false
    ) throws(StoreError) {
        self.hasWritten = true
        if let index = self.index(of: id) {
            self.changed[index].after = after
            if self.changed[index].before != nil { self.rewritten.insert(index) }
            return
        }
        var before = before
        if before != nil { self.restorePositions(entity, id, &before!) }
        let object = TouchedObject(entity: entity, id: id, before: before, after: after)
        if isBulk, self.changed.count >= self.changedMax {
            try self.stream(object)
        } else {
            self.append(object)
        }
    }

    /// A deletion in a cascade, with the neighbours it had.
    func recordDeletion(
        _ entity: EntityNumber,
        _ id: ObjectID,
        before: ObjectRow,
        neighbours: [Neighbours?]
    ) throws(StoreError) {
        self.hasWritten = true
        if let index = self.index(of: id) {
            self.changed[index].after = nil
            self.merge(neighbours, into: index)
            return
        }
        var before = before
        self.restorePositions(entity, id, &before)
        let object = TouchedObject(entity: entity, id: id, before: before, after: nil, neighbours: neighbours)
        if self.changed.count >= self.changedMax {
            try self.stream(object)
        } else {
            self.append(object)
        }
    }

    /// The neighbours that an object had before this request moved it out of an order.
    func recordNeighbours(_ id: ObjectID, place: Int, _ neighbours: Neighbours) {
        guard let index = self.index(of: id) else { preconditionFailure("neighbours follow the object's record") }
        var all = [Neighbours?](repeating: nil, count: place + 1)
        all[place] = neighbours
        self.merge(all, into: index)
    }

    private func index(of id: ObjectID) -> Int? {
        if !self.indexes.isEmpty { return self.indexes[id] }
        return self.changed.inPlace { changed in changed.indices.first { changed[$0].id == id } }
    }

    private func append(_ object: consuming TouchedObject) {
        let id = object.id
        self.changed.append(object)
        if !self.indexes.isEmpty {
            self.indexes[id] = self.changed.count - 1
        } else if self.changed.count > Self.searchedMax {
            for (index, object) in self.changed.enumerated() { self.indexes[object.id] = index }
        }
    }

    private func merge(_ neighbours: [Neighbours?], into index: Int) {
        while self.changed[index].neighbours.count < neighbours.count { self.changed[index].neighbours.append(nil) }
        for (place, new) in neighbours.enumerated() where self.changed[index].neighbours[place] == nil {
            self.changed[index].neighbours[place] = new
        }
    }

    private func stream(_ object: TouchedObject) throws(StoreError) {
        guard let entityLayout = self.layout[object.entity],
            let kind = self.block.write(change: object, layout: entityLayout)
        else { return }
        if !self.isBlockConcerned { self.isBlockConcerned = self.group.isConcerned(object) }
        self.streamedCounted.note(object)
        if kind == .insert {
            self.streamedInserts += 1
            if !entityLayout.uniquenesses.isEmpty { self.streamedUnique.append((object.entity, object.id)) }
        } else {
            self.streamedDeletes += 1
            if !entityLayout.isJoin { self.streamedDeletedCounts[object.entity, default: 0] += 1 }
        }
        if self.block.count >= Limits.journalBlockBytes { try self.flushBlock() }
    }

    private func flushBlock() throws(StoreError) {
        guard self.block.count > 0 else { return }
        try self.group.writeBlock(self.blockCount, self.block.bytes)
        if self.isBlockConcerned { self.concernedBlocks.append(self.blockCount) }
        self.isBlockConcerned = false
        self.blockCount += 1
        self.block.bytes.removeAll(keepingCapacity: true)
    }

    // MARK: Places

    /// An object has been put into an owner's order by this request.
    func notePlaced(_ entity: EntityNumber, _ id: ObjectID, owner: ObjectID, place: Int) {
        // A bulk import places only objects that it has made, under owners that it has made; remembering each would
        // cost memory for nothing.
        if self.changed.count >= self.changedMax, self.index(of: id) == nil { return }
        self.placed.insert(PlaceKey(id: id, entity: entity, place: place))
        self.disturbed.insert(PlaceKey(id: owner, entity: entity, place: place))
    }

    /// Whether an object's place is this request's doing.
    func isPlaced(_ entity: EntityNumber, _ id: ObjectID, place: Int) -> Bool {
        self.placed.contains(PlaceKey(id: id, entity: entity, place: place))
    }

    /// Whether the objects of an owner still stand as they did before the request, so that neighbours can be read as
    /// they are.
    func isUndisturbed(_ entity: EntityNumber, owner: ObjectID, place: Int) -> Bool {
        !self.disturbed.contains(PlaceKey(id: owner, entity: entity, place: place))
    }

    /// The neighbours, before this request, of an object about to leave; `left` and `right` are the nearest objects now
    /// that this request did not place.
    func departure(
        _ entity: EntityNumber,
        _ id: ObjectID,
        owner: ObjectID,
        place: Int,
        left: ObjectID?,
        right: ObjectID?
    ) -> Neighbours {
        self.disturbed.insert(PlaceKey(id: owner, entity: entity, place: place))
        let key = PlaceKey(id: id, entity: entity, place: place)
        let departedLeft = self.departedLeftOf.removeValue(forKey: key)
        let departedRight = self.departedRightOf.removeValue(forKey: key)
        // Only of objects that are still there: none leaves twice.
        if let left, departedLeft == nil {
            self.departedRightOf[PlaceKey(id: left, entity: entity, place: place)] = id
        }
        if let right, departedRight == nil {
            self.departedLeftOf[PlaceKey(id: right, entity: entity, place: place)] = id
        }
        return Neighbours(left: departedLeft ?? left, right: departedRight ?? right)
    }

    /// A neighbourhood was renumbered: no edit.
    func recordReposition(_ reposition: Reposition, place: Int) {
        self.hasWritten = true
        if let index = self.index(of: reposition.id), self.changed[index].after != nil {
            self.changed[index].after!.places[place].position = reposition.newPosition
            return
        }
        let key = PlaceKey(id: reposition.id, entity: reposition.entity, place: place)
        if self.repositions[key] == nil {
            self.repositions[key] = reposition
            self.repositionOrder.append(key)
        } else {
            self.repositions[key]!.newPosition = reposition.newPosition
        }
    }

    /// An object renumbered earlier in this request and changed only now: its state before has the old position.
    private func restorePositions(_ entity: EntityNumber, _ id: ObjectID, _ row: inout ObjectRow) {
        guard !self.repositions.isEmpty else { return }
        for place in row.places.indices {
            guard let table = self.layout[entity]?.number else { return }
            let key = PlaceKey(id: id, entity: table, place: place)
            if let reposition = self.repositions.removeValue(forKey: key) {
                row.places[place].position = reposition.oldPosition
            }
        }
    }

    // MARK: The result

    /// What this request has done to an object so far, unless it is one of the many of a bulk write.
    func changedObject(_ id: ObjectID) -> TouchedObject? {
        self.index(of: id).map { self.changed[$0] }
    }

    /// The entity of such an object.
    func changedEntity(_ id: ObjectID) -> EntityNumber? {
        self.index(of: id).map { self.changedEntity(at: $0) }
    }

    /// What a slot of such an object holds now, or held last.
    func changedValue(_ id: ObjectID, _ slot: Int) -> AttributeValue? {
        guard let index = self.index(of: id) else { return nil }
        return self.changed.inPlace { $0[index].after?.values[slot] ?? $0[index].before?.values[slot] }
    }

    /// Whether such an object was there before this request.
    func wasThere(_ id: ObjectID) -> Bool? {
        self.index(of: id).map { index in self.changed.inPlace { $0[index].before != nil } }
    }

    /// How many objects of each entity this request has deleted so far, without pairs.
    var deletedCounts: [EntityNumber: Int] {
        var counts = self.streamedDeletedCounts
        for object in self.changed where object.after == nil && object.before != nil {
            guard self.layout[object.entity]?.isJoin == false else { continue }
            counts[object.entity, default: 0] += 1
        }
        return counts
    }

    /// The objects that are not in blocks.
    var changedCount: Int { self.changed.count }
    func changed(at index: Int) -> TouchedObject { self.changed[index] }
    func changedEntity(at index: Int) -> EntityNumber { self.changed.inPlace { $0[index].entity } }

    /// Whether such an object has been deleted, or has all that its entity requires: most requests leave nothing else
    /// to judge.
    func isWhole(at index: Int, _ kind: EntityLayout.Kind) -> Bool {
        self.changed.inPlace { changed in
            for slot in kind.requiredSlots where changed[index].after?.values[slot].isNull == true { return false }
            return true
        }
    }

    struct Finished {
        var set: ChangeSet
        /// All renumberings. The set leaves out those of objects that changed otherwise too: their rows have the
        /// position.
        var repositions: [Reposition]
        /// What the journal keeps of objects that are not in blocks, and the renumberings.
        var inlineBytes: [UInt8]
    }

    /// The change set; `nil` when nothing changed in the end: what has been written must then be rolled back, because
    /// neighbours may have been renumbered on the way.
    func finish() throws(StoreError) -> Finished? {
        var set = ChangeSet(revision: self.revision)
        var bytes = ByteWriter(capacity: self.changed.count * Self.changeBytes + 16)
        bytes.write(count: self.changed.count)
        let first = bytes.count
        // The journal's changes have the positions of placements only.
        var alsoChanged: [Reposition] = []
        var unchanged: Set<Int> = []
        var (inserted, updated, deleted) = (0, 0, 0)
        var alone: [Reposition] = []
        self.changed.inPlace { changed in
            for index in changed.indices {
                let entityLayout = self.layout[changed[index].entity]!
                // What was inserted or deleted has none, and is not copied for that answer.
                let isThere = changed[index].before != nil && changed[index].after != nil
                let repositions = isThere ? changed[index].repositions(entityLayout) : []
                switch bytes.write(change: changed[index], layout: entityLayout) {
                case .insert: inserted += 1
                case .update: updated += 1
                case .delete: deleted += 1
                case nil:
                    unchanged.insert(index)
                    alone += repositions
                    continue
                }
                if !repositions.isEmpty { alsoChanged += repositions }
            }
        }
        set.insertedCount = inserted + self.streamedInserts
        set.updatedCount = updated
        set.deletedCount = deleted + self.streamedDeletes
        set.repositions = alone
        set.touched = self.changed
        if !unchanged.isEmpty {
            set.touched = self.changed.indices.lazy.filter { !unchanged.contains($0) }.map { self.changed[$0] }
            var fewer = ByteWriter(capacity: bytes.count)
            fewer.write(count: set.touched.count)
            fewer.write(raw: bytes.bytes[first...])
            bytes = fewer
        }
        try self.flushBlock()
        set.blockCount = self.blockCount
        set.concernedBlocks = self.concernedBlocks
        if !self.repositionOrder.isEmpty {
            set.repositions += self.repositionOrder.compactMap { self.repositions[$0] }
                .filter { $0.oldPosition != $0.newPosition }
        }
        guard !set.touched.isEmpty || set.blockCount > 0 else { return nil }
        let repositions = alsoChanged.isEmpty ? set.repositions : set.repositions + alsoChanged
        bytes.write(count: repositions.count)
        for reposition in repositions { bytes.write(reposition: reposition) }
        return Finished(set: set, repositions: repositions, inlineBytes: bytes.bytes)
    }
}

extension [TouchedObject] {
    /// Looks at the objects where they are: an element that is read otherwise is copied, with three references to count
    /// up and down by atomic steps.
    @inline(__always)
    fileprivate func inPlace<Result>(_ body: (UnsafeBufferPointer<TouchedObject>) -> Result) -> Result {
        self.withUnsafeBufferPointer(body)
    }
}

extension TouchedObject {
    /// Renumberings of an object that stays in its place.
    fileprivate func repositions(_ layout: EntityLayout) -> [Reposition] {
        guard let before = self.before, let after = self.after else { return [] }
        return layout.placedSlots.enumerated().compactMap { place, slot in
            let old = before.places[place]
            let new = after.places[place]
            guard let owner = before.values[slot].referenceValue, owner == after.values[slot].referenceValue,
                old.stamp == new.stamp, old.position != new.position
            else { return nil }
            return Reposition(
                entity: layout.number,
                property: layout.properties[slot],
                owner: owner,
                id: self.id,
                oldPosition: old.position,
                newPosition: new.position
            )
        }
    }
}

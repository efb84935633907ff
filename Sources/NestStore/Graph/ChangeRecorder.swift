import NestModel
import NestProtocol
import NestSchema

/// Collects the changes of one request in one change set: each object once, with its whole row before and after.
///
/// A bulk write (a cascade, an import, or the undo of one) changes each object only once. After the first `changedMax`
/// objects it streams the others to journal blocks, so that memory does not grow with the write. Objects that the steps
/// of a transaction insert stay in memory: a later step may change them again, and there are at most
/// `Limits.mutationsPerTransactionMax` of them.
///
/// One recorder serves the requests of groups one after the other; see `begin`.
final class ChangeRecorder {
    private(set) var revision: Revision
    private let layout: ModelLayout
    private let changedMax: Int
    /// The distance between the positions of appended objects.
    let orderStep: Int64
    /// Writes full blocks to the journal, and knows whether a live result or subscription needs an object in a block.
    private(set) unowned var group: WriteGroup
    private var isBlockConcerned = false
    private var concernedBlocks: [Int] = []
    private var streamedEntities: Set<EntityNumber> = []
    private var lastStreamed: EntityNumber?

    private var changed: [ChangedRow] = []
    /// The index of each object in `changed`. Empty while there are few objects, which are searched linearly.
    private var indexes: [ObjectID: Int] = [:]
    private static let searchedMax = 8
    /// The estimated size of an object with a short text in the journal.
    private static let changeBytes = 96
    private var block = ByteWriter()
    private var blockCount = 0
    private var preparedPart: PreparedPart?
    private var streamedInserts = 0
    private var streamedDeletes = 0
    /// The streamed deletions of objects, without pairs, by entity.
    private var streamedDeletedCounts: [EntityNumber: Int] = [:]
    /// The streamed insertions of objects with uniqueness constraints.
    private(set) var streamedUnique: [(entity: EntityNumber, id: ObjectID)] = []
    /// The relationships with bounds that the streamed objects may affect.
    private(set) var streamedCounted: CountedOwners
    /// The indexes in `changed` of objects that existed before and have been written more than once.
    private(set) var rewritten: Set<Int> = []

    private struct PlaceKey: Hashable {
        var id: ObjectID
        /// The number of the table.
        var entity: EntityNumber
        var place: Int
    }
    /// Objects that this request has placed in an order: before the request they had no neighbours there.
    private var placed = SmallSet<PlaceKey>()
    /// For an object that is still in its order: the departed object that was directly to the left (right) of it.
    private var departedLeftOf: [PlaceKey: ObjectID] = [:]
    private var departedRightOf: [PlaceKey: ObjectID] = [:]
    private var repositions: [PlaceKey: Reposition] = [:]
    private var repositionOrder: [PlaceKey] = []
    /// Owners whose order this request has changed (the key's id is the owner).
    private var disturbed = SmallSet<PlaceKey>()

    /// Whether this request has written anything to the store.
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

    /// Whether its request has used nothing but what `begin` resets.
    var isPlain: Bool {
        self.canAdopt && self.preparedPart == nil && self.lastStreamed == nil && self.indexes.isEmpty
            && self.rewritten.isEmpty && self.departedLeftOf.isEmpty && self.departedRightOf.isEmpty
            && self.repositionOrder.isEmpty && self.finishedRepositions.isEmpty
    }

    /// Forgets the objects of a request that has succeeded.
    func rest() { self.changed = [] }

    /// Begins the next request, after one that has succeeded. `group`: `nil` for the same group. Precondition:
    /// `isPlain`.
    func begin(_ revision: Revision, _ group: WriteGroup?) {
        self.revision = revision
        if let group { self.group = group }
        self.changed = []
        self.placed.removeAll()
        self.disturbed.removeAll()
        self.hasWritten = false
    }

    // MARK: Recording

    /// Records that an object is now `after` instead of `before` (as read just before the write). `isBulk`: this
    /// request inserts the object and will not change it again.
    func record(
        _ entity: EntityNumber,
        _ id: ObjectID,
        before: ObjectRow?,
        after: consuming ObjectRow?,
        isBulk: Bool = false
    ) throws(StoreError) {
        self.hasWritten = true
        if let index = self.index(of: id) {
            self.changed[index].after = after
            if self.changed[index].before != nil { self.rewritten.insert(index) }
            return
        }
        if isBulk, self.changed.count >= self.changedMax {
            return try self.stream(ChangedRow(entity: entity, id: id, before: before, after: after))
        }
        if var before {
            self.restorePositions(entity, id, &before)
            self.append(ChangedRow(entity: entity, id: id, before: before, after: after))
        } else {
            self.append(ChangedRow(entity: entity, id: id, before: nil, after: after))
        }
    }

    /// Records that a step inserts an object. Does the same as `record`, but most changes are of this kind, and a row
    /// that may be `nil` or may be streamed costs more to pass on.
    func recordInsert(_ id: ObjectID, _ row: consuming ObjectRow) {
        self.hasWritten = true
        if let index = self.index(of: id) {
            self.changed[index].after = row
            if self.changed[index].before != nil { self.rewritten.insert(index) }
            return
        }
        let entity = row.entity
        if self.changed.isEmpty {
            self.changed = [ChangedRow(entity: entity, id: id, before: nil, after: row)]
        } else {
            self.changed.append(ChangedRow(entity: entity, id: id, before: nil, after: row))
            self.noteAppended(id)
        }
    }

    /// Records a deletion, with the neighbours that the object had.
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
        let object = ChangedRow(entity: entity, id: id, before: before, after: nil, neighbours: neighbours)
        if self.changed.count >= self.changedMax {
            try self.stream(object)
        } else {
            self.append(object)
        }
    }

    /// Records the neighbours that an object had before this request moved it out of an order.
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

    private func append(_ object: consuming ChangedRow) {
        let id = object.id
        self.changed.append(object)
        self.noteAppended(id)
    }

    private func noteAppended(_ id: ObjectID) {
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

    private func stream(_ object: consuming ChangedRow) throws(StoreError) {
        guard let entityLayout = self.layout[object.entity],
            let kind = self.block.write(change: object, layout: entityLayout)
        else { return }
        if !entityLayout.largeSlots.isEmpty { try self.group.placeValues(of: object, entityLayout, self.revision) }
        if !self.isBlockConcerned { self.isBlockConcerned = self.group.isConcerned(object) }
        if self.lastStreamed != object.entity {
            self.lastStreamed = object.entity
            self.streamedEntities.insert(object.entity)
        }
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

    /// Whether the request has streamed nothing yet: prepared blocks come first.
    var canAdopt: Bool { self.blockCount == 0 && self.block.count == 0 }

    /// Makes a prepared write part of this request. Precondition: `canAdopt`.
    func adopt(_ preparation: Preparation) throws(StoreError) {
        precondition(self.canAdopt, "prepared blocks come first")
        self.hasWritten = true
        try self.group.adopt(preparation)
        let blocks = preparation.write.blocks
        self.blockCount = blocks.count
        self.preparedPart = PreparedPart(ids: preparation.write.ids, blockCount: blocks.count)
        self.streamedEntities.formUnion(blocks.entities)
        self.streamedInserts += blocks.insertedCount
        for (entity, count) in blocks.deletedCounts {
            self.streamedDeletes += count
            self.streamedDeletedCounts[entity, default: 0] += count
        }
    }

    // MARK: Positions

    /// Notes that this request has placed an object in an owner's order.
    func notePlaced(_ entity: EntityNumber, _ id: ObjectID, owner: ObjectID, place: Int) {
        // A bulk import places only new objects, under new owners: it would cost memory to remember them, and have no
        // use.
        if self.changed.count >= self.changedMax, self.index(of: id) == nil { return }
        self.placed.insert(PlaceKey(id: id, entity: entity, place: place))
        self.disturbed.insert(PlaceKey(id: owner, entity: entity, place: place))
    }

    /// Whether this request has placed an object in its order.
    func isPlaced(_ entity: EntityNumber, _ id: ObjectID, place: Int) -> Bool {
        self.placed.contains(PlaceKey(id: id, entity: entity, place: place))
    }

    /// Whether the order of an owner's objects is as it was before the request, so that neighbours can be read from the
    /// table.
    func isUndisturbed(_ entity: EntityNumber, owner: ObjectID, place: Int) -> Bool {
        !self.disturbed.contains(PlaceKey(id: owner, entity: entity, place: place))
    }

    /// Returns the neighbours, before this request, of an object that is about to leave an order. `left` and `right`
    /// are the nearest objects now that this request did not place.
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
        // Only for objects that are still in the order: no object leaves twice.
        if let left, departedLeft == nil {
            self.departedRightOf[PlaceKey(id: left, entity: entity, place: place)] = id
        }
        if let right, departedRight == nil {
            self.departedLeftOf[PlaceKey(id: right, entity: entity, place: place)] = id
        }
        return Neighbours(left: departedLeft ?? left, right: departedRight ?? right)
    }

    /// Records a renumbered position, which is not an edit of the object.
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

    /// Restores the old positions in the row of an object that this request renumbered before it changes the object.
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

    /// Returns what this request has done to an object so far; `nil` if it has not changed the object or has streamed
    /// it.
    func changedObject(_ id: ObjectID) -> ChangedRow? {
        self.index(of: id).map { self.changed[$0] }
    }

    /// Returns the entity of an object in `changed`, or `nil`.
    func changedEntity(_ id: ObjectID) -> EntityNumber? {
        self.index(of: id).map { self.changedEntity(at: $0) }
    }

    /// Returns the index of an object in `changed`; `nil` if it is not there.
    func changedIndex(of id: ObjectID) -> Int? { self.index(of: id) }

    /// Calls `body` with the text of a slot of an object in `changed`; with the last one if the object was deleted,
    /// with `nil` if there is none.
    func withChangedText<Result>(at index: Int, _ slot: Int, _ body: (UnsafeRawBufferPointer?) -> Result) -> Result {
        func text(_ values: EncodedValues.Slots) -> Result {
            if case .text(let utf8) = values[slot].content { body(utf8) } else { body(nil) }
        }
        return self.changed.inPlace { changed in
            if let result = changed[index].after?.values.withSlots(text) { return result }
            return changed[index].before?.values.withSlots(text) ?? body(nil)
        }
    }

    /// Whether an object in `changed` existed before this request; `nil` for other objects.
    func wasThere(_ id: ObjectID) -> Bool? {
        self.index(of: id).map { index in self.changed.inPlace { $0[index].before != nil } }
    }

    /// The number of objects of each entity that this request has deleted so far, without pairs.
    var deletedCounts: [EntityNumber: Int] {
        var counts = self.streamedDeletedCounts
        for object in self.changed where object.after == nil && object.before != nil {
            guard self.layout[object.entity]?.isJoin == false else { continue }
            counts[object.entity, default: 0] += 1
        }
        return counts
    }

    /// The number of changed objects that are not in blocks.
    var changedCount: Int { self.changed.count }
    func changed(at index: Int) -> ChangedRow { self.changed[index] }
    func changedEntity(at index: Int) -> EntityNumber { self.changed.inPlace { $0[index].entity } }

    /// Whether objects that are in `changed` have been written more than once.
    var hasRewritten: Bool { !self.rewritten.isEmpty }

    /// Whether objects with uniqueness constraints have been streamed.
    var hasStreamedUnique: Bool { !self.streamedUnique.isEmpty }

    /// Whether a changed object was deleted or has all required values: for most requests nothing else must be checked.
    func isWhole(at index: Int, _ kind: EntityLayout.Kind) -> Bool {
        self.changed.inPlace { changed in
            for slot in kind.requiredSlots where changed[index].after?.values.isNull(slot) == true { return false }
            return true
        }
    }

    /// All renumberings, when the request has finished. The change set omits those of objects that also changed in
    /// another way: their rows have the position.
    private(set) var finishedRepositions: [Reposition] = []

    /// Returns the change set, and appends to `bytes` the objects that are not in blocks, and the renumberings, in the
    /// form of the journal. Returns `nil` and appends nothing if nothing has changed in the end. Writes of the request
    /// must then be rolled back, because it may have renumbered neighbours.
    func finish(into bytes: inout ByteWriter) throws(StoreError) -> ChangeSet? {
        let start = bytes.count
        if start == 0 { bytes.bytes.reserveCapacity(self.changed.count * Self.changeBytes + 16) }
        bytes.write(count: self.changed.count)
        let first = bytes.count
        // A change in the journal has a position only for a placement.
        var alsoChanged: [Reposition] = []
        var unchanged: Set<Int> = []
        var (inserted, updated, deleted) = (0, 0, 0)
        var alone: [Reposition] = []
        self.changed.inPlace { changed in
            for index in changed.indices {
                let entityLayout = self.layout[changed[index].entity]!
                // Most objects are inserted: their parts are passed one by one, because the whole would be copied.
                if changed[index].before == nil, let places = changed[index].after?.places {
                    bytes.write(
                        insertOf: changed[index].entity,
                        changed[index].id,
                        changed[index].after!.values,
                        places,
                        entityLayout
                    )
                    inserted += 1
                    continue
                }
                // An inserted or deleted object has no renumberings: this check avoids a copy of the object.
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
        if !unchanged.isEmpty {
            self.changed = self.changed.indices.lazy.filter { !unchanged.contains($0) }.map { self.changed[$0] }
            let objects = Array(bytes.bytes[first...])
            bytes.truncate(to: start)
            bytes.write(count: self.changed.count)
            bytes.write(raw: objects)
        }
        try self.flushBlock()
        if !self.repositionOrder.isEmpty {
            alone += self.repositionOrder.compactMap { self.repositions[$0] }.filter {
                $0.oldPosition != $0.newPosition
            }
        }
        guard !self.changed.isEmpty || self.blockCount > 0 else {
            bytes.truncate(to: start)
            return nil
        }
        self.finishedRepositions = alsoChanged.isEmpty ? alone : alone + alsoChanged
        bytes.write(count: self.finishedRepositions.count)
        for reposition in self.finishedRepositions { bytes.write(reposition: reposition) }
        return ChangeSet(
            revision: self.revision,
            changedRows: self.changed,
            blockCount: self.blockCount,
            concernedBlocks: self.concernedBlocks,
            preparedPart: self.preparedPart,
            streamedEntities: self.streamedEntities,
            repositions: alone,
            insertedCount: inserted + self.streamedInserts,
            updatedCount: updated,
            deletedCount: deleted + self.streamedDeletes
        )
    }
}

extension [ChangedRow] {
    /// Reads the objects in place. An element that is read in another way is copied, which increments and decrements
    /// three reference counts atomically.
    @inline(__always)
    fileprivate func inPlace<Result>(_ body: (UnsafeBufferPointer<ChangedRow>) -> Result) -> Result {
        self.withUnsafeBufferPointer(body)
    }
}

extension ChangedRow {
    /// The renumberings of an object that was not moved.
    fileprivate func repositions(_ layout: EntityLayout) -> [Reposition] {
        guard let before = self.before, let after = self.after else { return [] }
        return layout.placedSlots.enumerated().compactMap { place, slot in
            let old = before.places[place]
            let new = after.places[place]
            guard let owner = before.values.reference(slot), owner == after.values.reference(slot),
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

import NestModel
import NestSchema

/// Applies the changes of one revision of a record, each checked against the stored row, and collects the leader's
/// change set.
struct ChangeApplication {
    private let store: Store
    private let revision: Revision
    /// Inserted objects have smaller ids.
    private let nextObjectID: Int64
    private let isConcerned: (ChangedRow) -> Bool
    private var set: ChangeSet.Draft
    /// The first block that contains an updated object.
    private var firstUpdated: Int?
    /// Where the objects of each block begin in `set.changedRows`, for blocks that are still kept there.
    private var starts: [Int] = []
    /// The objects of the blocks that are kept.
    private var keptCount = 0

    init(
        _ store: Store,
        _ revision: Revision,
        _ row: LogRecord.Row,
        _ isConcerned: @escaping (ChangedRow) -> Bool
    ) {
        self.store = store
        self.revision = revision
        self.nextObjectID = row.nextObjectID
        self.isConcerned = isConcerned
        self.set = ChangeSet.Draft(revision: revision)
    }

    /// `inline`: the changes inside the row. The blocks are in the journal already, and are read one at a time.
    mutating func run(_ inline: [UInt8], blockCount: Int) throws(StoreError) -> ChangeSet {
        let (changes, repositions) = try self.store.journal.inlineChanges(inline)
        self.set.changedRows.reserveCapacity(changes.count)
        for change in changes { self.set.changedRows.append(try self.apply(change)) }
        for number in 0..<blockCount {
            let changes = try self.store.journal.block(self.revision, number).changes
            try self.applyBlock(number, changes)
        }
        try self.apply(repositions)
        return ChangeSet(self.set)
    }

    // MARK: Blocks

    /// The leader streams only inserted and deleted objects, in the first blocks. The others hold what it had in
    /// memory, but was too large for the row: these become `changedRows`, and so does everything if it is not much.
    private mutating func applyBlock(_ number: Int, _ changes: [ObjectChange]) throws(StoreError) {
        if self.firstUpdated == nil, changes.contains(where: { $0.kind == .update }) {
            self.firstUpdated = number
        }
        let isStreamed = self.firstUpdated == nil && self.set.blockCount == number && number > 0
        if isStreamed {
            var isConcerned = false
            for change in changes {
                let object = try self.apply(change)
                if !isConcerned { isConcerned = self.isConcerned(object) }
                self.set.streamedEntities.insert(object.entity)
            }
            if isConcerned { self.set.concernedBlocks.append(number) }
            self.set.blockCount += 1
            return
        }
        self.starts.append(self.set.changedRows.count)
        for change in changes { self.set.changedRows.append(try self.apply(change)) }
        self.keptCount += changes.count
        if self.keptCount > self.store.streamedFrom { self.release() }
    }

    /// Drops the objects of the kept blocks before the first updated object: they are read again from the journal.
    private mutating func release() {
        guard self.set.blockCount == 0, let first = self.starts.first else { return }
        let end = self.firstUpdated ?? self.starts.count
        for number in 0..<end {
            let last = number + 1 < self.starts.count ? self.starts[number + 1] : self.set.changedRows.count
            if self.set.changedRows[self.starts[number]..<last].contains(where: self.isConcerned) {
                self.set.concernedBlocks.append(number)
            }
        }
        let last = end < self.starts.count ? self.starts[end] : self.set.changedRows.count
        for object in self.set.changedRows[first..<last] { self.set.streamedEntities.insert(object.entity) }
        self.set.changedRows.removeSubrange(first..<last)
        self.set.blockCount = end
    }

    // MARK: Objects

    private mutating func apply(_ change: ObjectChange) throws(StoreError) -> ChangedRow {
        guard let layout = self.store.layout[change.entity] else {
            throw .logDamaged("it changes objects of an entity that the model does not have")
        }
        let object = try self.apply(change, layout)
        guard try self.store.values.follow(object, layout, self.revision, by: .record) == nil else {
            throw .diverged("it gives the object \(change.id) a large value that it cannot have")
        }
        return object
    }

    private mutating func apply(_ change: ObjectChange, _ layout: EntityLayout) throws(StoreError) -> ChangedRow {
        let table = self.store.objects.table(change.entity)
        switch change.kind {
        case .insert:
            self.set.insertedCount += 1
            guard change.id.rawValue > 0, change.id.rawValue < self.nextObjectID else {
                throw .diverged("it inserts the object \(change.id), and the next id is \(self.nextObjectID)")
            }
            let object = change.changedRow(layout, revision: self.revision)
            guard let row = object.after else { preconditionFailure("an insert has a row") }
            try table.insert(change.id, row)
            return object
        case .delete:
            self.set.deletedCount += 1
            var object = change.changedRow(layout, revision: self.revision)
            guard let row = try table.row(change.id), row == object.before else {
                throw .diverged("it deletes the object \(change.id), which is not as it says")
            }
            object.neighbours = change.neighbours(layout)
            try table.delete(change.id)
            return object
        case .update:
            self.set.updatedCount += 1
            guard let before = try table.row(change.id), before.entity == change.entity,
                let after = change.updated(before, layout, self.revision)
            else { throw .diverged("it changes the object \(change.id), which is not as it says") }
            try table.update(change.id, from: before, to: after)
            return ChangedRow(
                entity: change.entity,
                id: change.id,
                before: before,
                after: after,
                neighbours: change.neighbours(layout)
            )
        }
    }

    /// Renumbers objects. Those of objects that also changed in another way are not in the set: their rows have the
    /// position.
    private mutating func apply(_ repositions: [Reposition]) throws(StoreError) {
        guard !repositions.isEmpty else { return }
        var indexes: [ObjectID: Int] = [:]
        for (index, object) in self.set.changedRows.enumerated() { indexes[object.id] = index }
        for reposition in repositions {
            guard let layout = self.store.layout[reposition.entity], let slot = layout.slot(of: reposition.property),
                case let place = layout.placeOfSlot[slot], place >= 0
            else { throw .logDamaged("it renumbers objects that have no order") }
            let table = self.store.objects.table(reposition.entity)
            guard let row = try table.row(reposition.id), row.values[slot] == .reference(reposition.owner),
                row.places[place].position == reposition.oldPosition
            else { throw .diverged("it renumbers the object \(reposition.id), which is not as it says") }
            try table.reposition(reposition.id, place: place, to: reposition.newPosition)
            if let index = indexes[reposition.id] {
                self.set.changedRows[index].after?.places[place].position = reposition.newPosition
            } else {
                self.set.repositions.append(reposition)
            }
        }
    }
}

extension ObjectChange {
    /// Returns the row after an update; `nil` if the row before is not as the change says.
    fileprivate func updated(_ before: ObjectRow, _ layout: EntityLayout, _ revision: Revision) -> ObjectRow? {
        guard before.revision == self.revisionBefore else { return nil }
        var after = before
        after.revision = revision
        for value in self.values {
            guard before.values[value.slot] == value.before else { return nil }
            after.values[value.slot] = value.after
        }
        for placing in self.placings {
            let slot = layout.placedSlots[placing.place]
            guard before.values.reference(slot) == placing.before?.owner,
                before.places[placing.place] == placing.before?.place ?? .none
            else { return nil }
            after.values[slot] = placing.after.map { .reference($0.owner) } ?? .null
            after.places[placing.place] = placing.after?.place ?? .none
        }
        return after
    }

    /// The neighbours at the positions that the object left.
    fileprivate func neighbours(_ layout: EntityLayout) -> [Neighbours?] {
        guard self.placings.contains(where: { $0.before != nil }) else { return [] }
        var neighbours = [Neighbours?](repeating: nil, count: layout.placedSlots.count)
        for placing in self.placings { neighbours[placing.place] = placing.before?.neighbours }
        return neighbours
    }
}

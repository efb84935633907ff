import NestModel
import NestSchema

/// A deletion of trees whose rows stay in the graph until a request takes the tops out and hides the rest; then the
/// rows are removed in parts.
final class PreparedRemoval: PreparedWrite {
    /// The transaction whose insertions it takes back; `nil`: it is a deletion.
    let past: PastTransaction?
    private(set) var tops: [ObjectID]
    private(set) var ids = IDRuns()
    private(set) var blocks: PreparedBlocks

    private let store: Store
    private let queue: CascadeQueue
    /// The insertions, while they are being read.
    private var inserted: PastObjects?
    /// The number of objects that must be found; `nil`: any.
    private var countWanted: Int?
    private var topIDs: Set<ObjectID>

    var hidden: IDRuns { IDRuns() }
    var hiddenAfter: IDRuns { self.ids }
    var insertedAt: Revision? { nil }

    /// `nil`: the deletion must run as one piece.
    init?(_ id: ObjectID, _ store: Store) throws(StoreError) {
        guard !store.layout.hasCounts, try store.mayPrepareDeletion(of: id),
            let (layout, _) = try store.objects.object(id), let index = store.layout.index(of: layout.number)
        else { return nil }
        self.past = nil
        self.tops = [id]
        self.topIDs = [id]
        self.blocks = PreparedBlocks(store.journal)
        self.store = store
        self.queue = CascadeQueue(store.bulkMemory)
        try self.queue.push(id, table: index)
    }

    init?(_ past: PastTransaction, _ store: Store) {
        guard !store.layout.hasCounts else { return nil }
        self.past = past
        self.tops = []
        self.topIDs = []
        self.blocks = PreparedBlocks(store.journal)
        self.store = store
        self.queue = CascadeQueue(store.bulkMemory)
        self.inserted = PastObjects(past, .insert, store.layout)
    }

    func prepare(_ count: Int) throws(StoreError) -> Preparation.State {
        if let past = self.past, self.inserted != nil {
            // The journal may have been trimmed meanwhile.
            return past.revision > self.store.oldestBase ? try self.readInserted() : .impossible
        }
        // Rows that were read ahead may be outdated in the next part.
        let runs = CascadeRuns(self.store.tables, self.store.layout)
        for _ in 0..<count {
            guard let next = try self.queue.pop() else {
                try self.blocks.flush()
                return self.countWanted == nil || self.countWanted == self.ids.count ? .done : .impossible
            }
            guard try self.take(next, runs) else { return .impossible }
        }
        return .open
    }

    private func readInserted() throws(StoreError) -> Preparation.State {
        let step = try self.inserted!.read { _ in true }
        guard case .done = step, let inserted = self.inserted else { return step }
        self.tops = inserted.tops.map(\.id)
        self.topIDs = inserted.topIDs
        self.countWanted = inserted.ids.count
        self.inserted = nil
        for top in inserted.tops.reversed() {
            guard let index = self.store.layout.index(of: top.entity) else { return .impossible }
            try self.queue.push(top.id, table: index)
        }
        return .open
    }

    /// Adds an object. Returns `false` if the removal must run as one piece.
    private func take(_ next: CascadeQueue.Next, _ runs: CascadeRuns) throws(StoreError) -> Bool {
        let table = self.store.tables[next.table]
        let layout = table.layout
        guard layout.root?.object != next.id, layout.uniquenesses.isEmpty, let row = try runs.row(next.id, table) else {
            return false
        }
        // An object that changed after its insertion, or came later, may be a conflict.
        if let past, row.revision > past.revision { return false }
        let isTop = self.topIDs.contains(next.id)
        if !isTop, !self.isInside(row, next.id, layout) { return false }
        for (index, toMany) in layout.toMany.enumerated() {
            try self.enqueue(toMany, of: next.id, known: runs.children(of: next.id, index))
        }
        if !isTop {
            var neighbours: [Neighbours?] = []
            for (place, slot) in layout.placedSlots.enumerated() {
                let isReached = next.reached?.place == place
                guard isReached || row.values.isNull(slot) else { return false }
                neighbours.append(isReached ? next.reached?.neighbours : nil)
            }
            let object = ChangedRow(entity: row.entity, id: next.id, before: row, after: nil, neighbours: neighbours)
            try self.blocks.append(object)
        }
        return self.ids.insert(next.id)
    }

    /// Whether everything that an object refers to is among those that were found before, and older.
    private func isInside(_ row: ObjectRow, _ id: ObjectID, _ layout: EntityLayout) -> Bool {
        row.values.indices.allSatisfy { slot in
            guard let target = row.values.reference(slot) else { return true }
            return target < id && self.ids.contains(target)
        }
    }

    private func enqueue(_ toMany: EntityLayout.ToMany, of owner: ObjectID, known: ArraySlice<ObjectID>?)
        throws(StoreError)
    {
        if let known, known.isEmpty { return }
        guard let index = self.store.layout.index(of: toMany.destination) else { return }
        try self.queue.push(table: index, place: toMany.inversePlace) { (push) throws(StoreError) in
            if let known {
                for id in known.reversed() { try push(id) }
            } else {
                try self.store.tables[index].forEachReversed(ofOwner: owner, slot: toMany.inverseSlot, push)
            }
        }
    }

    /// Refuses changes of objects that were found, and of what is directly below them.
    func allows(_ changes: ChangeSet) -> Bool {
        guard changes.blockCount == 0 else { return false }
        for object in changes.changedRows {
            guard !self.ids.contains(object.id), let layout = self.store.layout[object.entity] else { return false }
            for slot in layout.slots.indices {
                let (before, after) = (object.before?.values.reference(slot), object.after?.values.reference(slot))
                let place = layout.placeOfSlot[slot]
                let isMoved = place >= 0 && object.before?.places[place] != object.after?.places[place]
                guard before != after || isMoved else { continue }
                for owner in [before, after] {
                    if let owner, self.ids.contains(owner) { return false }
                }
            }
        }
        return !changes.repositions.contains { self.ids.contains($0.owner) }
    }
}

extension ObjectGraph {
    /// Takes the tops of a prepared removal out of their orders, and hides the other objects.
    func remove(_ removal: PreparedRemoval, _ preparation: Preparation) throws(StoreError) {
        var tops: [(id: ObjectID, table: EntityTable, row: ObjectRow)] = []
        for id in removal.tops {
            let (table, row) = try self.require(id)
            tops.append((id, table, row))
            let label = table.layout.kind(row.entity).labelSlot.flatMap { row.values[$0].stringValue }
            self.deleted = (id, row.entity, label)
        }
        try self.recorder.adopt(preparation)
        for (id, table, row) in tops {
            let neighbours = try self.departingNeighbours(table, id, row, reached: nil)
            // The row stays, without an owner, until the objects below it are removed.
            try table.update(id, from: row, to: row.unlinked(table.layout))
            try self.recorder.recordDeletion(row.entity, id, before: row, neighbours: neighbours)
        }
    }
}

extension ObjectRow {
    /// Returns the row without references to other objects.
    func unlinked(_ layout: EntityLayout) -> ObjectRow {
        var row = self
        for slot in layout.slots.indices {
            guard case .toOne(_, let place) = layout.slots[slot] else { continue }
            row.values[slot] = .null
            if let place { row.places[place] = .none }
        }
        return row
    }
}

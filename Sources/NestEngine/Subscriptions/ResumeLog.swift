import NestLiveQuery
import NestModel
import NestOrder
import NestStore
import NestProtocol
import NestSchema

/// Rebuilds the row log of a result from the journal, for a client that returns after the server has dropped the log,
/// for example after a restart. Objects are reverted from their current state, newest change first.
struct ResumeLog {
    private let store: Store
    private let source: ResultSource
    private let layout: EntityLayout
    /// Objects as they were before the changes processed so far; an outer `nil` means not read yet.
    private var states: [ObjectID: ObjectRow?] = [:]

    /// Returns the log of all changes after `base`, up to the store's head, and the number of changes read for it.
    /// There is no log if there are too many changes, or if the rows depend on other objects, whose changes would have
    /// to be merged.
    static func build(
        _ store: Store,
        _ source: ResultSource,
        _ recent: RecentChanges,
        after base: Revision
    ) throws(StoreError) -> (log: RowLog?, readCount: Int) {
        guard base >= store.oldestBase, !source.isComputed, let layout = store.layout[source.table],
            store.head.rawValue - base.rawValue <= UInt64(Limits.resumeJournalRevisionsMax)
        else { return (nil, 0) }
        let (steps, readCount) = try recent.steps(of: source, after: base)
        var builder = ResumeLog(store: store, source: source, layout: layout)
        guard let steps else { return (nil, readCount) }
        return (try builder.build(steps, after: base), readCount)
    }

    private init(store: Store, source: ResultSource, layout: EntityLayout) {
        self.store = store
        self.source = source
        self.layout = layout
    }

    private mutating func build(
        _ steps: [(revision: Revision, step: RecentChanges.Step)],
        after base: Revision
    ) throws(StoreError) -> RowLog {
        var changes: [(revision: Revision, change: RowChange)] = []
        for (revision, step) in steps.reversed() {
            switch step {
            case .change(let change):
                if let row = try self.takeBack(change) { changes.append((revision, row)) }
            case .reposition(let reposition):
                if self.isOfRow(reposition), let row = try self.takeBack(reposition) { changes.append((revision, row)) }
            }
        }
        var log = RowLog(base: base)
        var start = changes.endIndex
        while start > changes.startIndex {
            let revision = changes[start - 1].revision
            var first = start - 1
            while first > changes.startIndex, changes[first - 1].revision == revision { first -= 1 }
            log.append(revision, changes[first..<start].reversed().map(\.change))
            start = first
        }
        return log
    }

    /// Whether a renumbering belongs to the order of the source.
    private func isOfRow(_ reposition: Reposition) -> Bool {
        guard case .owned(let slot, _, let owner) = self.source.membership, self.source.orderingPlace != nil else {
            return false
        }
        return reposition.owner == owner && self.store.layout[reposition.entity] === self.layout
            && reposition.property == self.layout.properties[slot]
    }

    private mutating func state(_ id: ObjectID) throws(StoreError) -> ObjectRow? {
        if let known = self.states[id] { return known }
        let row = try self.store.row(self.source.table, id)
        self.states[id] = .some(row)
        return row
    }

    private mutating func takeBack(_ change: ObjectChange) throws(StoreError) -> RowChange? {
        let after = try self.state(change.id)
        var before = after
        switch change.kind {
        case .insert:
            before = nil
        case .delete:
            before = change.changedRow(self.layout, revision: change.revisionBefore).before
        case .update:
            for value in change.values { before?.values[value.slot] = value.before }
            for placing in change.placings {
                before?.values[self.layout.placedSlots[placing.place]] =
                    placing.before.map { .reference($0.owner) } ?? .null
                before?.places[placing.place] = placing.before?.place ?? .none
            }
        }
        self.states[change.id] = .some(before)
        return self.source.rowChange(
            ChangedRow(entity: change.entity, id: change.id, before: before, after: after)
        )
    }

    private mutating func takeBack(_ reposition: Reposition) throws(StoreError) -> RowChange? {
        guard let place = self.source.orderingPlace, var row = try self.state(reposition.id) else { return nil }
        row.places[place].position = reposition.oldPosition
        self.states[reposition.id] = .some(row)
        var writer = SortKeyWriter()
        guard self.source.key(reposition.id, row, &writer) != nil else { return nil }
        return RowChange(
            id: reposition.id,
            before: RowKey(position: reposition.oldPosition, id: reposition.id),
            after: RowKey(position: reposition.newPosition, id: reposition.id),
            isPlaced: false
        )
    }
}

import NestModel
import NestOrder
import NestSchema

/// Collects what a batch of revisions changed in the rows of a computed result, in the pairs that lead to them and in
/// the objects that they depend on, and computes the row changes.
///
/// These objects change separately, in any order and in any of the revisions, and an unchanged object is known only in
/// its state after the batch. So the batch counts as one step, from the state before it to the state after it. Clients
/// are exact at the ends of batches only.
package struct ComputedChanges {
    private struct Change {
        var before: ObjectRow?
        var after: ObjectRow?
    }

    private var rows: [ObjectID: Change] = [:]
    private var pairs: [ObjectID: Change] = [:]
    /// Unchanged objects whose membership, key or columns may differ now.
    private var affected: Set<ObjectID> = []
    private var renumbered: Set<ObjectID> = []

    package init() {}

    /// The number of objects that this value remembers.
    package var count: Int { self.rows.count + self.pairs.count + self.affected.count + self.renumbered.count }

    /// Notes the change of an object that is, was or may become a row.
    package mutating func note(row object: ChangedRow) {
        self.rows[object.id, default: Change(before: object.before)].after = object.after
    }

    /// Notes the change of a pair that leads from the result's owner, before or after.
    package mutating func note(pair: ChangedRow) {
        self.pairs[pair.id, default: Change(before: pair.before)].after = pair.after
    }

    package mutating func note(affected id: ObjectID) {
        self.affected.insert(id)
    }

    /// Notes that the sparse position of a row, or of a row's pair, was renumbered.
    package mutating func note(renumbered id: ObjectID) {
        self.renumbered.insert(id)
    }

    /// Returns the rows' changes over the batch, ascending by id; `objects` are those at its end. Above `countMax` the
    /// change is large and has no values from before.
    package mutating func rowChanges<Objects: RelatedObjects>(
        of result: LiveResult,
        countMax: Int,
        _ objects: Objects
    ) throws(Objects.Failure) -> (changes: [RowChange], isLarge: Bool) {
        let source = result.source
        let pairing = try self.takePairing(source, objects)
        let ids = self.ids(pairing)
        let isLarge = ids.count > countMax
        var writer = SortKeyWriter()
        var changes: [RowChange] = []
        for id in ids {
            var row = RowState(id: id, known: result.member(id), versions: self.rows[id], pairing: pairing)
            guard let change = try row.change(source, isLarge: isLarge, &writer, objects) else { continue }
            changes.append(change)
        }
        return (changes, isLarge)
    }

    /// Returns the objects whose rows may have changed, ascending.
    private func ids(_ pairing: Pairing?) -> [ObjectID] {
        guard pairing != nil || !self.affected.isEmpty else { return self.rows.keys.sorted() }
        var ids = self.affected.union(self.rows.keys)
        if let pairing {
            ids.formUnion(pairing.before.keys)
            ids.formUnion(pairing.after.keys)
        }
        return ids.sorted()
    }

    /// Returns the pairs before and after, by the objects they lead to. A pair may have been renumbered after its last
    /// change, so it is read again.
    private mutating func takePairing<Objects: RelatedObjects>(_ source: ResultSource, _ objects: Objects)
        throws(Objects.Failure) -> Pairing?
    {
        guard case .paired(let join, let ownerSlot, let targetSlot, _, let owner) = source.membership else {
            for id in self.renumbered {
                guard let row = try objects.row(source.table, id) else { continue }
                self.rows[id, default: Change(before: row)].after = row
            }
            return nil
        }
        for id in self.renumbered {
            guard let row = try objects.row(join, id) else { continue }
            self.pairs[id, default: Change(before: row)].after = row
        }
        var pairing = Pairing()
        for versions in self.pairs.values {
            for (row, isBefore) in [(versions.before, true), (versions.after, false)] {
                guard let row, row.values.reference(ownerSlot) == owner,
                    let id = row.values.reference(targetSlot)
                else { continue }
                if isBefore { pairing.before[id] = row } else { pairing.after[id] = row }
            }
        }
        return pairing
    }

    /// The changed pairs of a paired result.
    private struct Pairing {
        var before: [ObjectID: ObjectRow] = [:]
        var after: [ObjectID: ObjectRow] = [:]
    }

    /// The state of one object in the batch.
    private struct RowState {
        let id: ObjectID
        let known: LiveResult.Member?
        let versions: Change?
        let pairing: Pairing?

        /// Returns the row's change; `nil` if nothing changed.
        mutating func change<Objects: RelatedObjects>(
            _ source: ResultSource,
            isLarge: Bool,
            _ writer: inout SortKeyWriter,
            _ objects: Objects
        ) throws(Objects.Failure) -> RowChange? {
            let isPaired = try self.isPaired(source, objects)
            let needsRow = !source.sort.isEmpty || source.isFiltered || !source.related.isEmpty || !source.isPaired
            var row = self.versions?.after
            if self.versions == nil, isPaired ? needsRow : !isLarge && self.known != nil {
                row = try objects.row(source.table, self.id)
            }
            var key: RowKey?
            var related: [AttributeValue] = []
            if isPaired, try self.isAdmitted(row, source, needsRow: needsRow, objects) {
                if let row {
                    related = try source.related.map { (value) throws(Objects.Failure) in
                        try value.value(self.id, row, objects)
                    }
                }
                let place = try self.place(source, row, objects)
                key = source.key(self.id, row, place: place, related, &writer)
            }
            guard self.known != nil || key != nil else { return nil }
            var change = RowChange(
                id: self.id,
                before: self.known?.key,
                after: key,
                isPlaced: self.known == nil || key == nil,
                isDeleted: key == nil && row == nil
            )
            if related.count > source.columnCount { related.removeLast(related.count - source.columnCount) }
            change.columns = related
            if !isLarge {
                change.noteValues(from: self.versions.map(\.before) ?? row, to: row)
                change.noteColumns(from: self.known?.columns ?? [])
            }
            if !change.isPlaced { change.isPlaced = self.isPlaced(source, change) }
            let isChanged = change.before != key || change.isPlaced || !change.changed.isEmpty
            return isChanged || isLarge ? change : nil
        }

        /// Whether the filter matches the object; true if its values do not matter.
        private func isAdmitted<Objects: RelatedObjects>(
            _ row: ObjectRow?,
            _ source: ResultSource,
            needsRow: Bool,
            _ objects: Objects
        ) throws(Objects.Failure) -> Bool {
            guard needsRow else { return true }
            guard let row else { return false }
            return try source.admits(self.id, row, objects)
        }

        /// Whether a pair connects the object with the owner; true if pairs do not decide the rows.
        private func isPaired<Objects: RelatedObjects>(_ source: ResultSource, _ objects: Objects) throws(Objects
            .Failure) -> Bool
        {
            guard let pairing else { return true }
            if pairing.after[self.id] != nil { return true }
            if pairing.before[self.id] != nil { return false }
            // The pair did not change. A row has a pair; another object may have one too, if the filter did not match
            // it.
            if self.known != nil { return true }
            guard source.isFiltered else { return false }
            return try objects.pair(source, self.id) != nil
        }

        /// The stored position that orders the object; `nil` if its values do.
        private func place<Objects: RelatedObjects>(
            _ source: ResultSource,
            _ row: ObjectRow?,
            _ objects: Objects
        ) throws(Objects.Failure) -> SparsePlace? {
            guard let place = source.orderingPlace else { return nil }
            guard let pairing else { return row?.places[place] }
            if let pair = pairing.after[self.id] { return pair.places[place] }
            return try objects.pair(source, self.id)?.places[place]
        }

        private func isPlaced(_ source: ResultSource, _ change: RowChange) -> Bool {
            guard let place = source.orderingPlace else { return change.before != change.after }
            if let pairing {
                return pairing.before[self.id]?.places[place].stamp != pairing.after[self.id]?.places[place].stamp
            }
            guard let versions else { return false }
            return versions.before?.places[place].stamp != versions.after?.places[place].stamp
        }
    }
}

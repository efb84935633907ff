import NestModel
import NestOrder
import NestSchema

/// The sort keys of rows.
extension ResultSource {
    /// Whether an object of the membership is a row.
    package func admits<Objects: RelatedObjects>(
        _ id: ObjectID,
        _ row: ObjectRow,
        _ objects: Objects
    ) throws(Objects.Failure) -> Bool {
        guard self.hasKind(row.entity) else { return false }
        if case .owned(let slot, _, let owner) = self.membership, row.values.reference(slot) != owner {
            return false
        }
        guard let filter = self.filter else { return true }
        return try filter.admits(id, row, objects)
    }

    /// Returns the key of a row that is known to be in the result. `place` is the stored position of the pair or the
    /// object, `related` the values of the source's `related`.
    package func key(
        _ id: ObjectID,
        _ row: ObjectRow?,
        place: SparsePlace?,
        _ related: [AttributeValue],
        _ writer: inout SortKeyWriter
    ) -> RowKey {
        if !self.sort.isEmpty, let row { return RowKey(writer.key(self.sort, row, related), id: id) }
        return place.map { RowKey(position: $0.position, id: id) } ?? RowKey(.none, id: id)
    }

    /// Returns the key of an object in a result that is not computed, or `nil` if it is not in the result.
    package func key(_ id: ObjectID, _ row: ObjectRow?, _ writer: inout SortKeyWriter) -> RowKey? {
        guard let row, self.hasKind(row.entity) else { return nil }
        switch self.membership {
        case .all:
            break
        case .owned(let slot, _, let owner):
            guard row.values.reference(slot) == owner else { return nil }
        case .paired:
            // Paired results are computed: callers use the result's members instead.
            preconditionFailure("pairs decide the rows of a paired result")
        }
        guard self.filter?.admits(id, row) ?? true else { return nil }
        return self.key(id, row, place: self.orderingPlace.map { row.places[$0] }, [], &writer)
    }

    /// Returns the row change that a changed object causes in a result that is not computed, or `nil`.
    package func rowChange(_ object: ChangedRow) -> RowChange? {
        var writer = SortKeyWriter()
        let before = self.key(object.id, object.before, &writer)
        let after = self.key(object.id, object.after, &writer)
        guard before != nil || after != nil else { return nil }
        var change = RowChange(
            id: object.id,
            before: before,
            after: after,
            isPlaced: before == nil || after == nil,
            isDeleted: object.after == nil
        )
        change.noteValues(from: object.before, to: object.after)
        if !change.isPlaced {
            if let place = self.orderingPlace {
                change.isPlaced = object.before?.places[place].stamp != object.after?.places[place].stamp
            } else {
                change.isPlaced = before != after
            }
        }
        return change
    }
}

extension SortKeyWriter {
    /// Returns the key of a row's values in an order. `related`: the values of `ResultSource.related`.
    package mutating func key(_ terms: [SortTerm], _ row: ObjectRow, _ related: [AttributeValue]) -> SortKey {
        for term in terms {
            switch term.operand {
            case .slot(let slot): self.write(row.values[slot], term.order)
            case .related(let index): self.write(related[index], term.order)
            }
        }
        return self.take()
    }
}

extension Sectioning {
    /// Returns `nil` for a result with one section. Precondition: the function fits the first term.
    package init?(_ source: ResultSource) {
        guard let function = source.section, let term = source.sort.first else { return nil }
        self.init(function: function, term: term.order, isAlone: source.sort.count == 1)
    }
}

extension RelatedObjects {
    /// Returns the pair of a paired result that leads to an object.
    func pair(_ source: ResultSource, _ target: ObjectID) throws(Failure) -> ObjectRow? {
        guard case .paired(let join, let ownerSlot, let targetSlot, _, let owner) = source.membership else {
            return nil
        }
        return try self.pair(join, [(ownerSlot, owner), (targetSlot, target)])
    }
}

extension RowChange {
    /// Records the old values of the row's object that changed. For a row that leaves the result it records all of
    /// them, because the row may return with values whose changes the result does not see.
    mutating func noteValues(from old: ObjectRow?, to new: ObjectRow?) {
        guard let old, self.before != nil else { return }
        if self.after == nil {
            self.changed = old.values.decoded.enumerated().map { ($0, $1) }
        } else if let new {
            for slot in old.values.indices where !old.values.isSame(slot, as: new.values) {
                self.changed.append((slot, old.values[slot]))
            }
        }
    }

    /// Does the same for columns.
    mutating func noteColumns(from old: [AttributeValue]) {
        guard self.before != nil else { return }
        for (index, value) in old.enumerated() where self.after == nil || self.columns[index] != value {
            self.changed.append((EntityLayout.columnSlot(index), value))
        }
    }
}

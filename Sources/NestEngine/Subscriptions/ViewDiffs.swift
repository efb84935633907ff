import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// Makes diffs of views: differences between two states of a result, with the values that a view shows.
struct ViewDiffs {
    let store: Store
    let scopes: TokenScopes

    /// Returns the rows that leave, with their reason at the difference's last revision. The change that removed a row
    /// knows the reason only at its own revision.
    private func left(_ net: StructuralDifference, _ result: LiveResult, _ known: KnownRows) throws(StoreError)
        -> [ResultsDiff.DeletedRow]
    {
        guard known.isOfSeveralRevisions else { return net.deletedRows }
        return try net.deletedRows.map { (row) throws(StoreError) in
            guard row.reason != .outOfWindow else { return row }
            var row = row
            var exists = known.exists(row.id)
            if exists == nil { exists = try self.store.row(result.source.table, row.id) != nil }
            row.reason = exists == true ? .unmatched : .deleted
            return row
        }
    }

    /// Returns the rows that leave as a token scope shows them: an object that has left the sub-tree counts as deleted.
    private func visible(_ rows: [ResultsDiff.DeletedRow], _ view: View) throws(StoreError) -> [ResultsDiff.DeletedRow]
    {
        guard let confinement = try view.key.result.scope.confinement(self.store, self.scopes) else { return rows }
        return try rows.map { (row) throws(StoreError) in
            guard row.reason == .unmatched, try !confinement.contains(row.id) else { return row }
            var row = row
            row.reason = .deleted
            return row
        }
    }

    /// Returns a difference with the values of a view. `rows`: objects whose current state is known; others are read. A
    /// row that leaves is `deleted` if its object is gone now, whatever removed it from the result.
    func diff(
        _ view: View,
        _ net: StructuralDifference,
        from: Revision,
        _ result: LiveResult,
        _ rows: KnownRows
    ) throws(StoreError) -> ResultsDiff {
        var diff = ResultsDiff(
            from: from,
            to: self.store.head,
            total: view.range.count,
            digest: result.tree.digest(of: view.range).value
        )
        diff.window = view.position(in: result.tree)
        diff.deletedRows = try self.visible(self.left(net, result, rows), view)
        diff.deletedSections = net.deletedSections
        diff.insertedSections = net.insertedSections
        diff.moves = net.moves
        func row(_ id: ObjectID) throws(StoreError) -> ObjectRow {
            if let row = rows[id] { return row }
            guard let row = try self.store.row(result.source.table, id) else {
                preconditionFailure("the row \(id) of a result is in the store")
            }
            return row
        }
        func value(_ slot: Int, _ id: ObjectID, _ row: ObjectRow) -> AttributeValue {
            guard let column = EntityLayout.column(ofSlot: slot) else { return row[slot: slot] }
            return result.member(id)?.columns[column] ?? .null
        }
        diff.insertedRows.reserveCapacity(net.insertedRows.count)
        for inserted in net.insertedRows {
            let row = try row(inserted.id)
            // A view of all stored properties shares the object's values.
            let isWhole = view.hasSlotsInOrder && view.slots.count == row.values.count
            let values = isWhole ? row.values : view.slots.map { value($0, inserted.id, row) }
            diff.insertedRows.append(.init(path: inserted.path, row: Row(id: inserted.id, values: values)))
        }
        for changed in net.changedRows {
            let row = try row(changed.id)
            var update = ResultsDiff.Update(path: changed.path, values: [])
            for (slot, property) in zip(view.slots, view.key.projection) {
                // An object's entity never changes, so its slot is not among the changes.
                guard let before = changed.before.first(where: { $0.slot == slot })?.before else { continue }
                let after = value(slot, changed.id, row)
                if before != after { update.values.append((property, after)) }
            }
            if !update.values.isEmpty { diff.updates.append(update) }
        }
        return diff
    }
}

extension ObjectRow {
    /// The value of a projection's slot.
    fileprivate subscript(slot slot: Int) -> AttributeValue {
        slot == EntityLayout.entitySlot ? .integer(Int64(self.entity.rawValue)) : self.values[slot]
    }
}

import NestLiveQuery
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// A difference between two states of a view, with its rows as the bytes that are sent.
struct ViewDiff {
    /// Without inserted and updated rows.
    var head: ResultsDiff
    var rows = EncodedDiffRows()

    /// Whether it changes nothing. Such a diff is never sent.
    var isEmpty: Bool { self.rows.isEmpty && self.head.isEmpty }

    /// The body of a DIFF.
    var body: [UInt8] {
        var body = ByteWriter()
        body.write(diff: self.head, self.rows)
        return body.bytes
    }
}

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
    ) throws(StoreError) -> ViewDiff {
        var head = ResultsDiff(
            from: from,
            to: self.store.head,
            total: view.range.count,
            digest: result.tree.digest(of: view.range).value
        )
        head.window = view.position(in: result.tree)
        head.deletedRows = try self.visible(self.left(net, result, rows), view)
        head.deletedSections = net.deletedSections
        head.insertedSections = net.insertedSections
        head.moves = net.moves
        var diff = ViewDiff(head: head)
        func row(_ id: ObjectID) throws(StoreError) -> ObjectRow {
            if let row = rows[id] { return row }
            guard let row = try self.store.row(result.source.table, id) else {
                preconditionFailure("the row \(id) of a result is in the store")
            }
            return row
        }
        for inserted in net.insertedRows {
            let row = try row(inserted.id)
            diff.rows.insert(inserted.id, at: inserted.path) { self.write(row, inserted.id, view, result, into: &$0) }
        }
        for changed in net.changedRows {
            let row = try row(changed.id)
            var values = ByteWriter()
            var count = 0
            for (slot, property) in zip(view.slots, view.key.projection) {
                // An object's entity never changes, so its slot is not among the changes.
                guard let before = changed.before.first(where: { $0.slot == slot })?.before else { continue }
                let end = values.count
                values.write(count: Int(property.rawValue))
                let start = values.count
                self.write(slot, row, changed.id, result, into: &values)
                if values.bytes[start...].elementsEqual(before.encoded) {
                    values.truncate(to: end)
                } else {
                    count += 1
                }
            }
            if count > 0 { diff.rows.update(at: changed.path, count: count) { $0.write(raw: values.bytes) } }
        }
        return diff
    }

    /// Writes the values that a view shows of an object.
    private func write(
        _ row: ObjectRow,
        _ id: ObjectID,
        _ view: View,
        _ result: LiveResult,
        into writer: inout ByteWriter
    ) {
        if view.hasSlotsInOrder, view.slots.count == row.values.count {
            // All stored properties.
            row.values.withSlots { writer.write(raw: $0.whole) }
        } else {
            for slot in view.slots { self.write(slot, row, id, result, into: &writer) }
        }
    }

    /// Writes the value of a projection's slot.
    private func write(
        _ slot: Int,
        _ row: ObjectRow,
        _ id: ObjectID,
        _ result: LiveResult,
        into writer: inout ByteWriter
    ) {
        if slot == EntityLayout.entitySlot {
            writer.write(integerValue: Int64(row.entity.rawValue))
        } else if let column = EntityLayout.column(ofSlot: slot) {
            writer.write(value: result.member(id)?.columns[column] ?? .null)
        } else {
            row.values.withSlots { writer.write(raw: $0[slot].bytes) }
        }
    }
}

extension AttributeValue {
    fileprivate var encoded: [UInt8] {
        var writer = ByteWriter()
        writer.write(value: self)
        return writer.bytes
    }
}

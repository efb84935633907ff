import NestLiveQuery
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// What a window of an outline shows: reads its values, and compares it with what a connection was sent.
struct OutlineWindow {
    let store: Store
    let scopes: TokenScopes
    let related: RelatedState

    /// Returns the rows of a window with their values. `known`: returns the values of a row whose object has not
    /// changed.
    func rows(
        _ range: Range<Int>,
        of rows: OutlineTree,
        _ source: OutlineSource,
        _ columns: [Outline.Column],
        known: (ObjectID) -> [AttributeValue]? = { _ in nil }
    ) throws(StoreError) -> [Outline.SentRow] {
        var entries: [FlatTree.Entry] = []
        entries.reserveCapacity(range.count)
        rows.tree.forEach(in: range) { entries.append($0) }
        self.related.beginTurn(rowsMax: Limits.outlineAggregatedRowsMax)
        defer { self.related.endTurn() }
        return try entries.map { (entry) throws(StoreError) in
            if var values = known(entry.id) {
                for (index, column) in columns.enumerated() {
                    switch column {
                    case .depth: Self.set(.integer(Int64(entry.depth)), &values, index)
                    case .childCount: Self.set(Self.children(entry), &values, index)
                    case .slot, .related: break
                    }
                }
                return Outline.SentRow(id: entry.id, values: values)
            }
            guard let row = try self.store.row(source.table, entry.id) else {
                // Only after a commit whose changes could not be followed.
                throw StoreError.refused(
                    NestError(.internalError, "the outline has not followed a commit: subscribe again")
                )
            }
            let values = try columns.map { (column) throws(StoreError) -> AttributeValue in
                switch column {
                case .depth: return .integer(Int64(entry.depth))
                case .childCount: return Self.children(entry)
                case .slot(EntityLayout.entitySlot): return .integer(Int64(row.entity.rawValue))
                case .slot(let slot): return row.values[slot]
                case .related(let index):
                    do throws(StoreError) {
                        return try source.children.related[index].value(entry.id, row, self.related)
                    } catch StoreError.postponed(.resultTooExpensive) {
                        throw Self.tooManyValues
                    }
                }
            }
            return Outline.SentRow(id: entry.id, values: values)
        }
    }

    private static let tooManyValues = StoreError.refused(
        .limitExceeded,
        "the functions in the columns of the outline read over \(Limits.outlineAggregatedRowsMax) values of related "
            + "objects for one window"
    )

    /// Copies the values of a row only if one differs.
    private static func set(_ value: AttributeValue, _ values: inout [AttributeValue], _ index: Int) {
        if values[index] != value { values[index] = value }
    }

    static func children(_ entry: FlatTree.Entry) -> AttributeValue {
        .integer(Int64(entry.isExpanded ? entry.childCount : -1 - entry.childCount))
    }

    /// Returns the difference between the rows that a connection has and those that it is to have. `rows`: the outline
    /// of the latter.
    func difference(
        from old: Outline,
        to new: [Outline.SentRow],
        of rows: OutlineTree,
        _ outline: Outline,
        _ scope: AuthorisationScope,
        from: Revision
    ) throws(StoreError) -> ResultsDiff {
        let range = Outline.range(outline.window, rows)
        var diff = ResultsDiff(
            from: from,
            to: self.store.head,
            total: new.count,
            digest: rows.tree.digest(of: range).value
        )
        diff.window = Outline.position(range, outline.window, rows)
        let oldIndexes = old.sentIndexes
        let old = old.sent
        var isKept = [Bool](repeating: false, count: old.count)
        var kept: [(old: Int, new: Int)] = []
        for (index, row) in new.enumerated() {
            guard let oldIndex = oldIndexes[row.id] else {
                diff.insertedRows.append(.init(path: RowPosition(0, index), row: Row(id: row.id, values: row.values)))
                continue
            }
            isKept[oldIndex] = true
            kept.append((oldIndex, index))
            var update = ResultsDiff.Update(path: RowPosition(0, index), values: [])
            for (position, property) in outline.projection.enumerated()
            where old[oldIndex].values[position] != row.values[position] {
                update.values.append((property, row.values[position]))
            }
            if !update.values.isEmpty { diff.updates.append(update) }
        }
        for index in old.indices where !isKept[index] {
            let id = old[index].id
            let reason = try self.reason(id, rows, outline.source, scope)
            diff.deletedRows.append(.init(path: RowPosition(0, index), id: id, reason: reason))
        }
        var stays = [Bool](repeating: false, count: kept.count)
        for index in longestIncreasingSubsequence(kept.map(\.old)) { stays[index] = true }
        for (index, row) in kept.enumerated() where !stays[index] {
            diff.moves.append(.init(from: RowPosition(0, row.old), to: RowPosition(0, row.new)))
        }
        return diff
    }

    /// Returns why a row is not in the window any more. An object outside the token's scope counts as deleted.
    private func reason(
        _ id: ObjectID,
        _ rows: OutlineTree,
        _ source: OutlineSource,
        _ scope: AuthorisationScope
    ) throws(StoreError) -> LeaveReason {
        if rows.tree.contains(id) { return .outOfWindow }
        if let confinement = try scope.confinement(self.store, self.scopes) {
            return try confinement.contains(id) ? .unmatched : .deleted
        }
        return try self.store.row(source.table, id) == nil ? .deleted : .unmatched
    }

    /// Returns a whole window as the frames of a snapshot.
    func snapshot(
        _ rows: [Outline.SentRow],
        of outline: OutlineTree,
        _ window: FetchWindow,
        _ reason: SnapshotReason
    ) -> (header: SnapshotHeader, bodies: [SharedBytes]) {
        let range = Outline.range(window, outline)
        let header = SnapshotHeader(
            reason: reason,
            revision: self.store.head,
            digest: outline.tree.digest(of: range).value,
            window: Outline.position(range, window, outline),
            sections: [.init(key: .string(""), rowCount: rows.count)]
        )
        var bodies: [SharedBytes] = []
        var writer = ByteWriter()
        var count = 0
        func finish() {
            guard count > 0 else { return }
            var body = ByteWriter(capacity: writer.count + 4)
            body.write(count: count)
            body.write(raw: writer.bytes)
            bodies.append(SharedBytes(body.bytes))
            (writer, count) = (ByteWriter(), 0)
        }
        for row in rows {
            writer.write(row: Row(id: row.id, values: row.values))
            count += 1
            if writer.count >= Limits.chunkBytes { finish() }
        }
        finish()
        return (header, bodies)
    }
}

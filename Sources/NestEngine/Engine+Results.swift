import NestLiveQuery
import NestModel
import NestStore

extension Engine {
    /// The live result for a key, loaded from the store when there is none.
    func result(_ key: ResultKey, now: Int64) throws -> ResultRegistry.Entry {
        if let entry = self.results[key] { return entry }
        let result = LiveResult(
            source: key.source,
            sorted: try self.loadKeys(key.source),
            revision: self.store.head
        )
        return self.results.insert(key, result, now: now)
    }

    /// The keys of a result in the store, ascending.
    private func loadKeys(_ source: ResultSource) throws -> [RowKey] {
        var keys: [RowKey] = []
        var writer = SortKeyWriter()
        var isAscending = true
        let isPlaced = source.orderingPlace != nil
        try self.store.forEachRow(of: source) { id, position, values in
            var key = RowKey(.none, id: id)
            if isPlaced {
                key.sort = SortKey(position: position)
            } else if !source.sort.isEmpty {
                for (value, term) in zip(values, source.sort) { writer.write(value, term) }
                key.sort = writer.take()
            }
            if let last = keys.last, !(last < key) { isAscending = false }
            keys.append(key)
        }
        // What decides is the order of the keys; SQL's only saves the sorting.
        if !isAscending { keys.sort() }
        return keys
    }

    /// A result's rows as the store has them now, in its order.
    private func readRows(_ source: ResultSource, _ slots: [Int]) throws -> EncodedRows {
        if source.isOrderedBySQL, source.filter == nil {
            return try self.store.rows(of: source, projection: slots, sectionHash: LiveResult.sectionHash)
        }
        let ids = try self.loadKeys(source).map(\.id)
        return try self.store.rows(ids, of: source, projection: slots, sectionHash: LiveResult.sectionHash)
    }

    private func header(_ rows: EncodedRows) -> SnapshotHeader {
        SnapshotHeader(
            reason: .first,
            revision: self.store.head,
            total: rows.count,
            digest: rows.digest.value,
            sections: [.init(key: LiveResult.sectionKey, rowCount: rows.count)]
        )
    }

    /// The whole of a view at the head, encoded once for all who ask at the same revision.
    func snapshot(_ view: View) throws -> (header: SnapshotHeader, rows: [[UInt8]]) {
        if let snapshot = view.snapshot, snapshot.header.revision == self.store.head { return snapshot }
        guard let entry = self.results[view.key.result] else { preconditionFailure("a view has a result") }
        let read = try self.readRows(view.key.result.source, view.slots)
        // The store and the live result were brought here by different ways: they must agree.
        precondition(
            read.count == entry.result.tree.count && read.digest == entry.result.tree.digest,
            "a live result differs from the store at revision \(self.store.head)"
        )
        let snapshot = (self.header(read), read.bodies)
        view.snapshot = snapshot
        self.encoded.append(view)
        return snapshot
    }

    /// One fetch, without a live result.
    func fetch(_ request: FetchRequest, atLeast: Revision) throws -> EngineReply {
        try self.requireRevision(atLeast)
        let resolved = try self.resolve(request, mayBeGone: false)
        let rows = try self.readRows(resolved.source, resolved.slots)
        return .snapshot(self.header(rows), rows: rows.bodies)
    }
}

import NestLiveQuery
import NestModel
import NestStore

extension Engine {
    /// The live result for a key, loaded from the store when there is none.
    func result(_ key: ResultKey, now: Int64) throws -> ResultRegistry.Entry {
        if let entry = self.results[key] { return entry }
        try self.related.retain(key.source)
        do {
            let rows = try self.store.resultRows(key.source, self.related)
            let result = LiveResult(source: key.source, sorted: rows, revision: self.store.head)
            return self.results.insert(key, result, now: now)
        } catch {
            self.related.release(key.source)
            throw error
        }
    }

    /// Forgets a result that nobody uses.
    func removeResult(_ key: ResultKey) {
        self.results.remove(key)
        self.related.release(key.source)
    }

    /// The whole of a view at the head, encoded once for all who ask at the same revision.
    func snapshot(_ view: View) throws -> (header: SnapshotHeader, rows: [[UInt8]]) {
        if let snapshot = view.snapshot, snapshot.header.revision == self.store.head { return snapshot }
        guard let entry = self.results[view.key.result] else { preconditionFailure("a view has a result") }
        let result = entry.result
        let (sections, read) = try self.store.encodedRows(
            result.source,
            result.tree,
            view.range,
            slots: view.slots,
            columns: { result.member($0)?.columns ?? [] }
        )
        // The store and the live result were brought here by different ways: they must agree.
        precondition(
            read.count == view.range.count && read.digest == result.tree.digest(of: view.range),
            "a live result differs from the store at revision \(self.store.head)"
        )
        let position = result.tree.position(of: view.range, anchor: view.anchor?.id)
        let snapshot = (self.header(position, sections, read), read.bodies)
        view.snapshot = snapshot
        self.encoded.append(view)
        return snapshot
    }

    private func header(
        _ position: WindowPosition,
        _ sections: [OrderStatisticTree.SectionRows],
        _ rows: EncodedRows
    ) -> SnapshotHeader {
        SnapshotHeader(
            reason: .first,
            revision: self.store.head,
            digest: rows.digest.value,
            window: position,
            sections: sections.map { .init(key: $0.key, rowCount: $0.rows.count) }
        )
    }

    static func notARow(_ id: ObjectID) -> NestError {
        NestError(.notFound, "the object \(id) is no row of the result: there is no window around it", object: id)
    }

    /// One fetch, by the live result when there is one.
    func fetch(_ request: FetchRequest, _ scope: AuthorisationScope, atLeast: Revision) throws -> EngineReply {
        try self.requireRevision(atLeast)
        let resolved = try self.resolve(request, mayBeGone: false)
        let source = resolved.source
        let tree: OrderStatisticTree
        let columns: (ObjectID) -> [AttributeValue]
        func anchor(_ tree: OrderStatisticTree) throws -> RowKey? {
            guard case .around(let id, _, _) = resolved.window else { return nil }
            // O(n), as reading the result was.
            var found: RowKey?
            tree.forEach { if $0.id == id { found = $0 } }
            guard let found else { throw Self.notARow(id) }
            return found
        }
        if let result = self.results[ResultKey(source: source, scope: scope)]?.result {
            tree = result.tree
            columns = { result.member($0)?.columns ?? [] }
        } else {
            try self.related.retain(source)
            defer { self.related.release(source) }
            let rows = try self.store.resultRows(source, self.related)
            tree = OrderStatisticTree(sorted: rows.keys, sectioning: Sectioning(source))
            columns = { rows.columns[$0] ?? [] }
        }
        let around = try anchor(tree)
        let range = View.range(resolved.window, around, tree)
        let (sections, rows) = try self.store.encodedRows(source, tree, range, slots: resolved.slots, columns: columns)
        let position = tree.position(of: range, anchor: around?.id)
        return .snapshot(self.header(position, sections, rows), rows: rows.bodies)
    }
}

import NestProtocol
import NestLiveQuery
import NestModel
import NestOrder
import NestStore
import NestSchema

/// Reads the rows of a result from the store.
extension ObjectReader {
    /// Returns the rows of a result as they are now. O(n log n) when SQL does not sort them.
    ///
    /// Throws `postponed(.resultTooExpensive)` if the estimated time exceeds `nanosecondsMax`. `grow`: reserves the
    /// memory for more rows; its error ends the reading. `watch`: checked while expensive predicates are evaluated.
    func resultRows(
        _ source: ResultSource,
        _ related: RelatedState,
        nanosecondsMax: Int = .max,
        watch: ReadDeadline = .none,
        grow: (_ byteCount: Int) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) -> ResultRows {
        var rows = ResultRows()
        var writer = SortKeyWriter()
        var isAscending = true
        var newBytes = 0
        func append(_ key: RowKey) throws(StoreError) {
            if let last = rows.keys.last, !(last < key) { isAscending = false }
            rows.keys.append(key)
            newBytes += 64 + key.sort.tailBytes + 48 * source.columnCount
            if newBytes >= Limits.chunkBytes {
                try grow(newBytes)
                newBytes = 0
            }
        }
        let isPlaced = source.orderingPlace != nil
        if source.isDecidedBySQL {
            try self.forEachKey(of: source) { (id, position, values) throws(StoreError) in
                var key = RowKey(.none, id: id)
                if isPlaced {
                    key.sort = SortKey(position: position)
                } else if !source.sort.isEmpty {
                    for (value, term) in zip(values, source.sort) { writer.write(value, term.order) }
                    key.sort = writer.take()
                }
                try append(key)
            }
            rows.candidateCount = rows.keys.count
        } else {
            let cost = source.cost
            var checkedNanoseconds = 0
            try self.forEachCandidate(of: source) { (id, position, row) throws(StoreError) in
                rows.candidateCount += 1
                rows.nanoseconds += cost.nanoseconds(row)
                // SQLite checks the deadline after many rows, and one row can take long to evaluate.
                if rows.nanoseconds - checkedNanoseconds >= Self.nanosecondsBetweenChecks {
                    checkedNanoseconds = rows.nanoseconds
                    try watch.check()
                }
                guard rows.nanoseconds <= nanosecondsMax else { throw StoreError.postponed(.resultTooExpensive) }
                if let filter = source.filter, try !filter.admits(id, row, related) { return }
                let values = try source.related.map { (value) throws(StoreError) in try value.value(id, row, related) }
                let place = isPlaced ? SparsePlace(position: position, stamp: 0) : nil
                try append(source.key(id, row, place: place, values, &writer))
                if source.columnCount > 0 {
                    let columns = Array(values.prefix(source.columnCount))
                    newBytes += columns.reduce(0) { $0 + $1.byteCount }
                    rows.columns[id] = columns
                }
            }
        }
        // The order of the keys decides; SQL's order only saves the sorting.
        if !isAscending { rows.keys.sort() }
        return rows
    }

    /// The estimated time of evaluation between two checks of the deadline.
    private static let nanosecondsBetweenChecks = 10_000_000

    /// Encodes the rows of a range of a result's tree. `slots`: columns last. `onBody`: called with each body when it
    /// is complete.
    func encodedRows(
        _ source: ResultSource,
        _ tree: OrderStatisticTree,
        _ range: Range<Int>,
        slots: [Int],
        onBody: @escaping (SharedBytes) throws(StoreError) -> Void = { _ in },
        columns: (ObjectID) -> [AttributeValue]
    ) throws(StoreError) -> (sections: [OrderStatisticTree.SectionRows], rows: EncodedRows) {
        let sections = tree.sections(of: range)
        var shares = sections.map { (hash: ResultsDigest.sectionHash($0.key), count: $0.rows.count) }
        if shares.isEmpty { shares = [(ResultsDigest.sectionHash(LiveResult.wholeSection), 0)] }
        let projection = slots.filter { EntityLayout.column(ofSlot: $0) == nil }
        if source.isOrderedBySQL, source.isDecidedBySQL, range.count == tree.count {
            return (sections, try self.rows(of: source, projection: projection, sections: shares, onBody: onBody))
        }
        let wanted = slots.compactMap { EntityLayout.column(ofSlot: $0) }
        var ids: [ObjectID] = []
        ids.reserveCapacity(range.count)
        tree.forEach(in: range) { ids.append($0.id) }
        let rows = try self.rows(ids, of: source, projection: projection, sections: shares, onBody: onBody) { id in
            guard !wanted.isEmpty else { return [] }
            let values = columns(id)
            return wanted.map { values[$0] }
        }
        return (sections, rows)
    }
}

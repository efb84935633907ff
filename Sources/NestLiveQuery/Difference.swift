import NestModel

/// The difference between two states of a result without values: coordinates, ids, and the rows whose values are
/// needed.
package struct StructuralDifference {
    package var deletedRows: [ResultsDiff.DeletedRow] = []
    package var deletedSections: [Int] = []
    package var insertedSections: [ResultsDiff.InsertedSection] = []
    package var moves: [ResultsDiff.Move] = []
    package var insertedRows: [(path: RowPosition, id: ObjectID)] = []
    /// Rows in both states whose values changed in between; `before` has the old values.
    package var changedRows: [(path: RowPosition, id: ObjectID, before: [(slot: Int, before: AttributeValue)])] = []

    package init() {}

    /// A section does not come or go without a row.
    package var isEmpty: Bool {
        self.deletedRows.isEmpty && self.moves.isEmpty && self.insertedRows.isEmpty && self.changedRows.isEmpty
    }
}

/// The net changes between two states of a result, ready for any view of it. Ordinary commits, paused or slow
/// subscribers, returning clients and moved windows all use it.
///
/// `touching` holds the net change of every row that changed in between, and may hold more. Rows that are not placed
/// keep their order among themselves and never move; among the placed rows the moves are as few as can be: those that
/// changed section, and of the others all but a longest increasing sub-sequence of those that kept their gap between
/// the rest. O(k log n) for k changed rows; each window then O(k) and the rows that enter or leave it at its ends.
package struct ResultDelta {
    struct Entry {
        var change: RowChange
        /// Among all rows; `nil` when it is in none of them.
        var oldIndex: Int?
        var newIndex: Int?
        /// It was inserted, deleted or moved.
        var isPlaced: Bool
    }

    package let old: OrderStatisticTree
    let new: OrderStatisticTree
    let entries: [Entry]
    /// Indexes of the rows that are not stationary for certain; the others are in the same order in both states.
    let oldPlaced: [Int]
    let newPlaced: [Int]

    package init(
        from old: OrderStatisticTree,
        to new: OrderStatisticTree,
        touching changes: some Sequence<RowChange>
    ) {
        self.old = old
        self.new = new
        var entries: [Entry] = []
        var oldPlaced: [Int] = []
        var newPlaced: [Int] = []
        for change in changes {
            let isPlaced = change.isPlaced || change.before == nil || change.after == nil
            guard change.before != nil || change.after != nil, isPlaced || !change.changed.isEmpty else { continue }
            let entry = Entry(
                change: change,
                oldIndex: change.before.map { old.index(of: $0) },
                newIndex: change.after.map { new.index(of: $0) },
                isPlaced: isPlaced
            )
            entries.append(entry)
            guard isPlaced else { continue }
            if let index = entry.oldIndex { oldPlaced.append(index) }
            if let index = entry.newIndex { newPlaced.append(index) }
        }
        self.entries = entries
        self.oldPlaced = oldPlaced.sorted()
        self.newPlaced = newPlaced.sorted()
    }

    /// Changed rows: an upper bound of what one window costs besides its ends.
    package var count: Int { self.entries.count }

    /// The old index of a changed row; `nil` when it was not there, or did not change.
    package func oldKey(of id: ObjectID) -> RowKey? { self.entries.first { $0.change.id == id }?.change.before }

    /// The index of the row that has come into the place of one that was there and has left; the count of all when
    /// there is none. Between the same unchanged rows as before, even where those have been renumbered. O(log n).
    package func place(ofLeft key: RowKey) -> Int {
        let index = self.old.index(of: key)
        let stationary = index - rank(index, in: self.oldPlaced)
        let low = stationary == 0 ? 0 : self.newIndex(ofStationary: stationary - 1) + 1
        let isLast = stationary == self.new.count - self.newPlaced.count
        let high = isLast ? self.new.count : self.newIndex(ofStationary: stationary)
        return min(max(self.new.index(of: key), low), high)
    }

    /// Of a row that is not placed, by its rank among those.
    private func newIndex(ofStationary rank: Int) -> Int {
        var low = 0
        var high = self.newPlaced.count
        while low < high {
            let middle = (low + high) / 2
            if self.newPlaced[middle] - middle <= rank { low = middle + 1 } else { high = middle }
        }
        return rank + low
    }

    /// Nothing of the result is different.
    package var isEmpty: Bool { self.entries.isEmpty }

    /// What a view of the whole sees.
    package var whole: StructuralDifference { self.difference(0..<self.old.count, 0..<self.new.count) }

    /// What a view sees that showed one range of the old rows and shows another of the new ones.
    package func difference(_ oldRange: Range<Int>, _ newRange: Range<Int>) -> StructuralDifference {
        var view = WindowDifference(self, oldRange, newRange)
        return view.take()
    }
}

/// How many elements of a sorted array are below a value.
func rank(_ value: Int, in sorted: [Int]) -> Int {
    var low = 0
    var high = sorted.count
    while low < high {
        let middle = (low + high) / 2
        if sorted[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low
}

/// The difference of two states of a whole result.
package func difference(
    from old: OrderStatisticTree,
    to new: OrderStatisticTree,
    touching changes: some Sequence<RowChange>
) -> StructuralDifference {
    ResultDelta(from: old, to: new, touching: changes).whole
}

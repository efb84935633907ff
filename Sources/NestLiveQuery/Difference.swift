import NestModel
import NestOrder

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

    /// Whether nothing differs. Sections appear and disappear only with rows.
    package var isEmpty: Bool {
        self.deletedRows.isEmpty && self.moves.isEmpty && self.insertedRows.isEmpty && self.changedRows.isEmpty
    }
}

/// The net difference between two states of a result, ready for any view of it. Ordinary commits, paused or slow
/// subscribers, resuming clients and moved windows all use it.
///
/// `touching` contains the net change of every row that changed in between, and may contain more. Rows that are not
/// placed keep their order among themselves and never move. Among the placed rows the moves are as few as possible:
/// those that changed section, and of the others all but a longest increasing subsequence of those that kept their gap
/// between the rest. O(k log n) for k changed rows; then for each window O(k), plus the rows that enter or leave it at
/// its ends.
package struct ResultDelta {
    /// What is known of a changed row besides its change.
    struct Entry {
        /// The index of its change in `changes`, which is not copied.
        var change: Int
        /// The index among all old rows; `nil` if it is not one.
        var oldIndex: Int?
        var newIndex: Int?
        /// Whether it was inserted, deleted or moved.
        var isPlaced: Bool
    }

    package let old: OrderStatisticTree
    let new: OrderStatisticTree
    let changes: [RowChange]
    let entries: [Entry]
    /// The indexes of the placed rows. The other rows, the stationary ones, are in the same order in both states.
    let oldPlaced: [Int]
    let newPlaced: [Int]

    package init(
        from old: OrderStatisticTree,
        to new: OrderStatisticTree,
        touching changes: [RowChange]
    ) {
        self.old = old
        self.new = new
        self.changes = changes
        var entries: [Entry] = []
        var oldPlaced: [Int] = []
        var newPlaced: [Int] = []
        entries.reserveCapacity(changes.count)
        newPlaced.reserveCapacity(changes.count)
        for index in changes.indices {
            let (before, after) = (changes[index].before, changes[index].after)
            let isPlaced = changes[index].isPlaced || before == nil || after == nil
            guard before != nil || after != nil, isPlaced || !changes[index].changed.isEmpty else { continue }
            let entry = Entry(
                change: index,
                oldIndex: before.map { old.index(of: $0) },
                newIndex: after.map { new.index(of: $0) },
                isPlaced: isPlaced
            )
            entries.append(entry)
            guard isPlaced else { continue }
            if let index = entry.oldIndex { oldPlaced.append(index) }
            if let index = entry.newIndex { newPlaced.append(index) }
        }
        self.entries = entries
        oldPlaced.sort()
        newPlaced.sort()
        self.oldPlaced = oldPlaced
        self.newPlaced = newPlaced
    }

    /// The number of changed rows: an upper bound of the cost of one window, besides its ends.
    package var count: Int { self.entries.count }

    /// The old key of a changed row; `nil` if it was not in the result, or did not change.
    package func oldKey(of id: ObjectID) -> RowKey? {
        self.entries.first { self.changes[$0.change].id == id }.flatMap { self.changes[$0.change].before }
    }

    /// Returns the index of the row that took the position of a removed one; the number of rows if there is none. It is
    /// between the same unchanged rows as before, even if these were renumbered. O(log n).
    package func position(ofRemoved key: RowKey) -> Int {
        let index = self.old.index(of: key)
        let stationary = index - rank(index, in: self.oldPlaced)
        let low = stationary == 0 ? 0 : self.newIndex(ofStationary: stationary - 1) + 1
        let isLast = stationary == self.new.count - self.newPlaced.count
        let high = isLast ? self.new.count : self.newIndex(ofStationary: stationary)
        return min(max(self.new.index(of: key), low), high)
    }

    /// Returns the new index of a stationary row by its rank among these.
    private func newIndex(ofStationary rank: Int) -> Int {
        var low = 0
        var high = self.newPlaced.count
        while low < high {
            let middle = (low + high) / 2
            if self.newPlaced[middle] - middle <= rank { low = middle + 1 } else { high = middle }
        }
        return rank + low
    }

    /// Whether nothing of the result differs.
    package var isEmpty: Bool { self.entries.isEmpty }

    /// The difference for a view of the whole result.
    package var whole: StructuralDifference { self.difference(0..<self.old.count, 0..<self.new.count) }

    /// Returns the difference for a view that showed one range of the old rows and shows another range of the new rows.
    package func difference(_ oldRange: Range<Int>, _ newRange: Range<Int>) -> StructuralDifference {
        var view = WindowDifference(self, oldRange, newRange)
        return view.take()
    }
}

/// Returns how many elements of a sorted array are below a value.
func rank(_ value: Int, in sorted: [Int]) -> Int {
    var low = 0
    var high = sorted.count
    while low < high {
        let middle = (low + high) / 2
        if sorted[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low
}

/// Returns the difference of two states of a whole result.
package func difference(
    from old: OrderStatisticTree,
    to new: OrderStatisticTree,
    touching changes: some Sequence<RowChange>
) -> StructuralDifference {
    ResultDelta(from: old, to: new, touching: Array(changes)).whole
}

import NestModel

/// What differs between two states of a result, without values: coordinates, ids, and which rows need values read.
package struct StructuralDifference {
    package var deletedRows: [ResultsDiff.DeletedRow] = []
    package var moves: [ResultsDiff.Move] = []
    package var insertedRows: [(path: IndexPath, id: ObjectID)] = []
    /// Rows in both states with values that changed in between; `before` tells what they were.
    package var changedRows: [(path: IndexPath, id: ObjectID, before: [(slot: Int, before: AttributeValue)])] = []

    package var isEmpty: Bool {
        self.deletedRows.isEmpty && self.moves.isEmpty && self.insertedRows.isEmpty && self.changedRows.isEmpty
    }
}

/// The difference between two states of a result: the one function behind an ordinary commit, a paused or slow subscriber
/// and a client that comes back.
///
/// `touching` holds the net change of every row that changed in between, and may hold more. Rows that nobody placed keep
/// their order among themselves and never move; among the placed rows the moves are as few as can be: all but a longest
/// increasing sub-sequence of those that kept their gap between the others. O(k log n) for k touched rows.
package func difference(
    from old: OrderStatisticTree,
    to new: OrderStatisticTree,
    touching changes: some Sequence<RowChange>
) -> StructuralDifference {
    var difference = StructuralDifference()
    var moved: [Candidate] = []
    /// Old (new) indexes of rows that are not stationary for certain: placed, left or entered.
    var oldPlaced: [Int] = []
    var newPlaced: [Int] = []
    for change in changes {
        switch (change.before, change.after) {
        case (nil, nil):
            continue
        case (let before?, nil):
            let index = old.index(of: before)
            oldPlaced.append(index)
            difference.deletedRows.append(
                .init(path: IndexPath(0, index), id: change.id, reason: change.isDeleted ? .deleted : .unmatched)
            )
        case (nil, let after?):
            let index = new.index(of: after)
            newPlaced.append(index)
            difference.insertedRows.append((IndexPath(0, index), change.id))
        case (let before?, let after?):
            if change.isPlaced {
                let candidate = Candidate(oldIndex: old.index(of: before), newIndex: new.index(of: after))
                oldPlaced.append(candidate.oldIndex)
                newPlaced.append(candidate.newIndex)
                moved.append(candidate)
            }
            if !change.changed.isEmpty {
                difference.changedRows.append((IndexPath(0, new.index(of: after)), change.id, change.changed))
            }
        }
    }
    if !moved.isEmpty {
        oldPlaced.sort()
        newPlaced.sort()
        difference.moves = moves(moved, oldPlaced: oldPlaced, newPlaced: newPlaced)
    }
    difference.deletedRows.sort { $0.path < $1.path }
    difference.insertedRows.sort { $0.path < $1.path }
    difference.changedRows.sort { $0.path < $1.path }
    return difference
}

private struct Candidate {
    var oldIndex: Int
    var newIndex: Int
}

/// The candidates that must move, ascending by their new index.
private func moves(_ candidates: [Candidate], oldPlaced: [Int], newPlaced: [Int]) -> [ResultsDiff.Move] {
    let sorted = candidates.sorted { $0.newIndex < $1.newIndex }
    // A candidate may stay only if as many untouched rows stand before it in the new state as in the old one.
    let staying = sorted.indices.filter { index in
        let candidate = sorted[index]
        return candidate.oldIndex - rank(candidate.oldIndex, in: oldPlaced)
            == candidate.newIndex - rank(candidate.newIndex, in: newPlaced)
    }
    let kept = longestIncreasingSubsequence(staying.map { sorted[$0].oldIndex }).map { staying[$0] }
    var isKept = [Bool](repeating: false, count: sorted.count)
    for index in kept { isKept[index] = true }
    return sorted.indices.filter { !isKept[$0] }.map { index in
        .init(from: IndexPath(0, sorted[index].oldIndex), to: IndexPath(0, sorted[index].newIndex))
    }
}

/// How many elements of a sorted array are below a value.
private func rank(_ value: Int, in sorted: [Int]) -> Int {
    var low = 0
    var high = sorted.count
    while low < high {
        let middle = (low + high) / 2
        if sorted[middle] < value { low = middle + 1 } else { high = middle }
    }
    return low
}

import NestModel

/// What differs between two states of a result, without values: coordinates, ids, and which rows need values read.
package struct StructuralDifference {
    package var deletedRows: [ResultsDiff.DeletedRow] = []
    package var deletedSections: [Int] = []
    package var insertedSections: [ResultsDiff.InsertedSection] = []
    package var moves: [ResultsDiff.Move] = []
    package var insertedRows: [(path: IndexPath, id: ObjectID)] = []
    /// Rows in both states with values that changed in between; `before` tells what they were.
    package var changedRows: [(path: IndexPath, id: ObjectID, before: [(slot: Int, before: AttributeValue)])] = []

    /// A section does not come or go without a row.
    package var isEmpty: Bool {
        self.deletedRows.isEmpty && self.moves.isEmpty && self.insertedRows.isEmpty && self.changedRows.isEmpty
    }
}

/// The difference between two states of a result: the one function behind an ordinary commit, a paused or slow subscriber
/// and a client that comes back.
///
/// `touching` holds the net change of every row that changed in between, and may hold more. Rows that nobody placed keep
/// their order among themselves and never move; among the placed rows the moves are as few as can be: those that changed
/// section, and of the others all but a longest increasing sub-sequence of those that kept their gap between the rest.
/// O(k log n) for k touched rows.
package func difference(
    from old: OrderStatisticTree,
    to new: OrderStatisticTree,
    touching changes: some Sequence<RowChange>
) -> StructuralDifference {
    var difference = StructuralDifference()
    var sections = SectionDifference(old: old, new: new)
    var moved: [Candidate] = []
    /// Old (new) indexes of rows that are not stationary for certain: placed, left or entered.
    var oldPlaced: [Int] = []
    var newPlaced: [Int] = []
    for change in changes {
        switch (change.before, change.after) {
        case (nil, nil):
            continue
        case (let before?, nil):
            oldPlaced.append(old.index(of: before))
            sections.note(leaving: before)
            difference.deletedRows.append(
                .init(path: old.path(of: before), id: change.id, reason: change.isDeleted ? .deleted : .unmatched)
            )
        case (nil, let after?):
            newPlaced.append(new.index(of: after))
            sections.note(arriving: after)
            difference.insertedRows.append((new.path(of: after), change.id))
        case (let before?, let after?):
            if change.isPlaced {
                let candidate = Candidate(
                    before: before,
                    after: after,
                    oldIndex: old.index(of: before),
                    newIndex: new.index(of: after),
                    changesSection: sections.isMove(before, after)
                )
                oldPlaced.append(candidate.oldIndex)
                newPlaced.append(candidate.newIndex)
                moved.append(candidate)
                if candidate.changesSection {
                    sections.note(leaving: before)
                    sections.note(arriving: after)
                }
            }
            if !change.changed.isEmpty {
                difference.changedRows.append((new.path(of: after), change.id, change.changed))
            }
        }
    }
    if !moved.isEmpty {
        oldPlaced.sort()
        newPlaced.sort()
        difference.moves = moves(moved, oldPlaced: oldPlaced, newPlaced: newPlaced).map { candidate in
            .init(from: old.path(of: candidate.before), to: new.path(of: candidate.after))
        }
    }
    difference.deletedSections = sections.deleted
    difference.insertedSections = sections.inserted
    difference.deletedRows.sort { $0.path < $1.path }
    difference.insertedRows.sort { $0.path < $1.path }
    difference.changedRows.sort { $0.path < $1.path }
    return difference
}

private struct Candidate {
    var before: RowKey
    var after: RowKey
    var oldIndex: Int
    var newIndex: Int
    var changesSection: Bool
}

/// The candidates that must move, ascending by their new index.
private func moves(_ candidates: [Candidate], oldPlaced: [Int], newPlaced: [Int]) -> [Candidate] {
    let sorted = candidates.sorted { $0.newIndex < $1.newIndex }
    // A candidate may stay only if as many untouched rows stand before it in the new state as in the old one.
    let staying = sorted.indices.filter { index in
        let candidate = sorted[index]
        return !candidate.changesSection
            && candidate.oldIndex - rank(candidate.oldIndex, in: oldPlaced)
                == candidate.newIndex - rank(candidate.newIndex, in: newPlaced)
    }
    let kept = longestIncreasingSubsequence(staying.map { sorted[$0].oldIndex }).map { staying[$0] }
    var isKept = [Bool](repeating: false, count: sorted.count)
    for index in kept { isKept[index] = true }
    return sorted.indices.filter { !isKept[$0] }.map { sorted[$0] }
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

/// Which sections have come and gone: only those that rows have left or come to can have.
private struct SectionDifference {
    private let old: OrderStatisticTree
    private let new: OrderStatisticTree
    private let sectioning: Sectioning?
    private var left: Set<SortKey> = []
    private var reached: Set<SortKey> = []

    init(old: OrderStatisticTree, new: OrderStatisticTree) {
        self.old = old
        self.new = new
        self.sectioning = new.sectioning
    }

    func isMove(_ before: RowKey, _ after: RowKey) -> Bool {
        guard let sectioning else { return false }
        return sectioning.start(of: before.sort) != sectioning.start(of: after.sort)
    }

    mutating func note(leaving key: RowKey) {
        if let sectioning { self.left.insert(sectioning.start(of: key.sort)) }
    }

    mutating func note(arriving key: RowKey) {
        if let sectioning { self.reached.insert(sectioning.start(of: key.sort)) }
    }

    var deleted: [Int] {
        self.left.filter { !self.new.hasSection($0) }.map { self.old.sectionIndex(of: $0) }.sorted()
    }

    var inserted: [ResultsDiff.InsertedSection] {
        guard let sectioning else { return [] }
        return self.reached.filter { !self.old.hasSection($0) }
            .map { .init(index: self.new.sectionIndex(of: $0), key: sectioning.name(of: $0)) }
            .sorted { $0.index < $1.index }
    }
}

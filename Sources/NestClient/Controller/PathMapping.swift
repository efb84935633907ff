import NestModel

/// Maps the paths of rows that a diff does not insert, delete or move, between the state before it and the state after
/// it.
///
/// Building it takes O(k log k) for k changes; each query takes O(log k). It does not check the diff: invalid
/// coordinates lead to invalid paths.
struct PathMapping: Sendable {
    /// Rows that are deleted or move away, by old section; ascending.
    private let removals: [Int: [Int]]
    /// Rows that are inserted or move in, by new section; ascending.
    private let arrivals: [Int: [Int]]
    private let deletedSections: [Int]
    private let insertedSections: [Int]

    init(_ diff: ResultsDiff) {
        self.removals = Self.rows(diff.deletedRows.map(\.path) + diff.moves.map(\.from))
        self.arrivals = Self.rows(diff.insertedRows.map(\.path) + diff.moves.map(\.to))
        self.deletedSections = diff.deletedSections.sorted()
        self.insertedSections = diff.insertedSections.map(\.index).sorted()
    }

    /// Returns `nil` for a row that is deleted or moved.
    func newPath(of path: RowPosition) -> RowPosition? {
        guard let section = Self.after(path.section, taking: self.deletedSections, putting: self.insertedSections),
            let row = Self.after(
                path.row,
                taking: self.removals[path.section] ?? [],
                putting: self.arrivals[section] ?? []
            )
        else { return nil }
        return RowPosition(section, row)
    }

    /// Returns `nil` for a row that is inserted or moved.
    func oldPath(of path: RowPosition) -> RowPosition? {
        guard let section = Self.after(path.section, taking: self.insertedSections, putting: self.deletedSections),
            let row = Self.after(
                path.row,
                taking: self.arrivals[path.section] ?? [],
                putting: self.removals[section] ?? []
            )
        else { return nil }
        return RowPosition(section, row)
    }

    private static func rows(_ paths: [RowPosition]) -> [Int: [Int]] {
        Dictionary(grouping: paths, by: \.section).mapValues { $0.map(\.row).sorted() }
    }

    /// Returns the index of the element at `index` after the elements at `taken` are removed and others are inserted at
    /// `put`, their final indexes. Returns `nil` if the element itself is removed. For the other direction, exchange
    /// the two lists.
    private static func after(_ index: Int, taking taken: [Int], putting put: [Int]) -> Int? {
        let before = Self.count(taken) { taken[$0] < index }
        guard before == taken.count || taken[before] != index else { return nil }
        let left = index - before
        return left + Self.count(put) { put[$0] - $0 <= left }
    }

    /// Returns the number of leading elements that fulfil a condition. No element after these may fulfil it.
    private static func count(_ elements: [Int], while condition: (Int) -> Bool) -> Int {
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if condition(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

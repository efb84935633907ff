import NestModel

/// Where the rows that a diff leaves in their places are before and after it.
///
/// Made in O(k log k) for k changes; each question takes O(log k). Trusts the diff: coordinates that fit no state give
/// paths that fit none.
struct PathMapping: Sendable {
    /// Rows that leave, deleted or moved, by old section; ascending.
    private let removals: [Int: [Int]]
    /// Rows that arrive, inserted or moved, by new section; ascending.
    private let arrivals: [Int: [Int]]
    private let deletedSections: [Int]
    private let insertedSections: [Int]

    init(_ diff: ResultsDiff) {
        self.removals = Self.rows(diff.deletedRows.map(\.path) + diff.moves.map(\.from))
        self.arrivals = Self.rows(diff.insertedRows.map(\.path) + diff.moves.map(\.to))
        self.deletedSections = diff.deletedSections.sorted()
        self.insertedSections = diff.insertedSections.map(\.index).sorted()
    }

    /// `nil` for a row that is deleted or moved.
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

    /// `nil` for a row that is inserted or moved.
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

    /// Where the element at `index` is when those of `taken` are taken out and then others put in, to stand at `put` in the
    /// end; `nil` when it is taken out itself. Backwards it is the same, with the two lists exchanged.
    private static func after(_ index: Int, taking taken: [Int], putting put: [Int]) -> Int? {
        let before = Self.count(taken) { taken[$0] < index }
        guard before == taken.count || taken[before] != index else { return nil }
        let left = index - before
        return left + Self.count(put) { put[$0] - $0 <= left }
    }

    /// How many elements, from the first on, fulfil a condition that holds up to some element and for none after it.
    private static func count(_ elements: [Int], while condition: (Int) -> Bool) -> Int {
        var (low, high) = (0, elements.count)
        while low < high {
            let middle = (low + high) / 2
            if condition(middle) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

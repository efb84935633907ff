import NestClient
import NestModel

/// A minimal table view after UIKit's documentation and assertions. It keeps the shown cells, applies one batch of
/// updates, reads new cells from its data source and refuses every batch that UIKit refuses.
struct TableModel {
    struct Refusal: Error, CustomStringConvertible {
        var description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// The shown cells. A cell shows its row as of the cell's configuration.
    private(set) var sections: [[Row]]

    init(_ sections: [ResultsSection]) {
        self.sections = sections.map(\.rows)
    }

    /// Applies a batch, after which the table must show `dataSource`. Reloads are applied last.
    mutating func perform(_ batch: BatchUpdates, dataSource: [ResultsSection]) throws(Refusal) {
        try self.checkSections(batch, after: dataSource.count)
        try self.checkPaths(batch, dataSource)
        let survivorsBefore = self.sections.indices.filter { !batch.deletedSections.contains($0) }
        let survivorsAfter = dataSource.indices.filter { !batch.insertedSections.contains($0) }
        var shown: [[Row]] = dataSource.map(\.rows)
        for (before, after) in zip(survivorsBefore, survivorsAfter) {
            try self.checkRows(batch, before, after, countAfter: dataSource[after].rows.count)
            shown[after] = self.cells(batch, before, after, dataSource)
        }
        self.sections = shown
        for path in batch.reloadedRows {
            guard Self.holds(shown.map(\.count), path) else { throw Refusal("reload \(path), which is not there") }
            self.sections[path.section][path.row] = dataSource[path.section].rows[path.row]
        }
    }

    private func checkSections(_ batch: BatchUpdates, after count: Int) throws(Refusal) {
        try Self.checkUnique(batch.deletedSections, "delete section")
        try Self.checkUnique(batch.insertedSections, "insert section")
        for index in batch.deletedSections where !self.sections.indices.contains(index) {
            throw Refusal("delete section \(index) of \(self.sections.count) before the update")
        }
        for index in batch.insertedSections where !(0..<count).contains(index) {
            throw Refusal("insert section \(index) of \(count) after the update")
        }
        let expected = self.sections.count + batch.insertedSections.count - batch.deletedSections.count
        guard count == expected else {
            throw Refusal("invalid number of sections: \(count) after the update, not \(expected)")
        }
    }

    private func checkPaths(_ batch: BatchUpdates, _ dataSource: [ResultsSection]) throws(Refusal) {
        try Self.checkUnique(batch.deletedRows + batch.movedRows.map(\.from), "delete or move from")
        try Self.checkUnique(batch.insertedRows + batch.movedRows.map(\.to), "insert at or move to")
        try Self.checkUnique(batch.reloadedRows, "reload")
        let before = self.sections.map(\.count), after = dataSource.map(\.rows.count)
        for path in batch.deletedRows + batch.movedRows.map(\.from) where !Self.holds(before, path) {
            throw Refusal("delete or move from \(path), which is not there before the update")
        }
        for path in batch.insertedRows + batch.movedRows.map(\.to) where !Self.holds(after, path) {
            throw Refusal("insert at or move to \(path), which is not there after the update")
        }
        for move in batch.movedRows {
            if batch.deletedSections.contains(move.from.section) {
                throw Refusal("cannot move a row from the deleted section \(move.from.section)")
            }
            if batch.insertedSections.contains(move.to.section) {
                throw Refusal("cannot move a row into the newly inserted section \(move.to.section)")
            }
        }
        for path in batch.reloadedRows where batch.insertedRows.contains(path) {
            throw Refusal("reload the inserted row \(path)")
        }
    }

    /// Checks UIKit's best-known assertion, "invalid number of rows in section".
    private func checkRows(_ batch: BatchUpdates, _ before: Int, _ after: Int, countAfter: Int) throws(Refusal) {
        let inserted = batch.insertedRows.count { $0.section == after }
        let deleted = batch.deletedRows.count { $0.section == before }
        let movedIn = batch.movedRows.count { $0.to.section == after }
        let movedOut = batch.movedRows.count { $0.from.section == before }
        let countBefore = self.sections[before].count
        guard countAfter == countBefore + inserted - deleted + movedIn - movedOut else {
            throw Refusal(
                "invalid number of rows in section \(after): \(countAfter) after the update, \(countBefore) before, \(inserted) inserted, \(deleted) deleted, \(movedIn) moved in, \(movedOut) moved out"
            )
        }
    }

    /// Returns the cells of a section after the batch. Cells that are neither deleted nor moved keep their order;
    /// inserted and moved cells are at their given positions.
    private func cells(_ batch: BatchUpdates, _ before: Int, _ after: Int, _ dataSource: [ResultsSection]) -> [Row] {
        let cells = self.sections[before]
        let leaving = Set((batch.deletedRows + batch.movedRows.map(\.from)).filter { $0.section == before }.map(\.row))
        var staying = cells.indices.filter { !leaving.contains($0) }.map { cells[$0] }[...]
        let inserted = Set(batch.insertedRows.filter { $0.section == after }.map(\.row))
        var moved: [Int: Row] = [:]
        for move in batch.movedRows where move.to.section == after {
            moved[move.to.row] = self.sections[move.from.section][move.from.row]
        }
        return dataSource[after].rows.indices.map { row in
            if inserted.contains(row) { return dataSource[after].rows[row] }
            return moved[row] ?? staying.removeFirst()
        }
    }

    private static func holds(_ counts: [Int], _ path: RowPosition) -> Bool {
        counts.indices.contains(path.section) && path.row >= 0 && path.row < counts[path.section]
    }

    private static func checkUnique<Element: Hashable>(_ elements: [Element], _ what: String) throws(Refusal) {
        guard Set(elements).count == elements.count else { throw Refusal("\(what) the same twice") }
    }
}

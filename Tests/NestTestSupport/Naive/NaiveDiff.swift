import NestModel

/// A naive implementation of computing and applying diffs, written from the rules of `protocol.md`. It is the oracle
/// for the client's applier and for the diffs of live queries.
public enum NaiveDiff {
    /// Returns the diff from `old` to `new` with the minimum number of moves, if every row may move.
    public static func difference(from old: SectionedSnapshot, to new: SectionedSnapshot) -> ResultsDiff {
        var diff = ResultsDiff(from: old.revision, to: new.revision, total: new.total, digest: new.digest)
        let oldKeys = old.sections.map(\.key)
        let newKeys = new.sections.map(\.key)
        diff.deletedSections = oldKeys.indices.filter { !newKeys.contains(oldKeys[$0]) }
        diff.insertedSections = newKeys.indices.filter { !oldKeys.contains(newKeys[$0]) }
            .map { .init(index: $0, key: newKeys[$0]) }

        let before = Self.positions(old)
        let after = Self.positions(new)
        for (path, row) in Self.rows(old) where after[row.id] == nil {
            diff.deletedRows.append(.init(path: path, id: row.id, reason: .deleted))
        }
        for (path, row) in Self.rows(new) where before[row.id] == nil {
            diff.insertedRows.append(.init(path: path, row: row))
        }
        for (index, section) in new.sections.enumerated() {
            // Of the rows that were in the section before, the longest increasing subsequence stays.
            let staying = section.rows.filter { row in
                before[row.id].map { oldKeys[$0.section] == section.key } ?? false
            }
            let kept = Self.longestIncreasing(staying.map { before[$0.id]!.row })
            let keptIDs = Set(kept.map { staying[$0].id })
            for (row, value) in section.rows.enumerated() where !keptIDs.contains(value.id) {
                if let from = before[value.id] { diff.moves.append(.init(from: from, to: RowPosition(index, row))) }
            }
        }
        for (path, row) in Self.rows(new) {
            guard let from = before[row.id] else { continue }
            let changed = new.projection.indices.filter { old[from].values[$0] != row.values[$0] }
            if !changed.isEmpty {
                diff.updates.append(.init(path: path, values: changed.map { (new.projection[$0], row.values[$0]) }))
            }
        }
        return diff
    }

    /// Applies `diff` step by step and returns the new state, or `nil` if a step is invalid.
    public static func apply(_ diff: ResultsDiff, to old: SectionedSnapshot) -> SectionedSnapshot? {
        let isAtOnce = diff.from == diff.to && diff.to == old.revision
        guard isAtOnce || diff.from <= old.revision && old.revision < diff.to else { return nil }
        var state = old
        state.revision = diff.to
        if isAtOnce || diff.window != nil { state.window = diff.window }
        var held: [RowPosition: Row] = [:]

        let leaving = diff.deletedRows.map(\.path) + diff.moves.map(\.from)
        guard Set(leaving).count == leaving.count else { return nil }
        for path in leaving.sorted().reversed() {
            guard Self.holds(state, path, insertion: false) else { return nil }
            held[path] = state.sections[path.section].rows.remove(at: path.row)
        }
        guard diff.deletedRows.allSatisfy({ held[$0.path]?.id == $0.id }) else { return nil }

        guard diff.deletedSections == Array(Set(diff.deletedSections)).sorted() else { return nil }
        for index in diff.deletedSections.reversed() {
            guard state.sections.indices.contains(index), state.sections[index].rows.isEmpty else { return nil }
            state.sections.remove(at: index)
        }
        let insertedAt = diff.insertedSections.map(\.index)
        guard insertedAt == Array(Set(insertedAt)).sorted() else { return nil }
        for section in diff.insertedSections {
            guard section.index >= 0, section.index <= state.sections.count else { return nil }
            state.sections.insert(ResultsSection(key: section.key, rows: []), at: section.index)
        }

        let arriving =
            diff.insertedRows.map { ($0.path, $0.row) }
            + diff.moves.compactMap { move in held[move.from].map { (move.to, $0) } }
        guard Set(arriving.map(\.0)).count == arriving.count else { return nil }
        for (path, row) in arriving.sorted(by: { $0.0 < $1.0 }) {
            guard Self.holds(state, path, insertion: true), row.values.count == state.projection.count else {
                return nil
            }
            state.sections[path.section].rows.insert(row, at: path.row)
        }
        for update in diff.updates {
            guard Self.holds(state, update.path, insertion: false) else { return nil }
            for (property, value) in update.values {
                guard let slot = state.projection.firstIndex(of: property) else { return nil }
                state.sections[update.path.section].rows[update.path.row].values[slot] = value
            }
        }
        if let totals = diff.totals {
            state.totals = totals.values
            for section in totals.sections {
                guard state.sections.indices.contains(section.index) else { return nil }
                state.sections[section.index].totals = section.values
            }
        }
        return state.total == diff.total ? state : nil
    }

    private static func holds(_ state: SectionedSnapshot, _ path: RowPosition, insertion: Bool) -> Bool {
        guard state.sections.indices.contains(path.section), path.row >= 0 else { return false }
        return path.row < state.sections[path.section].rows.count + (insertion ? 1 : 0)
    }

    private static func rows(_ state: SectionedSnapshot) -> [(RowPosition, Row)] {
        state.sections.enumerated().flatMap { index, section in
            section.rows.enumerated().map { (RowPosition(index, $0), $1) }
        }
    }

    private static func positions(_ state: SectionedSnapshot) -> [ObjectID: RowPosition] {
        Dictionary(uniqueKeysWithValues: Self.rows(state).map { ($1.id, $0) })
    }

    /// Returns the indexes of a longest increasing subsequence, in O(n^2).
    private static func longestIncreasing(_ numbers: [Int]) -> [Int] {
        var length = [Int](repeating: 1, count: numbers.count)
        var previous = [Int?](repeating: nil, count: numbers.count)
        for i in numbers.indices {
            for j in 0..<i where numbers[j] < numbers[i] && length[j] + 1 > length[i] {
                length[i] = length[j] + 1
                previous[i] = j
            }
        }
        var next = numbers.indices.max { length[$0] < length[$1] }
        var indexes: [Int] = []
        while let index = next {
            indexes.append(index)
            next = previous[index]
        }
        return indexes.reversed()
    }
}

import NestModel

/// What was made of the rows of a state, in the sections of that state. A diff makes only the elements of new and
/// updated rows.
struct ElementLists<Element> {
    private(set) var sections: [[Element]] = []

    subscript(path: RowPosition) -> Element { self.sections[path.section][path.row] }

    /// Makes all elements anew.
    mutating func replace(with state: SectionedSnapshot, _ make: (Row) throws -> Element) rethrows {
        self.sections = try state.sections.map { try $0.rows.map(make) }
    }

    /// Follows a diff that has led to `state`: O(rows of the changed sections + changes), because elements that are
    /// held elsewhere are copied. If it throws, the lists are of no use until `replace`.
    mutating func apply(_ diff: ResultsDiff, _ state: SectionedSnapshot, _ make: (Row) throws -> Element) rethrows {
        var leaving: [Int: RangeSet<Int>] = [:]
        let moved = diff.moves.map { self.sections[$0.from.section][$0.from.row] }
        for path in diff.deletedRows.map(\.path) + diff.moves.map(\.from) {
            leaving[path.section, default: RangeSet()].insert(path.row, within: self.sections[path.section])
        }
        for (section, rows) in leaving { self.sections[section].removeSubranges(rows) }
        for section in diff.deletedSections.reversed() { self.sections.remove(at: section) }
        for section in diff.insertedSections { self.sections.insert([], at: section.index) }

        var arriving = try diff.insertedRows.map { (path: $0.path, element: try make($0.row)) }
        arriving += zip(diff.moves, moved).map { (path: $0.to, element: $1) }
        arriving.sort { $0.path < $1.path }
        var first = 0
        while first < arriving.count {
            let section = arriving[first].path.section
            let end = arriving[first...].firstIndex { $0.path.section != section } ?? arriving.count
            self.sections[section] = Self.merge(self.sections[section], arriving[first..<end])
            first = end
        }
        for path in diff.updates.map(\.path) { self.sections[path.section][path.row] = try make(state[path]) }
    }

    /// Inserts elements at their new places, which ascend.
    private static func merge(
        _ rows: [Element],
        _ arriving: ArraySlice<(path: RowPosition, element: Element)>
    ) -> [Element] {
        var merged: [Element] = []
        merged.reserveCapacity(rows.count + arriving.count)
        var rest = rows[...]
        for (path, element) in arriving {
            let before = path.row - merged.count
            merged.append(contentsOf: rest.prefix(before))
            rest = rest.dropFirst(before)
            merged.append(element)
        }
        merged.append(contentsOf: rest)
        return merged
    }
}

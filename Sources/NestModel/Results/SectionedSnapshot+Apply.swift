/// Why a diff does not apply to a state. The state is unchanged; request a snapshot.
public enum DiffMismatch: Error, Equatable, Sendable {
    /// The diff starts after the held revision, or ends before it.
    case revision(held: Revision, from: Revision, to: Revision)
    /// A coordinate is outside the state, or coordinates are out of order.
    case coordinates(String)
    /// The resulting number of rows differs from the diff's total.
    case total(expected: Int, found: Int)
    case unknownProperty(PropertyNumber)
}

extension SectionedSnapshot {
    /// Applies a diff: takes the state from its revision to `diff.to`.
    ///
    /// 1. Remove deleted rows and move sources, from last to first (old coordinates).
    /// 2. Remove deleted sections, from last to first.
    /// 3. Insert new sections, empty, from first to last.
    /// 4. Insert new rows and move targets, from first to last (new coordinates).
    /// 5. Set the updated values.
    /// 6. Set the totals, if any have changed.
    ///
    /// Checks every coordinate first; if one does not fit, throws and leaves the state unchanged. O(n + k log k), O(k)
    /// splices for a small k. Does not check the digest: compare `digest` with `diff.digest`.
    public mutating func apply(_ diff: ResultsDiff) throws(DiffMismatch) {
        guard diff.from <= self.revision, self.revision < diff.to || diff.from == diff.to && diff.to == self.revision
        else {
            throw .revision(held: self.revision, from: diff.from, to: diff.to)
        }
        let plan = try DiffPlan(diff, self)
        let sectionCount = self.sections.count - diff.deletedSections.count + diff.insertedSections.count
        if let totals = diff.totals, let section = totals.sections.last, section.index >= sectionCount {
            throw .coordinates("no section \(section.index) for totals")
        }
        // Applying cannot fail: the plan has checked every size through all phases.
        plan.apply(to: &self.sections, projection: self.projection)
        self.revision = diff.to
        if let totals = diff.totals { _ = self.apply(totals) }
        // A diff that answers a change of the subscription may end the window.
        if diff.window != nil || diff.from == diff.to { self.window = diff.window }
    }
}

/// A diff checked against a state, so that applying it cannot fail half-way.
private struct DiffPlan {
    /// A row that leaves its position, ascending old coordinates. `slot` is the index of a moved row in the buffer of
    /// moved rows.
    struct Removal {
        var path: RowPosition
        var slot: Int?
    }

    struct Arrival {
        enum Content {
            case inserted(Row)
            case moved(slot: Int)
        }
        var path: RowPosition
        var content: Content
    }

    let diff: ResultsDiff
    var removals: [Removal] = []
    var arrivals: [Arrival] = []

    init(_ diff: ResultsDiff, _ state: SectionedSnapshot) throws(DiffMismatch) {
        self.diff = diff
        self.removals = diff.deletedRows.map { Removal(path: $0.path, slot: nil) }
        self.removals += diff.moves.enumerated().map { Removal(path: $1.from, slot: $0) }
        self.removals.sort { $0.path < $1.path }
        for (index, removal) in self.removals.enumerated() {
            let path = removal.path
            guard state.sections.indices.contains(path.section),
                state.sections[path.section].rows.indices.contains(path.row)
            else { throw .coordinates("no row at \(path)") }
            guard index == 0 || self.removals[index - 1].path < path else { throw .coordinates("\(path) leaves twice") }
        }
        for deleted in diff.deletedRows where state[deleted.path].id != deleted.id {
            throw .coordinates("the row at \(deleted.path) is not \(deleted.id)")
        }
        self.arrivals = diff.insertedRows.map { Arrival(path: $0.path, content: .inserted($0.row)) }
        self.arrivals += diff.moves.enumerated().map { Arrival(path: $1.to, content: .moved(slot: $0)) }
        self.arrivals.sort { $0.path < $1.path }
        try self.check(state)
    }

    /// Computes the sizes of the sections through all phases, so that applying cannot fail.
    private func check(_ state: SectionedSnapshot) throws(DiffMismatch) {
        var counts = state.sections.map(\.rows.count)
        for removal in self.removals { counts[removal.path.section] -= 1 }
        var previous = counts.count
        for index in self.diff.deletedSections.reversed() {
            guard index < previous, index >= 0 else { throw .coordinates("no section \(index) to delete") }
            guard counts[index] == 0 else { throw .coordinates("deleted section \(index) is not empty") }
            counts.remove(at: index)
            previous = index
        }
        previous = -1
        for section in self.diff.insertedSections {
            guard section.index > previous, section.index <= counts.count else {
                throw .coordinates("no position for section \(section.index)")
            }
            counts.insert(0, at: section.index)
            previous = section.index
        }
        var last: RowPosition?
        for arrival in self.arrivals {
            let path = arrival.path
            guard counts.indices.contains(path.section), path.row >= 0, path.row <= counts[path.section],
                last == nil || last! < path
            else { throw .coordinates("no position for a row at \(path)") }
            counts[path.section] += 1
            last = path
            if case .inserted(let row) = arrival.content, row.values.count != state.projection.count {
                throw .coordinates("the row at \(path) has \(row.values.count) values")
            }
        }
        for update in self.diff.updates {
            guard counts.indices.contains(update.path.section), update.path.row >= 0,
                update.path.row < counts[update.path.section]
            else { throw .coordinates("no row to update at \(update.path)") }
            for (property, _) in update.values where !state.projection.contains(property) {
                throw .unknownProperty(property)
            }
        }
        let total = counts.reduce(0, +)
        guard total == self.diff.total else { throw .total(expected: self.diff.total, found: total) }
    }

    func apply(to sections: inout [ResultsSection], projection: [PropertyNumber]) {
        var held = [Row?](repeating: nil, count: self.diff.moves.count)
        for group in Self.groups(self.removals, by: \.path.section) {
            Self.remove(group, from: &sections[group[group.startIndex].path.section].rows, into: &held)
        }
        for index in self.diff.deletedSections.reversed() { sections.remove(at: index) }
        for section in self.diff.insertedSections {
            sections.insert(ResultsSection(key: section.key, rows: []), at: section.index)
        }
        for group in Self.groups(self.arrivals, by: \.path.section) {
            Self.insert(group, into: &sections[group[group.startIndex].path.section].rows, held: held)
        }
        for update in self.diff.updates {
            for (property, value) in update.values {
                let slot = projection.firstIndex(of: property)!
                sections[update.path.section].rows[update.path.row].values[slot] = value
            }
        }
    }

    /// A few changes are spliced in place; many rebuild the array once.
    private static let spliceMax = 8

    private static func remove(_ group: ArraySlice<Removal>, from rows: inout [Row], into held: inout [Row?]) {
        for removal in group {
            if let slot = removal.slot { held[slot] = rows[removal.path.row] }
        }
        if group.count <= Self.spliceMax {
            for removal in group.reversed() { rows.remove(at: removal.path.row) }
            return
        }
        var kept: [Row] = []
        kept.reserveCapacity(rows.count - group.count)
        var next = 0
        for removal in group {
            kept.append(contentsOf: rows[next..<removal.path.row])
            next = removal.path.row + 1
        }
        kept.append(contentsOf: rows[next...])
        rows = kept
    }

    private static func insert(_ group: ArraySlice<Arrival>, into rows: inout [Row], held: [Row?]) {
        func row(_ arrival: Arrival) -> Row {
            switch arrival.content {
            case .inserted(let row): row
            case .moved(let slot): held[slot]!
            }
        }
        if group.count <= Self.spliceMax {
            for arrival in group { rows.insert(row(arrival), at: arrival.path.row) }
            return
        }
        var merged: [Row] = []
        merged.reserveCapacity(rows.count + group.count)
        var next = 0
        for arrival in group {
            let before = arrival.path.row - merged.count
            merged.append(contentsOf: rows[next..<(next + before)])
            next += before
            merged.append(row(arrival))
        }
        merged.append(contentsOf: rows[next...])
        rows = merged
    }

    private static func groups<Element>(
        _ elements: [Element],
        by key: (Element) -> Int
    ) -> [ArraySlice<Element>] {
        var groups: [ArraySlice<Element>] = []
        var start = 0
        for index in elements.indices.dropFirst() where key(elements[index]) != key(elements[start]) {
            groups.append(elements[start..<index])
            start = index
        }
        if start < elements.count { groups.append(elements[start...]) }
        return groups
    }
}

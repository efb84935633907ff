import NestModel

extension ResultsDiff {
    /// The net difference from one state of a result to a later one. `digest`: the server's digest of `new`. `nil`: the
    /// states have other properties or sections, so they cannot be compared row by row.
    ///
    /// As few rows as possible move. Why a row has left is not known: it has the reason `unmatched`. O(n log n).
    init?(from old: SectionedSnapshot, to new: SectionedSnapshot, digest: UInt64) {
        guard old.projection == new.projection, old.revision <= new.revision,
            old.sections.map(\.key) == new.sections.map(\.key)
        else { return nil }
        self.init(from: old.revision, to: new.revision, total: new.total, digest: digest)
        self.window = new.window
        for section in new.sections.indices {
            self.add(section, old.sections[section].rows, new.sections[section].rows, new.projection)
        }
    }

    private mutating func add(_ section: Int, _ old: [Row], _ new: [Row], _ projection: [PropertyNumber]) {
        let oldIndexes = Dictionary(zip(old.map(\.id), old.indices), uniquingKeysWith: { first, _ in first })
        let newIDs = Set(new.map(\.id))
        for (index, row) in old.enumerated() where !newIDs.contains(row.id) {
            let path = RowPosition(section, index)
            self.deletedRows.append(DeletedRow(path: path, id: row.id, reason: .unmatched))
        }
        let kept = new.indices.compactMap { index in
            oldIndexes[new[index].id].map { (from: $0, to: index) }
        }
        let staying = Set(longestIncreasingSubsequence(kept.map(\.from)))
        for (number, (from, to)) in kept.enumerated() {
            if !staying.contains(number) {
                self.moves.append(Move(from: RowPosition(section, from), to: RowPosition(section, to)))
            }
            let values = projection.indices.filter { old[from].values[$0] != new[to].values[$0] }.map { slot in
                (property: projection[slot], value: new[to].values[slot])
            }
            if !values.isEmpty { self.updates.append(Update(path: RowPosition(section, to), values: values)) }
        }
        for (index, row) in new.enumerated() where oldIndexes[row.id] == nil {
            self.insertedRows.append(InsertedRow(path: RowPosition(section, index), row: row))
        }
    }
}

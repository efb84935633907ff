import NestModel

/// The rows and the position of a window, cut out of all rows.
struct NaiveWindow {
    let sections: [ResultsSection]
    let position: WindowPosition

    /// `anchor`: the object that a window around an object follows; `nil` only if there are no rows.
    init(_ window: FetchWindow, anchor: ObjectID?, of whole: [ResultsSection], isSectioned: Bool) {
        let all = whole.enumerated().flatMap { index, section in
            section.rows.enumerated().map { (path: RowPosition(index, $0), row: $1) }
        }
        var indexes: [Int] = []
        switch window {
        case .range(let offset, let limit):
            indexes = all.indices.filter { $0 >= offset && $0 - offset < limit }
        case .around(_, let before, let after):
            if let followed = all.firstIndex(where: { $0.row.id == anchor }) {
                indexes = all.indices.filter { $0 < followed ? followed - $0 <= before : $0 - followed <= after }
            }
        }
        var sections: [ResultsSection] = []
        for index in indexes {
            let (path, row) = all[index]
            if sections.last?.key != whole[path.section].key {
                sections.append(
                    ResultsSection(key: whole[path.section].key, rows: [], totals: whole[path.section].totals)
                )
            }
            sections[sections.count - 1].rows.append(row)
        }
        if !isSectioned, sections.isEmpty { sections = [ResultsSection(key: .string(""), rows: [])] }
        self.sections = sections

        // An empty window has the position at which it would begin.
        var first = indexes.first ?? 0
        if indexes.isEmpty, case .range(let offset, _) = window { first = min(offset, all.count) }
        var start = WindowStart(row: first)
        if !isSectioned {
            start.rowInSection = first
        } else if first < all.count {
            (start.section, start.rowInSection) = (all[first].path.section, all[first].path.row)
        } else {
            start.section = whole.count
        }
        self.position = WindowPosition(total: all.count, sectionTotal: whole.count, start: start, anchor: anchor)
    }
}

extension FetchWindow {
    /// The object of a window around an object.
    var object: ObjectID? {
        if case .around(let id, _, _) = self { id } else { nil }
    }

    func around(_ id: ObjectID?) -> FetchWindow {
        guard let id, case .around(_, let before, let after) = self else { return self }
        return .around(id, before: before, after: after)
    }
}

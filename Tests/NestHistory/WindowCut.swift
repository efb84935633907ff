import NestModel

/// The rows of a window and its position, cut from the complete result.
public struct WindowCut {
    public let sections: [ResultsSection]
    public let position: WindowPosition

    /// `anchor`: the anchor of a window around an object; `nil` only if there are no rows.
    public init(_ window: FetchWindow, anchor: ObjectID?, of whole: [ResultsSection], isSectioned: Bool) {
        let rows = whole.indices.flatMap { section in whole[section].rows.indices.map { RowPosition(section, $0) } }
        var shown = 0..<0
        switch window {
        case .range(let offset, let limit):
            let first = min(offset, rows.count)
            shown = first..<min(first + limit, rows.count)
        case .around(_, let before, let after):
            if let index = rows.firstIndex(where: { whole[$0.section].rows[$0.row].id == anchor }) {
                shown = max(index - before, 0)..<min(index + after + 1, rows.count)
            }
        }
        var sections: [ResultsSection] = []
        for path in rows[shown] {
            let section = whole[path.section]
            if sections.last?.key != section.key { sections.append(ResultsSection(key: section.key, rows: [])) }
            sections[sections.count - 1].rows.append(section.rows[path.row])
        }
        if !isSectioned, sections.isEmpty { sections = [ResultsSection(key: .string(""), rows: [])] }
        self.sections = sections

        var start = WindowStart(row: shown.lowerBound)
        if !isSectioned {
            start.rowInSection = shown.lowerBound
        } else if shown.lowerBound < rows.count {
            (start.section, start.rowInSection) = (rows[shown.lowerBound].section, rows[shown.lowerBound].row)
        } else {
            start.section = whole.count
        }
        self.position = WindowPosition(total: rows.count, sectionTotal: whole.count, start: start, anchor: anchor)
    }
}

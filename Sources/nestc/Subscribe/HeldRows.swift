import NestModel

/// The rows of a list that the client holds, with their numbers in the whole list. Numbers count from 0.
struct HeldRows {
    struct Held {
        var row: Row
        /// The index of the row's section in the whole list.
        var section: Int
        var key: AttributeValue
        /// The totals of the section.
        var totals: [AttributeValue]
    }

    /// The number of rows in the whole list.
    let total: Int
    let sectionTotal: Int
    /// The number of the first held row.
    let first: Int
    let isSectioned: Bool
    /// The totals of the whole list.
    let totals: [AttributeValue]
    private let rows: [Held]

    init(_ state: SectionedSnapshot, isSectioned: Bool) {
        self.total = state.window?.total ?? state.total
        self.sectionTotal = state.window?.sectionTotal ?? state.sections.count
        self.first = state.window?.start.row ?? 0
        self.isSectioned = isSectioned
        self.totals = state.totals
        let firstSection = state.window?.start.section ?? 0
        self.rows = state.sections.enumerated().flatMap { index, section in
            section.rows.map {
                Held(row: $0, section: firstSection + index, key: section.key, totals: section.totals)
            }
        }
    }

    var range: Range<Int> { self.first..<self.first + self.rows.count }

    subscript(number: Int) -> Held { self.rows[number - self.first] }

    func number(of id: ObjectID) -> Int? {
        self.rows.firstIndex { $0.row.id == id }.map { self.first + $0 }
    }

    // MARK: Pages

    /// Returns the rows that fit into `room` lines from this row on, as far as they are held. The first row of a
    /// section has its heading above it, and so has the first row of the page.
    func page(from top: Int, room: Int) -> Range<Int> {
        var left = room
        var end = top
        while end < self.range.upperBound {
            left -= self.lines(end, isFirst: end == top, room: room)
            if left < 0 { break }
            end += 1
        }
        return top..<max(end, min(top + 1, self.range.upperBound))
    }

    /// Returns the rows that fit into `room` lines up to, not including, this row, as far as they are held.
    func page(upTo end: Int, room: Int) -> Range<Int> {
        var top = end
        while top > self.first, self.page(from: top - 1, room: room).upperBound >= end { top -= 1 }
        return top..<end
    }

    /// Whether the heading of the row's section is shown above the row.
    func hasHeading(_ number: Int, isFirst: Bool, room: Int) -> Bool {
        guard self.isSectioned, room > 1 else { return false }
        return isFirst || self[number].section != self[number - 1].section
    }

    private func lines(_ number: Int, isFirst: Bool, room: Int) -> Int {
        self.hasHeading(number, isFirst: isFirst, room: room) ? 2 : 1
    }
}

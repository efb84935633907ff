import NestDocuments
import NestModel

/// The state of a subscription.
enum ListStatus: String, CaseIterable {
    case connecting
    case live
    case paused
    /// A new state is on its way.
    case loading
    case reconnecting
}

/// The first line of the screen: the list, the rows on the screen, and the state of the subscription.
struct HeaderLine {
    var title: String
    /// Whether a state has arrived. Without one, only the title and the status are shown.
    var hasState = true
    /// The rows on the screen, counted from 0.
    var rows: Range<Int>
    var total: Int
    /// `nil`: the list has no sections.
    var sectionTotal: Int?
    var revision: Revision
    var status: ListStatus
    /// The numbers of changes, like `+3` and `-1`.
    var counts: [StyledText]
    var people = ShownPeople()

    /// The least width of a title that is cut, before other parts become shorter.
    private static let titleLeast = 10

    /// Returns the line, in at most `columns` columns. If they are few, the sections are left out, then words become
    /// shorter, then the title is cut. The state comes last.
    func line(columns: Int) -> ScreenLine {
        let title = escapingControls(self.title)
        let titleWidth = DisplayWidth.of(title)
        let forms = self.forms
        for (index, form) in forms.enumerated() {
            let width = form.reduce(0) { $0 + 2 + DisplayWidth.of($1.text) }
            let least = index < forms.count - 2 ? min(titleWidth, Self.titleLeast) : 0
            let isLast = index == forms.count - 1
            guard least + width <= columns || isLast else { continue }
            return Self.line(DisplayWidth.cut(title, to: max(columns - width, 0)), form, columns)
        }
        return ScreenLine(title)
    }

    private static func line(_ title: String, _ parts: [StyledText], _ columns: Int) -> ScreenLine {
        var line = ScreenLine(title, .bold)
        for part in parts {
            let start = line.end == 0 ? 0 : line.end + 2
            guard start < columns else { break }
            line.add(StyledText(DisplayWidth.cut(part.text, to: columns - start), part.style), at: start)
        }
        return line
    }

    /// The parts after the title, from the longest form to the shortest.
    private var forms: [[StyledText]] {
        let status = StyledText(self.status.rawValue, self.status == .live ? .dim : .yellow)
        guard self.hasState else { return [[status], [status]] }
        let revision = "\(self.revision)"
        let range = CountText.range(self.rows)
        let shortText =
            range == "" || self.rows.count == self.total
            ? Counted.text(self.total, "row", isGrouped: true) : "\(range) of \(Counted.grouped(self.total))"
        let first = range == "" ? "" : "\(Counted.grouped(self.rows.lowerBound + 1))/"
        let shortestText = "\(first)\(Counted.grouped(self.total))"
        let sections = self.sectionTotal.map { [StyledText(Counted.text($0, "section", isGrouped: true), .dim)] } ?? []
        let rows = StyledText(CountText.rows(self.rows, of: self.total), .dim)
        let long = StyledText("revision \(revision)", .dim)
        let brief = StyledText("r\(revision)", .dim)
        let people = self.people.headerForms.map { [StyledText($0, .cyan)] }
        let (names, number) = (people.first ?? [], people.last ?? [])
        let short = StyledText(shortText, .dim)
        let shortest = StyledText(shortestText, .dim)
        return [
            [rows] + sections + [long, status] + self.counts + names,
            [rows, long, status] + self.counts + names,
            [short, brief, status] + self.counts + number,
            [shortest, brief, status] + self.counts + number,
            [shortest, brief, status] + number,
            [brief, status],
        ]
    }
}

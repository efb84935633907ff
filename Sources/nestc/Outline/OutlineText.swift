import NestClient
import NestDocuments
import NestModel

/// The texts of an outline's rows.
struct OutlineText {
    private let resolved: RequestOptions.Resolved
    private let relationship: String

    init(_ resolved: RequestOptions.Resolved) {
        self.resolved = resolved
        let number = resolved.request.source?.relationship
        self.relationship = number.map { resolved.entity.shownName($0) } ?? ""
    }

    func title(of source: ObjectID) -> String { "\(self.relationship) of \(source)" }

    func printer(_ projection: [PropertyNumber]) -> RowPrinter { RowPrinter(self.resolved, projection: projection) }

    /// The screen's columns before a row: the cursor's mark, two marks of changes, a space.
    private static let gutter = 4
    private static let step = 2

    /// The sign before a row.
    static func sign(hasChildren: Bool, isExpanded: Bool) -> String {
        hasChildren ? isExpanded ? "▾" : "▸" : "·"
    }

    /// Returns the line of a path, without its beginning if there is no room for it.
    static func path(_ titles: [String], columns: Int) -> ScreenLine {
        var steps = titles.map { escapingControls($0) }[...]
        func text() -> String {
            (steps.count < titles.count ? ["…"] + steps : Array(steps)).joined(separator: " › ")
        }
        while steps.count > 1, DisplayWidth.of(text()) > columns { steps.removeFirst() }
        return ScreenLine(text(), .cyan)
    }

    /// Returns the line of a row. Deep rows are indented by at most half of the screen; their depth is then shown.
    func line(
        _ row: OutlineState.Row,
        _ projection: [PropertyNumber],
        isCursor: Bool,
        marks: ChangeMarks.Mark,
        columns: Int
    ) -> ScreenLine {
        var line = ScreenLine()
        if isCursor { line.add(StyledText("*", .bold)) }
        for (index, mark) in marks.parts.enumerated() where mark.text != " " { line.add(mark, at: 1 + index) }
        let texts = self.printer(projection).texts(id: row.id, values: row.values)
        let widest = max((columns - Self.gutter) / 2 / Self.step, 0)
        let indentation = Self.gutter + Self.step * min(row.depth, widest)
        if row.depth > widest {
            let depth = "\(row.depth)"
            let start = indentation - DisplayWidth.of(depth) - 1
            if start >= Self.gutter { line.add(StyledText(depth, .dim), at: start) }
        }
        line.add(StyledText(Self.sign(hasChildren: row.hasChildren, isExpanded: row.isExpanded)), at: indentation)
        line.add(StyledText(texts.main, isCursor ? .bold : .plain), at: indentation + Self.step)
        let count = row.hasChildren && !row.isExpanded ? " (\(Counted.grouped(row.childCount)))" : ""
        line.add(StyledText("\(count)  \(texts.tail)", .dim))
        return line
    }
}

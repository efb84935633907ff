import ArgumentParser
import NestDocuments
import NestModel

/// The options that specify a window of a result.
struct WindowOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only the rows from A up to, not including, B, counted from 0.", valueName: "A..B"))
    var window: WindowArgument?

    @Option(help: ArgumentHelp("At most this many rows.", valueName: "n"))
    var limit: RowCount?

    @Option(help: ArgumentHelp("Skip this many rows.", valueName: "n"))
    var offset: RowCount?

    @Option(
        help: ArgumentHelp(
            "This object and the rows before and after it, 10 each by default. The window follows the object.",
            valueName: "id:before,after"
        )
    )
    var around: AroundArgument?

    mutating func validate() throws {
        let kinds = [self.window != nil, self.limit != nil || self.offset != nil, self.around != nil]
        if kinds.count(where: { $0 }) > 1 {
            throw ValidationError("use --window, or --limit and --offset, or --around")
        }
    }

    /// `nil`: all rows.
    var fetchWindow: FetchWindow? {
        if let around { return around.window }
        if let window { return FetchWindow(offset: window.rows.lowerBound, limit: window.rows.count) }
        guard self.limit != nil || self.offset != nil else { return nil }
        return FetchWindow(offset: self.offset?.count ?? 0, limit: self.limit?.count ?? RowCount.max)
    }

}

/// A number of rows. The maximum is the largest number that a message can contain.
struct RowCount: ExpressibleByArgument {
    static let max = Int(Limits.objectIDMax)
    var count: Int

    init?(argument: String) {
        guard let count = Int(argument), (0...Self.max).contains(count) else { return nil }
        self.count = count
    }
}

/// Counts for people: `1 row`, `2,000 rows`, `rows 101–120 of 2,000`.
enum CountText {
    /// Describes rows of a list, counted from 1. `rows` counts from 0.
    static func rows(_ rows: Range<Int>, of total: Int) -> String {
        if rows.count == total { return Counted.text(total, "row", isGrouped: true) }
        let range = self.range(rows)
        return range.isEmpty
            ? "none of \(Counted.text(total, "row", isGrouped: true))"
            : "\(rows.count == 1 ? "row" : "rows") \(range) of \(Counted.grouped(total))"
    }

    /// Returns `101–120`, counted from 1; empty for no rows.
    static func range(_ rows: Range<Int>) -> String {
        let first = Counted.grouped(rows.lowerBound + 1)
        return rows.isEmpty ? "" : rows.count == 1 ? first : "\(first)–\(Counted.grouped(rows.upperBound))"
    }
}

extension WindowPosition {
    /// Returns a description of the window's rows, like `rows 101–120 of 2,000`. `count`: the number of its rows.
    func summary(_ count: Int) -> String {
        CountText.rows(self.start.row..<self.start.row + count, of: self.total)
    }
}

/// `90210`, `90210:5` or `90210:5,20`.
struct AroundArgument: ExpressibleByArgument {
    private static let usual = 10
    var window: FetchWindow

    init?(argument: String) {
        guard let match = argument.wholeMatch(of: /(\d+)(?::(\d+)(?:,(\d+))?)?/),
            let id = IDArgument(argument: String(match.1))?.id
        else { return nil }
        func count(_ text: Substring?) -> Int?? {
            guard let text else { return .some(nil) }
            return RowCount(argument: String(text)).map { .some($0.count) }
        }
        guard let before = count(match.2), let after = count(match.3) else { return nil }
        let above = before ?? Self.usual
        self.window = .around(id, before: above, after: after ?? above)
    }
}

/// `10..20`.
struct WindowArgument: ExpressibleByArgument {
    var rows: Range<Int>

    init?(argument: String) {
        guard let match = argument.wholeMatch(of: /(\d+)\.\.(\d+)/), let first = RowCount(argument: String(match.1)),
            let end = RowCount(argument: String(match.2)), first.count <= end.count
        else { return nil }
        self.rows = first.count..<end.count
    }
}

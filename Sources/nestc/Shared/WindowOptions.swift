import ArgumentParser
import NestModel

/// Which rows of a result are sent.
struct WindowOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Only the rows from A up to, not including, B; the first is 0.", valueName: "A..B"))
    var window: WindowArgument?

    @Option(help: ArgumentHelp("At most so many.", valueName: "n"))
    var limit: RowCount?

    @Option(help: ArgumentHelp("Without the first so many.", valueName: "n"))
    var offset: RowCount?

    mutating func validate() throws {
        if self.window != nil, self.limit != nil || self.offset != nil {
            throw ValidationError("say --window, or --limit and --offset")
        }
    }

    private var first: Int { self.window?.rows.lowerBound ?? self.offset?.count ?? 0 }

    /// `nil`: all rows.
    var fetchWindow: FetchWindow? {
        guard self.window != nil || self.limit != nil || self.offset != nil else { return nil }
        return FetchWindow(offset: self.first, limit: self.window?.rows.count ?? self.limit?.count ?? RowCount.max)
    }

    /// What has been left out, for people.
    func summary(_ count: Int, of total: Int) -> String {
        guard count > 0 else { return "none of \(total) rows" }
        let first = self.first
        return count == 1 ? "row \(first) of \(total)" : "rows \(first) to \(first + count - 1) of \(total)"
    }
}

/// A number of rows, as far as a message can say it.
struct RowCount: ExpressibleByArgument {
    static let max = Int(Limits.objectIDMax)
    var count: Int

    init?(argument: String) {
        guard let count = Int(argument), (0...Self.max).contains(count) else { return nil }
        self.count = count
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

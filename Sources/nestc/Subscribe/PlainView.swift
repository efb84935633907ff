import NestDocuments
import NestClient
import NestModel

/// A list that is printed after each change, line by line, without control of the screen.
struct PlainView {
    private let resolved: RequestOptions.Resolved
    private let text: ListText
    private var marks = ChangeMarks()
    private var status = "connecting"
    private var hasPrinted = false

    init(_ resolved: RequestOptions.Resolved) {
        self.resolved = resolved
        self.text = ListText(resolved)
    }

    /// Returns the window of the rows to print: the user's or, on a terminal, as many rows as fit.
    static func window(_ window: FetchWindow?, _ output: Output) -> FetchWindow? {
        if window != nil || !output.isTerminal { return window }
        return .range(offset: 0, limit: max(TerminalScreen.size.rows - 3, 1))
    }

    mutating func follow(_ results: ResultsSubscription, limit: SubscriptionLimit, _ output: inout Output) async throws
    {
        var limit = limit
        for try await change in results {
            try self.print(change, results.state, &output)
            try output.flush()
            if limit.isReached(change, results.state.revision) { return }
        }
    }

    private mutating func print(
        _ change: FetchedResultsChange,
        _ state: SectionedSnapshot,
        _ output: inout Output
    ) throws {
        switch change {
        case .snapshot, .diff, .resumed, .position, .totals: self.status = "live"
        case .disconnected(let reason): self.status = "\(reason); reconnecting"
        case .progress, .reset, .paused: return
        }
        switch change {
        case .snapshot: self.marks.note(snapshot: state, isAnswer: false)
        case .diff(let diff): self.marks.note(diff, state, isAnswer: false)
        case .position(let position): self.marks.note(position)
        case .totals: break
        default: return try output.line(self.header(state, output))
        }
        if case .position = change {
            try output.line(self.header(state, output))
        } else {
            // Separates the list from its previous state.
            if self.hasPrinted { try output.line("") }
            for line in self.lines(state, output) { try output.line(line) }
            if case .diff(let diff) = change, !diff.authors.isEmpty {
                try output.line(output.dim(Self.text(diff.authors)))
            }
            self.hasPrinted = true
        }
        self.marks.shown()
    }

    /// Returns who made a change: `r41 s2 Ann, r42 s3`.
    private static func text(_ authors: [RevisionAuthor]) -> String {
        authors.map { author in
            "r\(author.revision) \(UserText.whose(isMine: false, session: author.sessionNumber, author.user))"
        }.joined(separator: ", ")
    }

    private func header(_ state: SectionedSnapshot, _ output: Output) -> String {
        let held = HeldRows(state, isSectioned: self.text.isSectioned)
        let sections = held.isSectioned ? "  \(Counted.text(held.sectionTotal, "section", isGrouped: true))" : ""
        let facts = "  \(CountText.rows(held.range, of: held.total))\(sections)  revision \(state.revision)"
        let title = output.heading(StyledText(self.text.title, .bold))
        let counts = self.marks.counts.map(output.styled).joined(separator: " ")
        return "\(title)\(output.dim("\(facts)  \(self.status)"))\(counts == "" ? "" : "  \(counts)")"
    }

    /// Returns the header and the rows.
    private func lines(_ state: SectionedSnapshot, _ output: Output) -> [String] {
        let printer = self.text.printer(state.projection)
        var lines = [self.header(state, output)]
        for section in state.sections {
            if self.text.isSectioned { lines.append(self.heading(section, output)) }
            for row in section.rows {
                let mark = self.marks[row.id].parts.map(output.styled).joined()
                lines.append("\(mark) \(printer.indentation(row))\(printer.line(row, output))")
            }
        }
        let totals = self.text.totals.text(state.totals)
        return totals == "" ? lines : lines + [output.dim(totals)]
    }

    private func heading(_ section: ResultsSection, _ output: Output) -> String {
        let totals = self.text.totals.text(section.totals)
        return output.heading(self.text.heading(section.key)) + (totals == "" ? "" : "  \(output.dim(totals))")
    }
}

import NestClient
import NestModel

/// A list that is redrawn as it changes, on the terminal's alternate screen.
///
/// Changes are applied as they arrive. The screen is drawn at most every `interval`, so that a burst costs one drawing.
/// Keys move a window and pause the subscription. If keys move the window faster than the server answers, only the
/// newest position is requested.
actor LiveView {
    private let resolved: RequestOptions.Resolved
    private let names: SectionNames
    private var results: ResultsSubscription?
    private var status = "connecting"
    private var isDirty = true
    private var marks = ChangeMarks()
    private static let interval = Duration.milliseconds(50)
    private var isPaused = false
    /// The window that was requested last. `nil`: the visible window.
    private var wanted: FetchWindow?
    private let (moves, mover) = AsyncStream.makeStream(
        of: ObjectFetchRequest.self,
        bufferingPolicy: .bufferingNewest(1)
    )

    init(_ resolved: RequestOptions.Resolved) {
        self.resolved = resolved
        self.names = SectionNames(resolved)
    }

    /// Shows the results until the limit is reached or the task is cancelled. Then restores the terminal.
    func follow(_ results: ResultsSubscription, limit: SubscriptionLimit) async throws {
        self.results = results
        try TerminalScreen.enter()
        let keyboard = TerminalKeyboard()
        defer {
            TerminalScreen.leave()
            keyboard?.restore()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var limit = limit
                for try await change in results {
                    await self.note(change, results)
                    if limit.isReached(change, results) { return }
                }
            }
            group.addTask {
                while true {
                    for key in keyboard?.typed() ?? [] { await self.pressed(key, results) }
                    try await self.drawIfNeeded()
                    try await Task.sleep(for: Self.interval)
                }
            }
            group.addTask {
                for await request in self.moves { await self.move(to: request, results) }
                // Reached only in a cancelled task.
                try await Task.sleep(for: .seconds(1))
            }
            try await group.next()
            group.cancelAll()
        }
    }

    private func pressed(_ key: TerminalKey, _ results: ResultsSubscription) async {
        self.isDirty = true
        if key == .space {
            self.isPaused.toggle()
            return self.isPaused ? await results.pause() : await results.resume()
        }
        var request = results.request
        let state = results.state
        request.window = (self.wanted ?? request.window?.following(state.window?.anchor))?.scrolled(key, state)
        guard request.window != nil else { return }
        self.wanted = request.window
        self.mover.yield(request)
    }

    private func move(to request: ObjectFetchRequest, _ results: ResultsSubscription) async {
        do throws(NestError) {
            try await results.change(to: request)
        } catch {
            self.status = error.message
            self.isDirty = true
        }
        if self.wanted == request.window { self.wanted = nil }
    }

    private func note(_ change: FetchedResultsChange, _ results: ResultsSubscription) {
        switch change {
        case .diff(let diff): self.marks.note(diff, results.state)
        case .snapshot: self.marks = ChangeMarks()
        default: break
        }
        switch change {
        case .snapshot, .diff, .progress, .position, .resumed: self.status = "live"
        case .paused: self.status = "paused"
        case .reset: self.status = "loading"
        case .disconnected(let reason): self.status = "\(reason); connecting again"
        }
        self.isDirty = true
    }

    private func drawIfNeeded() throws {
        let size = TerminalScreen.size
        guard let results = self.results, self.isDirty || size != self.drawnSize else { return }
        self.isDirty = false
        self.drawnSize = size
        try TerminalScreen.draw(self.lines(results.state, room: max(size.rows - 2, 1)), columns: size.columns)
        self.marks.shown()
    }

    /// Returns the title, and as many lines as fit below it.
    private func lines(_ state: SectionedSnapshot, room: Int) -> [String] {
        let output = Output()
        let printer = RowPrinter(self.resolved, projection: state.projection)
        let sections = self.names.isSectioned ? "  \(state.sections.count) sections" : ""
        let title = output.bold(output.shown(self.resolved.title))
        let rows = state.window?.summary(state.total) ?? "\(state.total) rows"
        let facts = "  \(rows)\(sections)  revision \(state.revision)  \(self.status)"
        var lines = ["\(title)\(output.dim(facts))  \(self.marks.summary(output))"]
        var left = state.total
        drawing: for section in state.sections {
            if self.names.isSectioned {
                if lines.count > room { break drawing }
                lines.append(self.names.heading(section.key, output))
            }
            for row in section.rows {
                if lines.count > room { break drawing }
                lines.append("\(self.marks.text(row.id, output)) \(printer.line(row, output))")
                left -= 1
            }
        }
        if left > 0 { lines.append(output.dim("… \(left) more")) }
        return lines
    }

    private var drawnSize = TerminalScreen.Size(rows: 0, columns: 0)
}

import NestClient
import NestModel

/// A list that is drawn over itself as it changes, on the terminal's other screen.
///
/// Changes are taken as they come; the screen is drawn at most every `interval`, so that a burst costs one drawing.
actor LiveView {
    private let title: String
    private let model: ManagedObjectModel
    private let entity: EntityDescription
    private var results: FetchedResults?
    private var status = "connecting"
    private var isDirty = true
    private static let interval = Duration.milliseconds(50)

    init(title: String, model: ManagedObjectModel, entity: EntityDescription) {
        self.title = title
        self.model = model
        self.entity = entity
    }

    /// Shows the results until the limit is reached or the task is cancelled. The terminal is as before afterwards.
    func follow(_ results: FetchedResults, limit: SubscriptionLimit) async throws {
        self.results = results
        try TerminalScreen.enter()
        defer { TerminalScreen.leave() }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var limit = limit
                for try await change in results {
                    await self.note(change)
                    if limit.isReached(change, results) { return }
                }
            }
            group.addTask {
                while true {
                    try await self.drawIfNeeded()
                    try await Task.sleep(for: Self.interval)
                }
            }
            try await group.next()
            group.cancelAll()
        }
    }

    private func note(_ change: FetchedResultsChange) {
        switch change {
        case .snapshot, .diff, .progress, .position, .resumed: self.status = "live"
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
        let state = results.state
        let printer = RowPrinter(model: self.model, entity: self.entity, projection: state.projection)
        let output = Output()
        var lines = [
            output.bold("\(self.title)")
                + output.dim("  \(state.total) rows  revision \(state.revision)  \(self.status)")
        ]
        let room = max(size.rows - 2, 1)
        var left = state.total
        drawing: for section in state.sections {
            for row in section.rows {
                if lines.count > room { break drawing }
                lines.append(printer.line(row, output))
                left -= 1
            }
        }
        if left > 0 { lines.append(output.dim("… \(left) more")) }
        try TerminalScreen.draw(lines, columns: size.columns)
    }

    private var drawnSize = TerminalScreen.Size(rows: 0, columns: 0)
}

/// What shows itself on the terminal's alternate screen.
protocol ScreenUser: Actor {
    func draw() throws
    /// Returns whether the view continues.
    func press(_ key: TerminalKey) async -> Bool
    func take(_ signal: Int32)
}

/// When the screen is drawn: at most every `interval`, so that a burst of changes costs one drawing.
struct ScreenPace: Sendable {
    static let interval = Duration.milliseconds(25)

    fileprivate let drawings: AsyncStream<Void>
    private let drawer: AsyncStream<Void>.Continuation

    init() {
        (self.drawings, self.drawer) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    }

    func drawSoon() { self.drawer.yield() }
}

/// Runs a view with the terminal's keys and signals.
enum ScreenLoop {
    /// Returns when the changes end, or the user quits. `jobs` end only in a cancelled task.
    static func run(
        _ view: some ScreenUser,
        _ pace: ScreenPace,
        changes: @escaping @Sendable () async throws -> Void,
        jobs: [@Sendable () async -> Void]
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await changes() }
            group.addTask {
                for await _ in pace.drawings {
                    try await view.draw()
                    try await Task.sleep(for: ScreenPace.interval)
                }
                try await Self.untilCancelled()
            }
            for job in jobs {
                group.addTask {
                    await job()
                    try await Self.untilCancelled()
                }
            }
            group.addTask {
                await TerminalSignals.handle { await view.take($0) }
                try await Self.untilCancelled()
            }
            if isatty(STDIN_FILENO) == 1 {
                group.addTask { await TerminalKeyboard.read { await view.press($0) } }
            }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func untilCancelled() async throws {
        while true { try await Task.sleep(for: .seconds(3_600)) }
    }
}

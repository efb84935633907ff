/// Wakes a test on the main actor after every change of the observed state.
@MainActor package struct ChangeSignal {
    private let changes: AsyncStream<Void>
    private let changed: AsyncStream<Void>.Continuation

    package init() {
        (self.changes, self.changed) = AsyncStream.makeStream(of: Void.self)
    }

    package func send() { self.changed.yield() }

    /// Ends the changes.
    package func end() { self.changed.finish() }

    /// Waits until a condition holds after some change. Fails if the changes end before, or if the test is cancelled by
    /// its time limit.
    package func wait(until condition: () -> Bool) async throws {
        var changes = self.changes.makeAsyncIterator()
        while !condition() {
            guard await changes.next() != nil else { throw Ended() }
        }
    }

    private struct Ended: Error, CustomStringConvertible {
        let description = "the changes have ended, or the test was cancelled"
    }
}

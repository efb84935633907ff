import NestModel

/// The states of a list with the writes of this client that the server has not confirmed yet, newest last. A slow
/// consumer misses states, never the newest. It ends with a `NestError` if the server ends the subscription or the
/// client is closed.
public struct OptimisticResults: AsyncSequence, Sendable {
    public typealias Element = OptimisticState

    let states: AsyncThrowingStream<OptimisticState, any Error>
    let results: ResultsSubscription

    public func makeAsyncIterator() -> AsyncThrowingStream<OptimisticState, any Error>.AsyncIterator {
        self.states.makeAsyncIterator()
    }

    /// Shows other rows of the list: see `ResultsSubscription.setWindow`. Until the server has sent them, the pending
    /// writes stay laid over those that were shown before.
    @discardableResult
    public func setWindow(_ window: FetchWindow?) async throws(NestError) -> Bool {
        try await self.results.setWindow(window)
    }
}

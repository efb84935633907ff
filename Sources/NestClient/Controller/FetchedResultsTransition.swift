import NestModel

/// A change of fetched results, with what it means for a view that shows them.
public struct FetchedResultsTransition: Hashable, Sendable {
    /// What has happened.
    public let change: FetchedResultsChange
    /// For a diff, what a delegate would be told of it; empty for every other change.
    public let events: [FetchedResultsEvent]

    init(_ change: FetchedResultsChange, _ events: [FetchedResultsEvent]) {
        self.change = change
        self.events = events
    }

    /// For a diff, what a table or collection view does about it in one batch.
    public var batchUpdates: BatchUpdates { BatchUpdates(self.events) }
}

extension ResultsSubscription {
    /// The same changes with what a delegate would be told of them. One task iterates these or the results themselves.
    ///
    /// When a diff is found to lead to another digest than the server's, it is told, as the state has taken it, and a
    /// `reset` follows.
    public var transitions: FetchedResultsTransitions { FetchedResultsTransitions(queue: self.queue) }
}

/// Changes of fetched results, each applied to `ResultsSubscription.state` when it is returned.
public struct FetchedResultsTransitions: AsyncSequence, Sendable {
    public typealias Element = FetchedResultsTransition

    let queue: ResultsQueue

    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: ResultsQueue

        /// As the iterator of `ResultsSubscription`: throws at the end, and never returns `nil`.
        public mutating func next() async throws -> FetchedResultsTransition? {
            while true {
                let events = try await self.queue.upcoming()
                if let change = self.queue.advance() { return FetchedResultsTransition(change, events) }
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(queue: self.queue)
    }
}

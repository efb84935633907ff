import NestModel

/// A change of fetched results, with the updates that a view needs.
public struct FetchedResultsTransition: Hashable, Sendable {
    /// The change.
    public let change: FetchedResultsChange
    /// The events of a diff, as for a delegate. Empty for every other change.
    public let events: [FetchedResultsEvent]

    init(_ change: FetchedResultsChange, _ events: [FetchedResultsEvent]) {
        self.change = change
        self.events = events
    }

    /// The updates of a diff that a table or collection view makes in one batch.
    public var batchUpdates: BatchUpdates { BatchUpdates(self.events) }
}

extension ResultsSubscription {
    /// The same changes, with the events that a delegate would receive. One task may iterate either these or the
    /// results.
    ///
    /// If a diff leads to another digest than the server's, it is still returned, because the state has changed by it.
    /// A `reset` follows.
    public var transitions: FetchedResultsTransitions { FetchedResultsTransitions(queue: self.queue) }
}

/// Changes of fetched results, each applied to `ResultsSubscription.state` when it is returned.
public struct FetchedResultsTransitions: AsyncSequence, Sendable {
    public typealias Element = FetchedResultsTransition

    let queue: ResultsQueue

    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: ResultsQueue

        /// Returns the next change. Like the iterator of `ResultsSubscription`, throws at the end and never returns
        /// `nil`.
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

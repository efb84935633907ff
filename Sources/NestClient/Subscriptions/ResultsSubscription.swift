import NestModel

/// The live result of a fetch request: a sequence of changes, and the state they have led to.
///
/// Iterate it from one task. Each change has been applied to `state` when it is returned. What is not taken waits, up
/// to `Limits.clientQueueBytesMax` for all results of a client; then the client stops reading from its server, which
/// answers later with one net difference.
///
/// `transitions` is the same with what each change means for a view; `FetchedResultsController` tells it to a delegate.
public struct ResultsSubscription: AsyncSequence, Sendable {
    public typealias Element = FetchedResultsChange

    let queue: ResultsQueue
    let core: ClientCore
    let subscriber: SubscriberID

    /// The rows at `state.revision`. Empty, at revision 0, before the first snapshot.
    ///
    /// Keep no copy over the next change of a large result: two holders make it copy its rows.
    public var state: SectionedSnapshot { self.queue.state }

    /// What `state` is of: the request subscribed to, or one that it was changed to.
    public var request: ObjectFetchRequest { self.queue.request }

    /// The digest that the server gave for `state`.
    public var digest: UInt64 { self.queue.digest }

    /// The revision that `state` will be at when everything that has come from the server is taken; `nil` while there is no
    /// connection, or the first news over it is awaited.
    package var arrivedRevision: Revision? { self.queue.arrivedRevision }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: ResultsQueue

        /// Waits for the next change. Throws `NestError` when the server ends the subscription or the client is closed,
        /// and `CancellationError` in a cancelled task; never returns `nil`.
        public mutating func next() async throws -> FetchedResultsChange? {
            try await self.queue.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(queue: self.queue)
    }
}

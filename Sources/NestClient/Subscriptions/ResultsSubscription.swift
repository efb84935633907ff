import NestModel

/// The live result of a fetch request: a sequence of changes, and the state after them.
///
/// Iterate it from one task. Each change has been applied to `state` when it is returned. Changes that are not consumed
/// wait, up to `Limits.clientQueueBytesMax` for all results of a client. Beyond that, the client stops reading from its
/// server, which later sends one net difference.
///
/// `transitions` returns the same changes with the updates for a view. `FetchedResultsController` delivers them to a
/// delegate.
public struct ResultsSubscription: AsyncSequence, Sendable {
    public typealias Element = FetchedResultsChange

    let queue: ResultsQueue
    let core: ClientCore
    let subscriber: SubscriberID

    /// The rows at `state.revision`. Empty, at revision 0, before the first snapshot.
    ///
    /// Do not keep a copy across the next change of a large result: that change would copy its rows.
    public var state: SectionedSnapshot { self.queue.state }

    /// Whether `state` is what the server has, as far as this iteration has come. `false` for a state from the cache
    /// until the server has confirmed it or sent the difference, without a connection, and during a pause.
    public var isCurrent: Bool { self.queue.isCurrent }

    /// The request of `state`: the initial one, or the one that it was changed to.
    public var request: ObjectFetchRequest { self.queue.request }

    /// The server's digest of `state`.
    public var digest: UInt64 { self.queue.digest }

    /// The revision of `state` after everything that the server has sent is consumed. `nil` without a connection, and
    /// until the first element of a new connection has arrived.
    package var arrivedRevision: Revision? { self.queue.arrivedRevision }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: ResultsQueue

        /// Waits for the next change. Throws `NestError` if the server ends the subscription or the client is closed,
        /// and `CancellationError` in a cancelled task. Never returns `nil`.
        public mutating func next() async throws -> FetchedResultsChange? {
            try await self.queue.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(queue: self.queue)
    }
}

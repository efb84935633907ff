import NestModel

/// A live outline: a sequence of changes, and the state after them.
///
/// Iterate it from one task. Each change has been applied to `state` when it is returned. Changes that are not consumed
/// wait, up to `Limits.clientQueueBytesMax` for all results of a client. Beyond that, the client stops reading from its
/// server, which later sends one net difference.
///
/// A change costs time in proportion to the rows of the window, at most `Limits.outlineWindowRowsMax`, whatever the
/// size and the depth of the outline. After a lost connection, the client subscribes again with the fold states that
/// were set here, and around the last anchor; a `reset` and a `snapshot` arrive.
///
/// With a cache, an outline begins with the rows and the fold states of the last run. The difference follows.
public struct OutlineResults: AsyncSequence, Sendable {
    public typealias Element = OutlineChange

    let results: ResultsSubscription

    init(_ results: ResultsSubscription) {
        self.results = results
    }

    /// The rows at `state.revision`. Empty, at revision 0, before the first snapshot. Computed from the received rows:
    /// O(rows of the window).
    public var state: OutlineState { OutlineState(self.results.state) ?? .empty }

    /// Whether `state` is what the server has, as far as this iteration has come. `false` for a state from the cache
    /// until the difference has come, without a connection, and during a pause.
    public var isCurrent: Bool { self.results.isCurrent }

    /// The request of `state`: its source is the object that the outline is below. Fold states that were set later are
    /// not in it.
    public var request: ObjectFetchRequest { self.results.request }

    /// The server's digest of the rows.
    public var digest: UInt64 { self.results.digest }

    /// The received rows, with depth and number of children among their values.
    package var snapshot: SectionedSnapshot { self.results.state }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: ResultsQueue

        /// Waits for the next change. Throws `NestError` if the server ends the subscription (`limitExceeded`: the
        /// outline has become too large) or the client is closed, and `CancellationError` in a cancelled task. Never
        /// returns `nil`.
        public mutating func next() async throws -> OutlineChange? {
            let event = try await self.queue.next()
            let snapshot = self.queue.state
            if let state = OutlineState(snapshot) { return OutlineChange(event, state, isAnswer: self.queue.isAnswer) }
            guard snapshot.revision == Revision(0) else {
                throw NestError(.protocolViolation, "the server's rows have no depth or no number of children")
            }
            return OutlineChange(event, .empty)
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(queue: self.results.queue)
    }
}

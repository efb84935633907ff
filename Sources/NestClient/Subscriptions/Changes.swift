import NestModel

/// What every transaction of a store touches, as it is committed: a sequence without a gap and without an overlap.
///
/// Iterate it from one task. What is not taken waits, together with the changes of results up to
/// `Limits.clientQueueBytesMax`; then the client stops reading from its server, which goes on from its journal later.
public struct Changes: AsyncSequence, Sendable {
    public typealias Element = ChangesEvent

    let queue: ChangesQueue

    /// The state that the events taken so far have led to: who keeps it can go on after it with another client. `nil` before
    /// the first event. A change set counts when its last part has been taken.
    public var position: ResumePoint? { self.queue.position }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: ChangesQueue

        /// Waits for the next event. Throws `NestError` when the server ends the subscription (`revisionDropped`: the journal
        /// no longer has what comes next; `conflict`: the store has another history) or the client is closed, and
        /// `CancellationError` in a cancelled task; never returns `nil`.
        public mutating func next() async throws -> ChangesEvent? {
            try await self.queue.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(queue: self.queue)
    }
}

import NestModel

/// The changes of all transactions of a store, as they are committed: a sequence without gaps or overlaps.
///
/// Iterate it from one task. Events that are not consumed wait, together with the changes of results up to
/// `Limits.clientQueueBytesMax`. Beyond that, the client stops reading from its server, which continues later from its
/// journal.
public struct Changes: AsyncSequence, Sendable {
    public typealias Element = ChangesEvent

    let queue: ChangesQueue

    /// The state after the consumed events. With it, another client can continue from here. `nil` before the first
    /// event. A change set counts when its last part was consumed.
    public var position: ResumePoint? { self.queue.position }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let queue: ChangesQueue

        /// Waits for the next event. Throws `NestError` if the server ends the subscription (`revisionDropped`: the
        /// journal no longer has the next change; `conflict`: the store has another history) or the client is closed,
        /// and `CancellationError` in a cancelled task. Never returns `nil`.
        public mutating func next() async throws -> ChangesEvent? {
            try await self.queue.next()
        }
    }

    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(queue: self.queue)
    }
}

import NestModel

/// Following every transaction, whatever it touches.
extension NestClient {
    /// Follows the changes of the whole store, or of some entities and those below them, for as long as `body` runs.
    ///
    /// `since`: everything after this state comes first, from the server's journal; `nil`: from now on. It is refused with
    /// `revisionDropped` when the journal does not reach back so far, and with `conflict` when the store has another history.
    public func withChanges<Result>(
        since: ResumePoint? = nil,
        entities: [EntityNumber] = [],
        _ body: (Changes) async throws -> Result
    ) async throws -> Result {
        let core = self.core
        let subscriber = await core.newSubscriber()
        let queue = ChangesQueue { byteCount in core.enqueue { $0.queuesChanged(by: -byteCount) } }
        await core.subscribeToChanges(subscriber, queue, since: since, entities: entities)
        defer { core.enqueue { $0.unsubscribeFromChanges(subscriber) } }
        return try await body(Changes(queue: queue))
    }
}

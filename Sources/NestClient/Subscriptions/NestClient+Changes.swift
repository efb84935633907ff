import NestModel

/// Subscribing to the changes of all transactions.
extension NestClient {
    /// Follows the changes of the whole store, or of some entities and those below them, while `body` runs.
    ///
    /// `since`: the changes after this state arrive first, from the server's journal; `nil`: only changes from now on.
    /// Throws `revisionDropped` if the journal does not reach back that far, and `conflict` if the store has another
    /// history.
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

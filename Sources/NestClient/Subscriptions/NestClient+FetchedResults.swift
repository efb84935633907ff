import NestModel

/// Subscribing to the results of fetch requests.
extension NestClient {
    /// Subscribes to a fetch request while `body` runs: first a snapshot arrives, then every change of the result.
    ///
    /// With a cache (`ClientConfiguration.cache`), the state of the last run is the first snapshot, also without a
    /// server: `isCurrent` is `false` until the server has confirmed it. Differences follow.
    ///
    /// Equal requests of one client share a subscription. With `verifyDigest`, every state is compared with the
    /// server's digest, which takes time in proportion to the number of rows. A state that differs is replaced by a
    /// snapshot, after a `reset` whose cause is `mismatch`.
    public func withFetchedResults<Result>(
        _ request: ObjectFetchRequest,
        verifyDigest: Bool = false,
        _ body: (ResultsSubscription) async throws -> Result
    ) async throws -> Result {
        let core = self.core
        let subscriber = await core.newSubscriber()
        let queue = ResultsQueue(
            request,
            verifiesDigest: verifyDigest,
            onTaken: { byteCount in core.enqueue { $0.queuesChanged(by: -byteCount) } },
            onMismatch: { reason in core.enqueue { $0.restart(subscriber, reason: reason) } }
        )
        let cached = await core.cached(request)
        await core.subscribe(subscriber, queue, to: request, cached: cached)
        defer { core.enqueue { $0.unsubscribe(subscriber) } }
        return try await body(ResultsSubscription(queue: queue, core: core, subscriber: subscriber))
    }
}

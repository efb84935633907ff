import NestModel

/// Changes of a subscription while it continues: another request, another window, a pause.
extension ResultsSubscription {
    /// Changes the request while the results are iterated, for example for search as you type, or a window that
    /// scrolls. One `diff` leads from the held state to the result of the new request, or a `reset` whose cause is
    /// `request` and a `snapshot` follow. `request` is the request of the current state. Other subscribers of the old
    /// request keep it.
    ///
    /// Returns when the server has accepted the request: `true`, or `false` if a later call replaced this request
    /// before it was sent. If the server refuses, this throws and nothing changes. Without a connection, and during a
    /// pause, it waits for at most the client's `requestTimeout`.
    @discardableResult
    public func change(to request: ObjectFetchRequest) async throws(NestError) -> Bool {
        try await self.core.change(self.subscriber, to: request)
    }

    /// Shows other rows of the same result, or all rows if `window` is `nil`: see `change(to:)`.
    @discardableResult
    public func setWindow(_ window: FetchWindow?) async throws(NestError) -> Bool {
        var request = self.request
        request.window = window
        return try await self.change(to: request)
    }

    /// Ends the subscription at the server and keeps the state, for a screen that is not visible. `paused` arrives when
    /// this has taken effect, and nothing after it until `resume`. A paused subscription does not slow the server's
    /// commits.
    public func pause() async {
        await self.core.pause(self.subscriber)
    }

    /// Continues from the held state. `resumed` arrives, and one `diff` with the changes in the meantime. If the server
    /// no longer has that state in its journal, a `reset` and a `snapshot` arrive instead.
    public func resume() async {
        await self.core.resume(self.subscriber)
    }
}

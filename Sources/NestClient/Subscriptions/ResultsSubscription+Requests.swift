import NestModel

/// What the user of a subscription asks for while it goes on: another request, a window, a pause.
extension ResultsSubscription {
    /// Makes this another request's result, while it is iterated: search as you type, a window that scrolls. From what is held
    /// to what the new request finds leads one `diff`, or a `reset` whose cause is `request` and a `snapshot`; `request`
    /// tells which of the two the state is of. Others who have subscribed to the old request keep it.
    ///
    /// Returns when the server has accepted it: `true`; or `false` when a later call wanted something else before this was
    /// asked for. Refused, it throws, and everything goes on as it was. While there is no connection, and in a pause, it
    /// waits, for at most the client's `requestTimeout`.
    @discardableResult
    public func change(to request: ObjectFetchRequest) async throws(NestError) -> Bool {
        try await self.core.change(self.subscriber, to: request)
    }

    /// Shows other rows of the same result, or with `nil` all: see `change(to:)`.
    @discardableResult
    public func setWindow(_ window: FetchWindow?) async throws(NestError) -> Bool {
        var request = self.request
        request.window = window
        return try await self.change(to: request)
    }

    /// Ends the subscription at the server and keeps the state: for a screen that is not seen. `paused` comes when it has
    /// taken effect, and nothing after it until `resume`; it costs the server nothing for each commit.
    public func pause() async {
        await self.core.pause(self.subscriber)
    }

    /// Goes on from the state held: `resumed` comes, and one `diff` with what has changed meanwhile; or, when the server no
    /// longer knows that, a `reset` and a `snapshot`.
    public func resume() async {
        await self.core.resume(self.subscriber)
    }
}

import NestModel

/// A live outline with the writes of this client that the server has not confirmed yet.
///
/// `states` has the newest state after each change; `OutlineState(state.snapshot)` are its rows. What its user does
/// (fold, zoom, scroll, filter) works as in `OutlineResults`: these return when the server has accepted it, and the
/// rows follow.
public struct OptimisticOutline: Sendable {
    /// Ends with a `NestError` if the server ends the outline or the client is closed.
    public let states: AsyncThrowingStream<OptimisticState, any Error>
    private let results: OutlineResults

    init(states: AsyncThrowingStream<OptimisticState, any Error>, results: OutlineResults) {
        self.states = states
        self.results = results
    }

    /// Folds or unfolds an object: see `OutlineResults.setExpanded`. Rows that pending writes put below an object
    /// without children follow the state that it is to have, before the server has confirmed it. States in which the
    /// server has these rows and not the fold state yet are not shown; they wait at most 2 seconds.
    public func setExpanded(_ object: ObjectID, _ isExpanded: Bool) async throws(NestError) {
        try await self.results.setExpanded(object, isExpanded)
    }

    /// Folds and unfolds several objects in one step. The last state of an object counts.
    public func setExpanded(_ states: [ExpandedState]) async throws(NestError) {
        try await self.results.setExpanded(states)
    }

    /// Gives all objects the states of an expansion: see `OutlineResults.expand`.
    @discardableResult
    public func expand(_ expansion: OutlineExpansion, exceptions: [ObjectID] = []) async throws(NestError) -> Bool {
        try await self.results.expand(expansion, exceptions: exceptions)
    }

    /// Shows the outline below another object: see `OutlineResults.zoom`.
    @discardableResult
    public func zoom(to object: ObjectID, window: FetchWindow? = nil) async throws(NestError) -> Bool {
        try await self.results.zoom(to: object, window: window)
    }

    /// Shows other rows: see `OutlineResults.scroll`.
    @discardableResult
    public func scroll(to window: FetchWindow) async throws(NestError) -> Bool {
        try await self.results.scroll(to: window)
    }

    /// Shows only rows that match: see `OutlineResults.change`. What a pending write makes of a row is known only if
    /// the request asks for the values that the predicate reads.
    @discardableResult
    public func change(where predicate: FetchPredicate) async throws(NestError) -> Bool {
        try await self.results.change(where: predicate)
    }
}

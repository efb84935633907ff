import NestModel

/// What the user of an outline does: fold, zoom, scroll, filter.
///
/// All these return when the server has accepted them; the change of the rows may arrive before or after. If the server
/// refuses, they throw and nothing changes. Without a connection, and during a pause, they wait for at most the
/// client's `requestTimeout`.
///
/// Calls that follow each other faster than the server answers are merged, and one request is under way at a time: of
/// several windows only the newest is requested, while no fold state, zoom or predicate before it is lost. A call
/// returns `false` if later calls have replaced all that it asked for.
extension OutlineResults {
    /// Folds or unfolds an object. An object that is not shown, or does not exist, is no error: its state counts when
    /// it is shown. Throws `limitExceeded`, and nothing changes, if the outline would have too many rows, or too many
    /// objects whose state differs from the outline's expansion (`Limits.outlineExceptionsMax`).
    ///
    /// Unfolding costs the server time in proportion to the rows that come in, folding by the logarithm of the rows.
    public func setExpanded(_ object: ObjectID, _ isExpanded: Bool) async throws(NestError) {
        try await self.setExpanded([ExpandedState(object, isExpanded: isExpanded)])
    }

    /// Folds and unfolds several objects in one step. The last state of an object counts.
    public func setExpanded(_ states: [ExpandedState]) async throws(NestError) {
        try await self.results.core.setExpanded(self.results.subscriber, states)
    }

    /// Gives all objects the states of an expansion: `.all` unfolds everything, `.none` folds everything. The states
    /// that were set before no longer count, except for the exceptions named here.
    @discardableResult
    public func expand(
        _ expansion: OutlineExpansion,
        exceptions: [ObjectID] = []
    ) async throws(NestError) -> Bool {
        try await self.edit(OutlineEdit(outline: FetchOutline(expansion, exceptions: exceptions)))
    }

    /// Shows the outline below another object, from its first row on unless `window` says otherwise. Fold states stay.
    /// Throws `notFound` if the object does not exist.
    @discardableResult
    public func zoom(to object: ObjectID, window: FetchWindow? = nil) async throws(NestError) -> Bool {
        let rowCount = self.request.window?.rowCountMax ?? NestClient.outlineRowsUsual
        return try await self.edit(
            OutlineEdit(source: object, window: window ?? .range(offset: 0, limit: rowCount))
        )
    }

    /// Shows other rows: a range of row numbers, or the rows around an object of the outline. Throws `notFound` if that
    /// object is not shown, because it is in a folded row, for example.
    @discardableResult
    public func scroll(to window: FetchWindow) async throws(NestError) -> Bool {
        try await self.edit(OutlineEdit(window: window))
    }

    /// Shows only rows that match, and only if all rows above them do. Fold states stay.
    @discardableResult
    public func change(where predicate: FetchPredicate) async throws(NestError) -> Bool {
        try await self.edit(OutlineEdit(predicate: predicate))
    }

    /// Changes several things in one step. What is `nil` stays.
    @discardableResult
    public func change(
        source: ObjectID? = nil,
        where predicate: FetchPredicate? = nil,
        window: FetchWindow? = nil,
        outline: FetchOutline? = nil
    ) async throws(NestError) -> Bool {
        try await self.edit(OutlineEdit(source: source, predicate: predicate, window: window, outline: outline))
    }

    /// Returns a request for the same outline with the fold states that were set, for `NestClient.fetch` or another
    /// subscription. In an outline by an attribute, it lacks the states that were set since the subscription began. It
    /// costs time in proportion to the exceptions.
    public func currentRequest() async -> ObjectFetchRequest {
        await self.results.core.currentRequest(self.results.subscriber) ?? self.request
    }

    /// The fold states that `currentRequest` lacks.
    package func laterStates() async -> [ExpandedState] {
        await self.results.core.laterStates(self.results.subscriber)
    }

    /// Ends the subscription at the server and keeps the state: see `ResultsSubscription.pause`.
    public func pause() async { await self.results.pause() }

    /// Continues. A `reset` and a `snapshot` arrive, with all fold states.
    public func resume() async { await self.results.resume() }

    private func edit(_ edit: OutlineEdit) async throws(NestError) -> Bool {
        try await self.results.core.edit(self.results.subscriber, edit)
    }
}

extension FetchWindow {
    /// The largest number of rows in it.
    var rowCountMax: Int {
        switch self {
        case .range(_, let limit): limit
        case .around(_, let before, let after): before + 1 + after
        }
    }
}

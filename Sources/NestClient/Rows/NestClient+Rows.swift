import NestModel

extension ManagedObjectModel {
    /// Whether requests that were made for another model are valid in this one.
    func isValid(for other: ManagedObjectModel) -> Bool { self == other || self.extends(other) }
}

/// Requests that are written by name, and their rows as values of the program.
extension NestClient {
    /// Returns the rows of a request, at revision `atLeast` or later: see `fetch(_:atLeast:)` of an
    /// `ObjectFetchRequest`.
    public func fetch(
        _ request: NamedRequest,
        atLeast: Revision = Revision(0)
    ) async throws -> FetchedRows<FetchedRow> {
        try await self.fetch(request, as: FetchedRow.self, atLeast: atLeast)
    }

    /// Returns the rows of a request, each as a value of `type`.
    public func fetch<Element: RowDecodable>(
        _ request: NamedRequest,
        as type: Element.Type,
        atLeast: Revision = Revision(0)
    ) async throws -> FetchedRows<Element> {
        try await self.check(request)
        let state = try await self.fetchWindow(request.request, atLeast: atLeast).snapshot
        try request.check(state.projection)
        return try FetchedRows(decoding: state, request.columns)
    }

    /// Throws `schemaChanged` if the request was made for a model that the server's does not extend.
    private func check(_ request: NamedRequest) async throws(NestError) {
        guard try await self.currentModel().isValid(for: request.entity.model) else { throw NamedRequest.otherModel }
    }

    /// Returns the number of rows in the result of a request. Ignores its window.
    public func count(_ request: NamedRequest, atLeast: Revision = Revision(0)) async throws(NestError) -> Int {
        try await self.check(request)
        return try await self.count(request.request, atLeast: atLeast)
    }

    /// Subscribes to a request while `body` runs: first a snapshot arrives, then every change of the result.
    /// `verifyDigest`: see `withFetchedResults(_:verifyDigest:_:)` of an `ObjectFetchRequest`.
    public func withFetchedResults<Result>(
        _ request: NamedRequest,
        verifyDigest: Bool = false,
        _ body: (RowsSubscription<FetchedRow>) async throws -> Result
    ) async throws -> Result {
        try await self.withFetchedResults(request, as: FetchedRow.self, verifyDigest: verifyDigest, body)
    }

    /// Subscribes to a request while `body` runs, with each row as a value of `type`.
    public func withFetchedResults<Element: RowDecodable, Result>(
        _ request: NamedRequest,
        as type: Element.Type,
        verifyDigest: Bool = false,
        _ body: (RowsSubscription<Element>) async throws -> Result
    ) async throws -> Result {
        try await self.check(request)
        return try await self.withFetchedResults(request.request, verifyDigest: verifyDigest) { results in
            try await body(RowsSubscription(results: results, request))
        }
    }

    /// Follows an outline while `body` runs: see `withOutline(_:verifyDigest:_:)` of an `ObjectFetchRequest`.
    public func withOutline<Result>(
        _ request: NamedRequest,
        verifyDigest: Bool = false,
        _ body: (OutlineResults) async throws -> Result
    ) async throws -> Result {
        try await self.check(request)
        return try await self.withOutline(request.request, verifyDigest: verifyDigest, body)
    }

    /// Follows the changes of some entities and those below them, of the whole store if there are none: see
    /// `withChanges(since:entities:_:)`.
    public func withChanges<Result>(
        since: ResumePoint? = nil,
        of entities: [NamedEntity],
        _ body: (Changes) async throws -> Result
    ) async throws -> Result {
        let model = try await self.currentModel()
        guard entities.allSatisfy({ model.isValid(for: $0.model) }) else { throw NamedRequest.otherModel }
        return try await self.withChanges(since: since, entities: entities.map(\.number), body)
    }
}

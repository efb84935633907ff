import NestModel

/// Subscribing to outlines.
extension NestClient {
    /// The rows of an outline's window if the request has none.
    static let outlineRowsUsual = 100

    /// Follows an outline while `body` runs: the rows below an object in preorder, as an outliner shows them.
    ///
    /// The request's source is the object and its ordered relationship to the same entity. If it has no `outline`, all
    /// rows are folded at first; if it has no window, the first 100 rows are shown. It has no sort keys and no
    /// sections. Depth and number of children are added to a projection that lacks them. The server refuses with
    /// `invalid` what cannot be an outline, and with `limitExceeded` more than `Limits.outlinesPerConnectionMax`
    /// outlines of a connection: the iteration throws it.
    ///
    /// With a cache (`ClientConfiguration.cache`), the first rows and the fold states are those of the last run, unless
    /// the request names fold states that neither the last run's request had nor its end.
    ///
    /// With `verifyDigest`, every state is compared with the server's digest. A state that differs is replaced by a
    /// snapshot, after a `reset` whose cause is `mismatch`.
    public func withOutline<Result>(
        _ request: ObjectFetchRequest,
        verifyDigest: Bool = false,
        _ body: (OutlineResults) async throws -> Result
    ) async throws -> Result {
        let request = try request.asOutline()
        return try await self.withFetchedResults(request, verifyDigest: verifyDigest) { results in
            try await body(OutlineResults(results))
        }
    }
}

extension ObjectFetchRequest {
    /// Returns the request with what an outline needs.
    func asOutline() throws(NestError) -> ObjectFetchRequest {
        var request = self
        request.outline = request.outline ?? FetchOutline()
        if request.outline?.expansion == .asBefore { throw OutlineFolds.asBefore }
        request.window = request.window ?? .range(offset: 0, limit: NestClient.outlineRowsUsual)
        if !request.projection.isEmpty {
            let missing = [PropertyNumber.outlineChildren, .outlineDepth].filter { !request.projection.contains($0) }
            request.projection += missing
        }
        return request
    }
}

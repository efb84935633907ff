import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// FETCH: answered from the live result when there is one; a large result is read in the background.
struct FetchRequests {
    let store: Store
    let scopes: TokenScopes
    let admission: Admission
    let live: LiveResults
    let reads: BackgroundReads
    let replies: Replies
    let rowsMax: Int

    func fetch(
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ request: ObjectFetchRequest,
        atLeast: Revision,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        try self.store.requireRevision(atLeast)
        let resolver = try RequestResolver(self.store, self.scopes, connection.scope)
        let resolved = try resolver.resolve(request, mayBeGone: false)
        guard let answer = try self.answer(resolved, connection.scope) else {
            let result = ResultKey(source: resolved.source, scope: connection.scope)
            let key = ViewKey(result: result, projection: resolved.projection, window: resolved.window)
            return try self.reads.request(
                key,
                resolved.slots,
                for: .fetch,
                connection.id,
                requestID,
                now: now,
                &effects
            )
        }
        self.admission.work += answer.rowCount
        self.replies.send(answer.reply, connection.id, requestID, &effects)
    }

    /// Returns `nil` when the answer is too large to be made between two commits.
    private func answer(_ resolved: RequestResolver.Resolved, _ scope: AuthorisationScope) throws(StoreError)
        -> FetchAnswer?
    {
        guard let state = try self.state(resolved.source, scope) else { return nil }
        return try FetchAnswer(resolved, state, self.store.objects, self.store.head, rowsMax: self.rowsMax)
    }

    private func state(_ source: ResultSource, _ scope: AuthorisationScope) throws(StoreError) -> LiveState? {
        if let entry = self.live[ResultKey(source: source, scope: scope)], entry.isCurrent { return entry.result.state }
        guard try !self.reads.isLarge(source) else { return nil }
        self.admission.work += try self.live.related.retain(source)
        defer { self.live.related.release(source) }
        do {
            return LiveState(source, try self.live.rows(of: source))
        } catch StoreError.postponed(.resultTooExpensive) {
            return nil
        }
    }
}

import DequeModule
import NestLiveQuery
import NestModel
import NestStore

/// Live results that cannot follow a batch at once, because that would keep everybody's commits waiting: they lag, and are
/// read anew beside the commits.
///
///     current ──a batch costs too much──▶ lagging ──its turn──▶ loading ──read, and what came since──▶ current
///
/// Their subscribers then get one net difference, or a snapshot. Until then their connections hear of no later revision, and
/// the answers to their own writes wait, as on a connection that does not drain.
extension Engine {
    /// Results read anew at the same time. The threads that read are also there for other clients.
    private static let refreshesMax = 1

    /// Takes what a batch has done to the live results, and sends it.
    func follow(
        _ changes: [ChangeSet],
        _ bulk: BulkConcern,
        base: Revision,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        // Read as it is before the batch, once for all its revisions, because to read it of `self` copies it.
        let results = self.results
        guard !results.isEmpty else { return }
        var evaluation = Evaluation(
            differenceRowsMin: self.limits.differenceRowsMin,
            relatedTouchesMax: self.limits.relatedTouchesMax,
            nanosecondsMax: self.limits.evaluationNanosecondsMax,
            objectCount: changes.reduce(0) { $0 + $1.insertedCount + $1.updatedCount + $1.deletedCount }
        )
        if bulk.isOverrun { for entry in bulk.concerned { evaluation.shed(entry) } }
        for changes in changes {
            try evaluation.take(changes, results, self.store, withBlocks: !bulk.isOverrun)
        }
        try evaluation.finish(&self.results, self.store, self.related, base: base)
        for entry in evaluation.abandoned { self.removeResult(entry.key) }
        for entry in evaluation.lagging { self.lag(entry, base: base) }
        self.noteGrowth(evaluation, now: now, &effects)
        try self.push(evaluation, now: now, &effects)
    }

    /// A result does not follow the batch after `base`.
    private func lag(_ entry: ResultRegistry.Entry, base: Revision) {
        self.endFollowing(entry)
        for view in entry.views.values {
            for id in view.synced {
                self.lag(id, view, .lagging(base: base, known: view.lastChange, range: view.range))
            }
        }
    }

    /// Changes pass a result by until it has its turn to be read anew.
    private func endFollowing(_ entry: ResultRegistry.Entry) {
        self.results.lag(entry)
        self.related.releaseTallies(of: entry.key.source)
        self.lagging.append(entry.key)
    }

    /// A subscription waits until its result has been read.
    func lag(_ id: ConnectionID, _ view: View, _ state: SubscriptionState) {
        view.subscribers[id] = state
        self.connections[id]?.behind.insert(view.id)
    }

    /// Has those read anew that have lagged longest.
    func refreshLagging(now: Int64, _ effects: inout [EngineEffect]) {
        while self.refreshing.count < Self.refreshesMax, let key = self.lagging.popFirst() {
            guard let entry = self.results[key], entry.isLagging, entry.loading == nil else { continue }
            guard !entry.isUnused else {
                self.removeResult(key)
                continue
            }
            self.refresh(entry, &effects)
        }
    }

    /// From here on what happens to a result that lags is remembered, so that it can be read anew.
    func beginLoading(_ entry: ResultRegistry.Entry) {
        self.related.retainTallies(of: entry.key.source)
        self.results.beginLoading(entry, self.loading(entry.key.source))
    }

    private func refresh(_ entry: ResultRegistry.Entry, _ effects: inout [EngineEffect]) {
        self.beginLoading(entry)
        self.refreshing.insert(entry.key)
        entry.readCount += 1
        self.lastSideRead += 1
        let read = SideRead(id: self.lastSideRead, rowsOf: entry.key.source)
        let key = ViewKey(result: entry.key, projection: [], window: nil)
        self.sideReads[read.id] = PendingRead(read, key, head: self.store.head, attempts: 1)
        self.rimEffectCount += 1
        effects.append(.read(read))
    }

    /// A result that lagged is at the head again: its views take it, and those who waited for it are next.
    func refreshed(_ entry: ResultRegistry.Entry) throws {
        self.refreshing.remove(entry.key)
        for view in entry.views.values.sorted(by: { $0.id < $1.id }) {
            _ = try self.advance(view, entry.result, nil) { _ in true }
            view.lastChange = entry.result.revision
            for id in view.subscribers.lagging { self.behind.append((id, view.id)) }
        }
    }

    /// A result that lags could not be read. `error`: it cannot be read at all, which ends its subscriptions; otherwise
    /// what was to be sent of it for one client could not, and it has its turn again.
    func readFailed(
        _ entry: ResultRegistry.Entry,
        _ error: NestError?,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        if let error {
            self.refreshing.remove(entry.key)
            self.end(entry, error, now: now, &effects)
        } else if entry.loading != nil, !self.refreshing.contains(entry.key) {
            self.endFollowing(entry)
            entry.loading = nil
        }
    }

    /// Ends the subscriptions of a connection to a view, however many share it: nothing more comes under its id.
    func end(_ id: ConnectionID, _ view: View, _ error: NestError, now: Int64, _ effects: inout [EngineEffect]) {
        effects.append(.push(EnginePush(view: view.id, content: .end(error.code, error.message)), to: [id]))
        guard let connection = self.connections[id] else { return }
        connection.views.remove(view.id)
        self.leave(view, id, now: now)
        if connection.behind.remove(view.id) != nil, !connection.isWaiting { self.release(connection, id, &effects) }
    }

    /// Ends all subscriptions to a result, and forgets it.
    func end(_ entry: ResultRegistry.Entry, _ error: NestError, now: Int64, _ effects: inout [EngineEffect]) {
        for view in entry.views.values.sorted(by: { $0.id < $1.id }) {
            for id in view.counts.keys.sorted() { self.end(id, view, error, now: now, &effects) }
        }
        if entry.isUnused { self.removeResult(entry.key) }
    }
}

import NestModel
import NestStore
import NestSchema

/// Connects the parts that bring changes to the subscribers of results, and runs them in the order of a turn. Each part
/// owns its state.
final class LiveQueries {
    let live: LiveResults
    let subscriptions: Subscriptions
    let requests: SubscriptionRequests
    let fetches: FetchRequests
    let positions: WindowPositions
    let reads: BackgroundReads
    let catchUpPushes: CatchUpPushes
    let authors: AuthorPushes
    let outlines: Outlines
    private let batchPushes: BatchPushes
    private let lagging: LaggingViews
    private let snapshots: ViewSnapshots
    private let catchUps: CatchUps

    init(
        _ store: Store,
        _ limits: EngineLimits,
        _ scopes: TokenScopes,
        _ connections: EngineConnections,
        _ admission: Admission,
        _ replies: Replies,
        _ viewIDs: ViewIDs,
        _ counters: EngineCounters
    ) {
        let live = LiveResults(store, limits, admission, scopes)
        let positions = WindowPositions(live)
        let lagging = LaggingViews(connections, workMax: limits.windowWorkMax)
        let subscriptions = Subscriptions(connections, live, positions, lagging, replies, viewIDs)
        let snapshots = ViewSnapshots(store, live, admission, rowsMax: limits.backgroundReadRowsMin)
        let diffs = ViewDiffs(store: store, scopes: scopes)
        let catchUps = CatchUps(store, live, diffs, admission, differenceRowsMin: limits.differenceRowsMin)
        let reads = BackgroundReads(store, connections, admission, live, rowsMin: limits.backgroundReadRowsMin)
        let views = ViewPushes(
            store: store,
            connections: connections,
            admission: admission,
            snapshots: snapshots,
            positions: positions,
            lagging: lagging,
            reads: reads,
            counters: counters
        )
        let authors = AuthorPushes(
            store: store,
            connections: connections,
            subscriptions: subscriptions,
            admission: admission,
            authors: RevisionAuthors(store: store, admission: admission)
        )
        let outlines = Outlines(
            store,
            limits,
            scopes,
            connections,
            admission,
            live,
            lagging,
            replies,
            reads,
            authors,
            viewIDs,
            counters
        )
        outlines.endList = { (id, view, now) throws(StoreError) in
            try subscriptions.unsubscribe(id, view, now: now)
        }
        subscriptions.outlines = outlines
        live.outlines = outlines
        let catchUpPushes = CatchUpPushes(
            store: store,
            connections: connections,
            admission: admission,
            live: live,
            subscriptions: subscriptions,
            lagging: lagging,
            snapshots: snapshots,
            positions: positions,
            catchUps: catchUps,
            views: views,
            replies: replies,
            authors: authors,
            outlines: outlines,
            counters: counters,
            workMax: limits.windowWorkMax
        )
        self.live = live
        self.positions = positions
        self.lagging = lagging
        self.subscriptions = subscriptions
        self.snapshots = snapshots
        self.catchUps = catchUps
        self.reads = reads
        self.catchUpPushes = catchUpPushes
        self.authors = authors
        self.outlines = outlines
        self.batchPushes = BatchPushes(
            store: store,
            limits: limits,
            live: live,
            subscriptions: subscriptions,
            lagging: lagging,
            reads: reads,
            diffs: diffs,
            views: views,
            counters: counters
        )
        self.requests = SubscriptionRequests(
            store: store,
            scopes: scopes,
            connections: connections,
            admission: admission,
            live: live,
            subscriptions: subscriptions,
            snapshots: snapshots,
            positions: positions,
            diffs: diffs,
            catchUps: catchUps,
            reads: reads,
            views: views,
            lagging: catchUpPushes,
            replies: replies,
            progress: ProgressMarks(connections: connections, store: store),
            own: OwnRevisions(connections: connections),
            authors: authors
        )
        self.fetches = FetchRequests(
            store: store,
            scopes: scopes,
            admission: admission,
            live: live,
            reads: reads,
            replies: replies,
            rowsMax: limits.backgroundReadRowsMin
        )
    }

    /// Whether a subscription can catch up or a completed read has waiters, so that the next turn has work to do.
    var hasBacklog: Bool { !self.lagging.isEmpty || self.reads.hasCompleted }

    func beginTurn() { self.lagging.beginTurn() }

    /// Applies the changes of a batch to the live results, and sends the differences. `base`: the head before the
    /// batch.
    func push(
        _ changes: [ChangeSet],
        _ bulk: BulkConcern,
        base: Revision,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        do {
            try self.batchPushes.push(changes, bulk, base: base, now: now, &effects)
        } catch {
            self.outlines.lose()
            throw error
        }
        try self.outlines.push(changes, bulk, base: base, &effects)
    }

    /// Brings lagging subscriptions to the head, up to the work limit of a turn.
    func pushLagging(now: Int64, _ effects: inout [EngineEffect]) {
        if !self.lagging.isEmpty { self.catchUpPushes.pushLagging(now: now, &effects) }
    }

    /// Drops the differences and snapshots that were computed for this batch only.
    func endBatch(keepsRecentChanges: Bool) {
        self.catchUps.endBatch(keepsRecentChanges: keepsRecentChanges)
        self.snapshots.endBatch()
    }

    /// Enforces the memory limits of the results; called with each tick.
    func tick(now: Int64, _ effects: inout [EngineEffect]) {
        self.live.tick(now: now) { entry, error in self.subscriptions.end(entry, error, now: now, &effects) }
        self.outlines.shed(&effects)
    }
}

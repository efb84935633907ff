import DequeModule
import NestLiveQuery
import NestModel
import NestStore
import NestSchema

/// Background snapshot reads of large results: those that run, and completed ones that still have waiters.
///
/// Also reads lagging results anew, one after the other:
///
///     current ──a batch costs too much──▶ lagging ──its turn──▶ loading ──read, later changes applied──▶ current
final class BackgroundReads {
    typealias Outcome = Result<BackgroundRead.Rows, NestError>

    private let store: Store
    private let connections: EngineConnections
    private let admission: Admission
    private let live: LiveResults
    /// Results with more rows are read in the background.
    private let rowsMin: Int
    /// The running reads, by id.
    private var reads: [UInt64: PendingRead] = [:]
    /// The running read that further requests for a view join.
    private var readOfView: [ViewKey: UInt64] = [:]
    /// Completed reads with waiters still to answer.
    private var completed: Deque<PendingRead> = []
    private var lastID: UInt64 = 0
    /// The number of `read` effects so far.
    private(set) var effectCount = 0
    /// Lagging results, in the order in which they are read anew.
    private var lagging: Deque<ResultKey> = []
    /// The lagging results that are being read.
    private var refreshing: Set<ResultKey> = []

    init(
        _ store: Store,
        _ connections: EngineConnections,
        _ admission: Admission,
        _ live: LiveResults,
        rowsMin: Int
    ) {
        self.store = store
        self.connections = connections
        self.admission = admission
        self.live = live
        self.rowsMin = rowsMin
    }

    // MARK: Starting reads

    /// Whether a result that is not live is read in the background: it has many objects, or fewer that each take long.
    func isLarge(_ source: ResultSource) throws(StoreError) -> Bool {
        let nanoseconds = max(Self.usualNanoseconds, source.cost.nanoseconds(textBytes: Self.usualTextBytes))
        let count = self.rowsMin * Self.usualNanoseconds / nanoseconds
        return try self.store.objects.hasCandidates(of: source, above: count)
    }

    /// The usual cost of one object of a result.
    private static let usualNanoseconds = 2_000
    private static let usualTextBytes = 64

    /// Starts a background read of a view, or joins one that runs. `attempts`: the number of attempts, with this one.
    func request(
        _ key: ViewKey,
        _ slots: [Int],
        for waiter: PendingRead.Waiter,
        _ id: ConnectionID,
        _ requestID: UInt32,
        attempts: Int = 1,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let connection = self.connections[id]
        if !waiter.isFetch {
            if let running = self.readOfView[key].flatMap({ self.reads[$0] }), running.head >= waiter.atLeast {
                connection?.backgroundReadCount += 1
                return running.waiters.append((id, requestID, waiter))
            }
            if let entry = self.live[key.result] {
                // The read for this client also makes the lagging result current.
                if entry.isLagging, entry.loading == nil { self.live.beginLoading(entry) }
            } else {
                try self.live.insertLoading(key.result, now: now)
            }
            self.live[key.result]?.readCount += 1
        }
        connection?.backgroundReadCount += 1
        let read = BackgroundRead(
            id: self.nextID(),
            source: key.result.source,
            slots: slots,
            window: key.window,
            anchorMayBeMissing: !waiter.isFetch,
            compresses: connection?.takesCompressed ?? false
        )
        let pending = PendingRead(read, key, head: self.store.head, attempts: attempts)
        pending.waiters = [(id, requestID, waiter)]
        if !waiter.isFetch { self.readOfView[key] = read.id }
        self.begin(pending, &effects)
    }

    /// Begins a read of an outline, whose outcome its owner takes. Returns the id of the read.
    /// `states`: fold states to apply first, as far as `scope` sees their objects.
    func begin(
        outline: OutlineSource,
        _ states: [ObjectID: Bool],
        _ scope: AuthorisationScope,
        _ effects: inout [EngineEffect]
    ) -> UInt64 {
        let read = BackgroundRead(id: self.nextID(), outline: outline, states, scope)
        self.effectCount += 1
        effects.append(.read(read))
        return read.id
    }

    private func nextID() -> UInt64 {
        self.lastID += 1
        return self.lastID
    }

    private func begin(_ pending: PendingRead, _ effects: inout [EngineEffect]) {
        self.reads[pending.read.id] = pending
        self.effectCount += 1
        effects.append(.read(pending.read))
    }

    // MARK: Lagging results

    /// The maximum number of results that are read anew at the same time. The reading threads also serve other clients.
    private static let refreshesMax = 1

    /// Lets a result lag, and queues it to be read anew.
    func queueRefresh(_ entry: ResultRegistry.Entry) {
        self.live.lag(entry)
        self.lagging.append(entry.key)
    }

    /// Begins to read anew the results that have lagged longest.
    func refreshLagging(_ effects: inout [EngineEffect]) {
        while self.refreshing.count < Self.refreshesMax, let key = self.lagging.popFirst() {
            guard let entry = self.live[key], entry.isLagging, entry.loading == nil else { continue }
            guard !entry.isUnused else {
                self.live.remove(key)
                continue
            }
            self.live.beginLoading(entry)
            self.refreshing.insert(key)
            entry.readCount += 1
            let read = BackgroundRead(id: self.nextID(), rowsOf: key.source)
            let viewKey = ViewKey(result: key, projection: [], window: nil)
            self.begin(PendingRead(read, viewKey, head: self.store.head, attempts: 1), &effects)
        }
    }

    /// Queues a lagging result again after a read for one client has failed, unless the result is being read.
    func queueAgain(_ entry: ResultRegistry.Entry) {
        guard entry.loading != nil, !self.refreshing.contains(entry.key) else { return }
        self.queueRefresh(entry)
        entry.loading = nil
    }

    // MARK: Completed

    /// Accepts the outcome of a read. The waiters are answered within the work limits of the turns. `refreshed`: called
    /// with a result that no longer lags. Returns a read that has failed, with the error; the caller must refuse its
    /// waiters.
    func take(
        _ id: UInt64,
        _ outcome: Outcome,
        now: Int64,
        _ effects: inout [EngineEffect],
        refreshed: (ResultRegistry.Entry) throws(StoreError) -> Void
    ) -> (read: PendingRead, error: NestError)? {
        guard let pending = self.reads[id] else { return nil }
        if pending.read.isOnlyState { self.refreshing.remove(pending.key.result) }
        do throws(StoreError) {
            let rows: BackgroundRead.Rows
            switch outcome {
            case .success(let read): rows = read
            case .failure(let refusal): throw StoreError.refused(refusal)
            }
            if let entry = self.live[pending.key.result], entry.loading != nil, !pending.isFetch {
                let wasLagging = entry.isLagging
                if !wasLagging { try self.live.requireRoom(now: now) }
                try self.live.finishLoading(entry, rows)
                if entry.loading != nil {
                    // Too much has changed since: reads the result once more.
                    pending.attempts += 1
                    if pending.read.isOnlyState { self.refreshing.insert(pending.key.result) }
                    guard wasLagging || pending.attempts <= Self.attemptsMax else { throw Self.busyResult }
                    self.begin(pending, &effects)
                    return nil
                }
                if wasLagging {
                    self.refreshing.remove(entry.key)
                    try refreshed(entry)
                }
            }
            self.forget(pending)
            pending.rows = rows
            self.completed.append(pending)
            return nil
        } catch {
            self.forget(pending)
            return (pending, error.nestError)
        }
    }

    /// The maximum number of reads of a result for one client, while the result changes too much.
    private static let attemptsMax = 8

    private static let busyResult = StoreError.refused(
        .busy,
        "the result changes faster than it can be read: try again later, or request fewer rows"
    )

    /// Forgets a read, so that no request joins it any more.
    private func forget(_ pending: PendingRead) {
        self.reads[pending.read.id] = nil
        if self.readOfView[pending.key] == pending.read.id { self.readOfView[pending.key] = nil }
    }

    var hasCompleted: Bool { !self.completed.isEmpty }
    /// The number of requests that wait for completed reads.
    var waiterCount: Int { self.completed.reduce(0) { $0 + $1.waiters.count } }

    /// Calls `body` with the oldest completed read, to answer one of its waiters. Ends a read without further waiters.
    func serveNext(now: Int64, _ body: (PendingRead) -> Void) {
        guard let read = self.completed.first else { return }
        body(read)
        if read.waiters.isEmpty {
            self.completed.removeFirst()
            self.end(read, now: now)
        }
    }

    /// Ends the wait of a connection that gets its rows, or a refusal.
    func endWait(_ connection: EngineConnection) {
        connection.backgroundReadCount -= 1
        self.admission.giveTurn(connection)
    }

    /// Ends a read whose waiters have all been answered: it no longer retains the result.
    func end(_ pending: PendingRead, now: Int64) {
        guard !pending.isFetch, let entry = self.live[pending.key.result] else { return }
        entry.readCount -= 1
        guard entry.readCount == 0, entry.views.isEmpty else { return }
        entry.unusedSince = now
        if entry.loading != nil { self.live.remove(entry.key) }
    }

    /// Whether too much has changed since to send the difference. The result is then read once more, a few times at
    /// most.
    func isOutdated(_ rows: BackgroundRead.Rows, _ read: PendingRead) -> Bool {
        guard !read.isFetch, let entry = self.live[read.key.result] else { return false }
        // The result may have begun to lag while the waiter waited for its turn.
        guard entry.isCurrent else { return true }
        return read.attempts < 3 && entry.result.log.base > rows.revision
    }
}

import NestLiveQuery
import NestModel
import NestOrder
import NestStore
import NestProtocol
import NestSchema

/// Finds, reads and keeps the live results, while they are used and within their memory limit.
final class LiveResults {
    private let store: Store
    private let limits: EngineLimits
    private let admission: Admission
    let related: RelatedState
    let registry = ResultRegistry()
    /// The bytes of all live results as of the last tick, and of those added since.
    private(set) var byteCount = 0
    /// The outlines, which share the memory of the live results.
    weak var outlines: Outlines?
    /// Whether the live results need all their memory even after the unused ones were dropped. Checked again at each
    /// tick.
    private var isOutOfRoom = false

    init(_ store: Store, _ limits: EngineLimits, _ admission: Admission, _ scopes: TokenScopes) {
        self.store = store
        self.limits = limits
        self.admission = admission
        self.related = RelatedState(
            store.objects,
            scopes,
            aggregatedRowsMax: limits.aggregatedRowsPerTurnMax,
            aggregateBytesMax: limits.aggregateBytesMax,
            aggregatedFewMax: limits.aggregatedFewMax
        )
    }

    subscript(key: ResultKey) -> ResultRegistry.Entry? { self.registry[key] }

    // MARK: Reading

    /// Returns the live result for a key; reads it from the store if there is none. Throws
    /// `postponed(.resultTooExpensive)` if that would delay commits for too long.
    func entry(_ key: ResultKey, now: Int64) throws(StoreError) -> ResultRegistry.Entry {
        if let entry = self.registry[key] { return entry }
        try self.requireRoom(now: now)
        self.admission.work += try self.related.retain(key.source)
        do {
            let rows = try self.rows(of: key.source)
            let result = LiveResult(source: key.source, sorted: rows, revision: self.store.head)
            let entry = self.registry.insert(key, result, now: now)
            self.byteCount += entry.byteCount
            return entry
        } catch {
            self.related.release(key.source)
            throw error
        }
    }

    /// Reads the rows of a result between two commits. The source must be retained in `related`.
    func rows(of source: ResultSource) throws(StoreError) -> ResultRows {
        let nanosecondsMax = self.limits.admissionWorkMax * 1_000
        self.related.beginTurn()
        defer { self.related.endTurn() }
        do {
            let rows = try self.store.objects.resultRows(source, self.related, nanosecondsMax: nanosecondsMax)
            self.admission.work += max(rows.candidateCount, rows.nanoseconds / 1_000)
            return rows
        } catch StoreError.postponed(.resultTooExpensive) {
            self.admission.chargeWholeTurn()
            throw StoreError.postponed(.resultTooExpensive)
        }
    }

    /// Returns the key of an object in a result, by its state in the store; `nil` if the object is not a row.
    func key(_ id: ObjectID, in result: LiveResult) throws(StoreError) -> RowKey? {
        if result.source.isComputed { return result.member(id)?.key }
        var writer = SortKeyWriter()
        return try result.source.key(id, self.store.row(result.source.table, id), &writer)
    }

    // MARK: Results that a background read makes current

    /// Lets a result lag: it ignores changes until it is read anew.
    func lag(_ entry: ResultRegistry.Entry) {
        self.registry.lag(entry)
        self.related.releaseCounts(of: entry.key.source)
    }

    /// Adds a result that is not live yet, and whose background read begins.
    func insertLoading(_ key: ResultKey, now: Int64) throws(StoreError) {
        try self.requireRoom(now: now)
        self.admission.work += try self.related.retain(key.source)
        self.registry.insertLoading(key, self.loading(key.source), now: now)
    }

    /// Notes that a background read of a lagging result begins. From now on the changes of the result are remembered.
    func beginLoading(_ entry: ResultRegistry.Entry) {
        self.related.retainCounts(of: entry.key.source)
        self.registry.beginLoading(entry, self.loading(entry.key.source))
    }

    /// Makes a result live, from the rows that were read and the changes since. If there were too many changes, the
    /// result stays loading and must be read once more.
    func finishLoading(_ entry: ResultRegistry.Entry, _ rows: BackgroundRead.Rows) throws(StoreError) {
        guard let loading = entry.loading else { return }
        // A read from before the result lagged does not have the changes in between.
        guard rows.revision >= loading.base else { return }
        guard !loading.isOverrun else {
            entry.loading = self.loading(entry.key.source)
            return
        }
        entry.result.reload(rows.state, revision: rows.revision)
        let changes = try loading.changes(of: entry.result, after: rows.revision, self.related)
        self.admission.work += changes.count
        entry.result.apply(changes, at: self.store.head, after: entry.result.revision)
        self.registry.finishLoading(entry)
        self.byteCount += entry.byteCount
    }

    private func loading(_ source: ResultSource) -> LoadingResult {
        LoadingResult(
            after: self.store.head,
            countMax: self.limits.dependencyChangesMax,
            cost: source.cost,
            nanosecondsMax: self.limits.evaluationNanosecondsMax
        )
    }

    // MARK: Memory

    /// Forgets an unused result.
    func remove(_ key: ResultKey) {
        // The relationship counts of a lagging result are released already.
        if let entry = self.registry[key], entry.isLagging, entry.loading == nil {
            self.related.releaseSubtrees(of: key.source)
        } else {
            self.related.release(key.source)
        }
        self.registry.remove(key)
    }

    /// Makes room for one more live result by dropping unused ones. Throws BUSY if that is not enough.
    func requireRoom(now: Int64) throws(StoreError) {
        guard self.isOverfull else { return }
        if !self.isOutOfRoom {
            self.dropUnused(now: now, bytesMax: 0)
            self.measure()
            guard self.isOverfull else { return }
            self.isOutOfRoom = true
        }
        throw StoreError.refused(
            .busy,
            "the memory for live results is used up: try again later"
        )
    }

    /// Notes that the results have grown with a batch. If they exceed their memory limit, some are ended now and not at
    /// the next tick: see `shed`.
    func noteGrowth(_ affected: [Evaluation.Affected], now: Int64, end: (ResultRegistry.Entry, NestError) -> Void) {
        for affected in affected {
            let rows = affected.entry.result.tree.count - affected.before.count
            if rows > 0 { self.byteCount += rows * Self.rowBytes }
        }
        guard self.isOverfull else { return }
        self.measure()
        self.shed(now: now, end: end)
    }

    /// Notes bytes that were added since the last tick.
    func noteGrowth(_ bytes: Int) { self.byteCount += bytes }

    /// The minimum size of one row of a live result, with its part of the log.
    private static let rowBytes = 128

    /// Whether the live results and the outlines take more memory than they may.
    var isOverfull: Bool { self.byteCount > self.limits.liveResultBytesMax }

    /// Measures again if the memory seems to be used up.
    func measureIfOverfull() { if self.isOverfull { self.measure() } }

    func measure() {
        let other = self.related.byteCount + (self.outlines?.byteCount ?? 0)
        self.byteCount = self.registry.all.reduce(other) { $0 + $1.byteCount }
    }

    /// Enforces the memory limits; called with each tick.
    func tick(now: Int64, end: (ResultRegistry.Entry, NestError) -> Void) {
        self.trimRowLogs()
        self.measure()
        self.isOutOfRoom = false
        self.shed(now: now, end: end)
    }

    /// While the live results exceed their memory limit: drops results without subscribers, then calls `end` with the
    /// largest results, one by one, to end their subscriptions.
    private func shed(now: Int64, end: (ResultRegistry.Entry, NestError) -> Void) {
        guard self.isOverfull else { return }
        self.dropUnused(now: now, bytesMax: 0)
        self.measure()
        guard self.isOverfull else { return }
        let largestOutline = self.outlines?.largest?.byteCount ?? 0
        for entry in self.registry.all.sorted(by: { ($1.byteCount, $0.number) < ($0.byteCount, $1.number) }) {
            // `Outlines.shed` ends the outlines that take more.
            if entry.byteCount < largestOutline { return }
            let error = NestError(
                .busy,
                "the memory for live results is used up, and this result is the largest: request fewer rows"
            )
            end(entry, error)
            self.measure()
            if !self.isOverfull { return }
        }
    }

    /// Drops results that had no subscribers for a while. If the unused results exceed `bytesMax`, drops the longest
    /// unused ones first.
    func dropUnused(now: Int64, bytesMax: Int = Limits.unusedResultBytesMax) {
        let unused = self.registry.all.filter { $0.unusedSince != nil && $0.readCount == 0 }.sorted {
            ($0.unusedSince ?? 0) < ($1.unusedSince ?? 0)
        }
        var bytes = unused.reduce(0) { $0 + $1.byteCount }
        for entry in unused {
            let isOld = now - (entry.unusedSince ?? now) > Int64(Limits.unusedResultSeconds) * 1_000_000
            guard isOld || bytes > bytesMax else { break }
            bytes -= entry.byteCount
            self.remove(entry.key)
        }
    }

    var rowLogBytes: Int { self.registry.all.reduce(0) { $0 + $1.result.log.byteCount } }

    /// Keeps the row logs together within their limit: trims the largest first.
    private func trimRowLogs() {
        var bytes = self.rowLogBytes
        while bytes > min(self.limits.rowLogBytesMax, self.limits.liveResultBytesMax / 4) {
            guard
                let largest = self.registry.all.max(by: { $0.result.log.byteCount < $1.result.log.byteCount })
            else { return }
            let before = largest.result.log.byteCount
            while largest.result.log.byteCount > before / 2, largest.result.dropOldestLogEntry() {}
            bytes -= before - largest.result.log.byteCount
        }
    }
}

import NestLiveQuery
import NestModel
import NestStore
import NestProtocol
import NestSchema

/// What the engine counts.
struct EngineCounters {
    var requests = 0
    var writes = 0
    var groups = 0
    /// Objects inserted, updated and deleted.
    var objects = 0
    /// Rows whose sparse position alone was written.
    var renumbered = 0
    var diffs = 0
    var netDiffs = 0
    var snapshots = 0

    mutating func count(_ commit: Commit, _ writes: Int) {
        self.writes += writes
        self.groups += commit.groupCount
        for changes in commit.changes {
            self.objects += changes.insertedCount + changes.updatedCount + changes.deletedCount
            self.renumbered += changes.repositions.count
        }
    }
}

extension Engine {
    /// Takes note of how it stands about the store's file. What is short has to become a quarter more than enough, so that
    /// it is not short and enough by turns.
    func take(_ sight: StoreHealth.Sample) {
        self.failure = self.failure ?? sight.failure
        self.freeBytes = sight.freeBytes
        let enough = self.shortage == nil ? self.limits.diskFreeBytesMin : self.limits.diskFreeBytesMin / 4 * 5
        guard let free = sight.freeBytes, free < enough else {
            self.shortage = nil
            return
        }
        self.shortage = NestError(
            .diskFull,
            "the disk is almost full (\(free >> 20) MiB are left): nothing is written before there is more room"
        )
    }

    /// Keeps everything within its bounds as time passes.
    func tick(now: Int64, _ effects: inout [EngineEffect]) {
        self.turns.forgetHalf()
        self.progress(self.connections.keys.sorted(), &effects)
        self.sessions.keys.drop(before: now - Int64(Limits.idempotencyKeySeconds) * 1_000_000)
        self.sessions.changed.formUnion(self.sessions.joins.closeIdle(now: now))
        self.sessions.joins.dropTyping(before: now - Int64(Limits.coalesceMillisecondsMax) * 1_000)
        do {
            // More rows than have come since, so that the journal shrinks under any load.
            let rowsMax = 256 + 2 * (self.counters.groups - self.groupsTrimmed)
            self.groupsTrimmed = self.counters.groups
            if let dropped = try self.store.trimJournal(now: now, rowsMax: rowsMax) {
                self.sessions.dropJournal(through: dropped)
            }
            try self.forgetSessions(now: now)
            try self.store.noteUse(self.tokens.takeUses(now: now))
        } catch {
            // Trimming is tried again at the next tick; nothing is lost by a longer journal.
        }
        self.dropUnusedResults(now: now)
        self.dropUnusedScopes(now: now)
        self.trimRowLogs()
        self.liveResultBytes = self.measuredResultBytes
        self.isOutOfRoom = false
        self.shedResults(now: now, &effects)
    }

    private var measuredResultBytes: Int { self.results.all.reduce(self.related.byteCount) { $0 + $1.byteCount } }

    /// Results have grown with a batch: when that is too much some end now, and not with the next tick.
    func noteGrowth(_ evaluation: Evaluation, now: Int64, _ effects: inout [EngineEffect]) {
        for affected in evaluation.affected {
            let rows = affected.entry.result.tree.count - affected.before.count
            if rows > 0 { self.liveResultBytes += rows * Self.rowBytes }
        }
        guard self.liveResultBytes > self.limits.liveResultBytesMax else { return }
        self.liveResultBytes = self.measuredResultBytes
        self.shedResults(now: now, &effects)
    }

    /// What one row of a live result takes at least, with its part of the log.
    private static let rowBytes = 128

    /// While the live results take too much memory: forgets results without subscribers, then ends the subscriptions to the
    /// largest result.
    private func shedResults(now: Int64, _ effects: inout [EngineEffect]) {
        guard self.liveResultBytes > self.limits.liveResultBytesMax else { return }
        self.dropUnusedResults(now: now, bytesMax: 0)
        self.liveResultBytes = self.measuredResultBytes
        guard self.liveResultBytes > self.limits.liveResultBytesMax else { return }
        for entry in self.results.all.sorted(by: { ($1.byteCount, $0.number) < ($0.byteCount, $1.number) }) {
            let error = NestError(
                .busy,
                "the live results take as much memory as they may, and this one most: subscribe to less of it, or later"
            )
            self.end(entry, error, now: now, &effects)
            self.liveResultBytes = self.measuredResultBytes
            if self.liveResultBytes <= self.limits.liveResultBytesMax { return }
        }
    }

    /// Makes room for one more live result by forgetting those that nobody uses; refuses when that is not enough.
    func requireRoomForResult(now: Int64) throws {
        guard self.liveResultBytes > self.limits.liveResultBytesMax else { return }
        if !self.isOutOfRoom {
            self.dropUnusedResults(now: now, bytesMax: 0)
            self.liveResultBytes = self.measuredResultBytes
            guard self.liveResultBytes > self.limits.liveResultBytesMax else { return }
            self.isOutOfRoom = true
        }
        throw NestError(.busy, "the results that are followed take as much memory as they may: try again later")
    }

    /// Sessions that nobody has used for long, with what they could undo.
    private func forgetSessions(now: Int64) throws {
        let connected = Set(self.connections.values.map(\.session))
        let expired = self.sessions.expired(before: now - Int64(Limits.sessionSeconds) * 1_000_000) {
            connected.contains($0)
        }
        let surplus = self.sessions.surplus(over: Limits.sessionsMax, besides: expired) { connected.contains($0) }
        let forgotten = expired + surplus
        guard !forgotten.isEmpty else { return }
        try self.store.forgetSessions(forgotten)
        self.sessions.expire(forgotten)
    }

    /// Results without subscribers go after a while, the longest unused first when they take too much.
    private func dropUnusedResults(now: Int64, bytesMax: Int = Limits.unusedResultBytesMax) {
        let unused = self.results.all.filter { $0.unusedSince != nil && $0.readCount == 0 }.sorted {
            ($0.unusedSince ?? 0) < ($1.unusedSince ?? 0)
        }
        var bytes = unused.reduce(0) { $0 + $1.byteCount }
        for entry in unused {
            let isOld = now - (entry.unusedSince ?? now) > Int64(Limits.unusedResultSeconds) * 1_000_000
            guard isOld || bytes > bytesMax else { break }
            bytes -= entry.byteCount
            self.removeResult(entry.key)
        }
    }

    /// All row logs together stay within their bound: the largest forgets first.
    private func trimRowLogs() {
        var bytes = self.results.all.reduce(0) { $0 + $1.result.log.byteCount }
        while bytes > min(Limits.rowLogBytesMax, self.limits.liveResultBytesMax / 4) {
            guard let largest = self.results.all.max(by: { $0.result.log.byteCount < $1.result.log.byteCount }) else {
                return
            }
            let before = largest.result.log.byteCount
            while largest.result.log.byteCount > before / 2, largest.result.dropOldestLogEntry() {}
            bytes -= before - largest.result.log.byteCount
        }
    }

    func history(_ id: ConnectionID, before: Revision, limit: Int, onlyMine: Bool) throws -> [HistoryEntry] {
        guard let connection = self.connections[id] else { return [] }
        guard onlyMine || connection.scope == .everything else {
            throw NestError(
                .notPermitted,
                "a token that is confined to a sub-tree shows the history of its session only"
            )
        }
        let session = connection.session
        let stacks = self.sessions[session]
        let limit = min(limit, Limits.historyPageMax)
        let headers: [JournalHeader]
        if onlyMine {
            let revisions = stacks.revisions.newest(before: before, limit: limit)
            let read = try self.store.headers(of: revisions, readMax: Limits.historyHeadersMax)
            self.admissionWork += read.count
            headers = read.headers
        } else {
            headers = try self.store.headers(before: before, limit: limit)
            self.admissionWork += headers.count
        }
        return headers.map { header in
            HistoryEntry(
                revision: header.revision,
                time: header.time,
                sessionNumber: header.sessionNumber,
                kind: header.kind,
                reverted: header.reverted,
                name: connection.scope.name(header.name, madeIn: header.scope),
                isMine: header.sessionNumber == session,
                isNextUndo: header.revision == stacks.nextUndo?.newest,
                isNextRedo: header.revision == stacks.nextRedo?.newest,
                isBlocked: header.sessionNumber == session && stacks.isBlocked(header.revision),
                entry: header.entry
            )
        }
    }

    func statistics() -> [Statistic] {
        let subscriptions = self.views.values.reduce(0) { $0 + $1.counts.values.reduce(0, +) }
        let values: [(String, Int)] = [
            ("revision", Int(self.store.head.rawValue)),
            ("journal_oldest_revision", Int(self.store.oldestBase.rawValue)),
            ("requests_waiting", self.admissionsWaiting),
            ("disk_short", self.shortage == nil ? 0 : 1),
            ("connections_blocked", self.connections.values.count { $0.isBlocked }),
            ("sessions", self.sessions.count),
            ("subscriptions", subscriptions),
            ("views", self.views.count),
            ("change_subscriptions", self.changeSubscriptionIDs.count),
            ("live_results", self.results.count),
            ("live_result_rows", self.results.all.reduce(0) { $0 + $1.result.tree.count }),
            ("live_result_bytes", self.liveResultBytes),
            ("token_scopes", self.scopes.count),
            ("token_scope_objects", self.scopes.memberCount),
            ("token_scope_bytes", self.scopes.byteCount),
            ("row_log_bytes", self.results.all.reduce(0) { $0 + $1.result.log.byteCount }),
            ("idempotency_keys", self.sessions.keys.count),
            ("writes", self.counters.writes),
            ("commits", self.counters.groups),
            ("objects_changed", self.counters.objects),
            ("rows_renumbered", self.counters.renumbered),
            ("reads", self.counters.requests),
            ("diffs_encoded", self.counters.diffs),
            ("net_diffs_encoded", self.counters.netDiffs),
            ("snapshots_sent", self.counters.snapshots),
            ("change_pages_read", self.changePages.readCount),
        ]
        let seen = self.freeBytes.map { [("disk_free_bytes", $0)] } ?? []
        return (values + seen).map { Statistic(name: $0, value: UInt64($1)) }
    }
}

import DequeModule
import NestLiveQuery
import NestModel
import NestStore

/// Large results, read beside the commits and handed over caught up.
extension Engine {
    /// Whether a result that is not live yet is read beside the engine: one of many objects, or of some if each takes long.
    func isLarge(_ source: ResultSource) throws -> Bool {
        let nanoseconds = max(Self.usualNanoseconds, source.cost.nanoseconds(textBytes: Self.usualTextBytes))
        let count = self.limits.asideRowsMin * Self.usualNanoseconds / nanoseconds
        return try self.store.objects.hasCandidates(of: source, above: count)
    }

    /// What an object of most results takes.
    private static let usualNanoseconds = 2_000
    private static let usualTextBytes = 64

    /// Whether what a view shows is.
    func isLarge(_ view: View) -> Bool {
        guard view.range.count > self.limits.asideRowsMin else { return false }
        // It has been encoded for somebody else in this batch.
        return view.snapshot?.header.revision != self.store.head
    }

    /// Has a view read, once for all who ask for it meanwhile. `attempts`: with this one.
    func readAside(
        _ key: ViewKey,
        _ slots: [Int],
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ waiter: PendingRead.Waiter,
        attempts: Int = 1,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        if !waiter.isFetch {
            if let running = self.readOfView[key].flatMap({ self.sideReads[$0] }), running.head >= waiter.atLeast {
                self.connections[id]?.sideReadCount += 1
                return running.waiters.append((id, requestID, waiter))
            }
            if let entry = self.results[key.result] {
                // It lags: what is read for this client makes it current.
                if entry.isLagging, entry.loading == nil {
                    self.beginLoading(entry)
                }
            } else {
                try self.requireRoomForResult(now: now)
                self.admissionWork += try self.related.retain(key.result.source)
                self.results.insertLoading(
                    key.result,
                    self.loading(key.result.source),
                    now: now
                )
            }
            self.results[key.result]?.readCount += 1
        }
        self.connections[id]?.sideReadCount += 1
        self.lastSideRead += 1
        let read = SideRead(
            id: self.lastSideRead,
            source: key.result.source,
            slots: slots,
            window: key.window,
            mayBeGone: !waiter.isFetch,
            compresses: self.connections[id]?.takesCompressed ?? false
        )
        let pending = PendingRead(read, key, head: self.store.head, attempts: attempts)
        pending.waiters = [(id, requestID, waiter)]
        if !waiter.isFetch { self.readOfView[key] = read.id }
        self.sideReads[read.id] = pending
        self.rimEffectCount += 1
        effects.append(.read(read))
    }

    /// Takes what has been read; who waits for it is served as the work of the batch allows.
    func take(_ id: UInt64, _ outcome: Result<SideRead.Rows, NestError>, now: Int64, _ effects: inout [EngineEffect]) {
        guard let pending = self.sideReads[id] else { return }
        if pending.read.isOnlyState { self.refreshing.remove(pending.key.result) }
        do {
            let rows = try outcome.get()
            if let entry = self.results[pending.key.result], entry.loading != nil, !pending.isFetch {
                let wasLagging = entry.isLagging
                if !wasLagging { try self.requireRoomForResult(now: now) }
                try self.finishLoading(entry, rows)
                if entry.loading != nil {
                    // Too much has happened since to tell it: the whole once more.
                    pending.attempts += 1
                    if pending.read.isOnlyState { self.refreshing.insert(pending.key.result) }
                    guard wasLagging || pending.attempts <= Self.loadAttemptsMax else { throw Self.busyResult }
                    self.rimEffectCount += 1
                    return effects.append(.read(pending.read))
                }
                if wasLagging { try self.refreshed(entry) }
            }
            self.forget(pending)
            pending.rows = rows
            self.arrivedReads.append(pending)
        } catch {
            self.forget(pending)
            let failure = error as? NestError ?? StoreErrorBox.storeError(error).nestError
            for waiting in pending.waiters { self.refuse(waiting, failure, now: now, &effects) }
            let entry = self.results[pending.key.result]
            self.endRead(pending, now: now)
            if let entry, entry.isLagging, !pending.isFetch {
                self.readFailed(entry, pending.read.isOnlyState ? failure : nil, now: now, &effects)
            }
        }
    }

    /// What was read beside the engine for a connection is there, or will not be.
    func endSideRead(_ id: ConnectionID, _ connection: Connection) {
        connection.sideReadCount -= 1
        self.giveTurn(id, connection)
    }

    /// Nobody joins it any more.
    private func forget(_ pending: PendingRead) {
        self.sideReads[pending.read.id] = nil
        if self.readOfView[pending.key] == pending.read.id { self.readOfView[pending.key] = nil }
    }

    /// Everybody who waited for it has been answered: it no longer keeps the result.
    func endRead(_ pending: PendingRead, now: Int64) {
        guard !pending.isFetch, let entry = self.results[pending.key.result] else { return }
        entry.readCount -= 1
        guard entry.readCount == 0, entry.views.isEmpty else { return }
        entry.unusedSince = now
        if entry.loading != nil { self.removeResult(entry.key) }
    }

    /// Times that a result is read for a client while more happens to it than can be made up for.
    private static let loadAttemptsMax = 8

    private static let busyResult = NestError(
        .busy,
        "the result changes faster than it can be read: try again later, or ask for less of it"
    )

    /// A client is not answered by what was to be read for it.
    private func refuse(
        _ waiting: (connection: ConnectionID, requestID: UInt32, waiter: PendingRead.Waiter),
        _ error: NestError,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        if let connection = self.connections[waiting.connection] { self.endSideRead(waiting.connection, connection) }
        guard case .catchUp(let viewID, _) = waiting.waiter else {
            return self.reply(waiting.connection, waiting.requestID, .failure(error), &effects)
        }
        guard let view = self.views[viewID], view.counts[waiting.connection] != nil else { return }
        self.end(waiting.connection, view, error, now: now, &effects)
    }

    /// What happens to a result from here on is remembered, as far as it can be made up for.
    func loading(_ source: ResultSource) -> LoadingResult {
        LoadingResult(
            after: self.store.head,
            countMax: self.limits.relatedTouchesMax,
            cost: source.cost,
            nanosecondsMax: self.limits.evaluationNanosecondsMax
        )
    }

    /// Makes a result live: as it was read, and what has happened since. Left loading, when that is too much.
    private func finishLoading(_ entry: ResultRegistry.Entry, _ rows: SideRead.Rows) throws {
        guard let loading = entry.loading else { return }
        // It was asked for before the result lagged.
        guard rows.revision >= loading.base else { return }
        guard !loading.isOverrun else {
            entry.loading = self.loading(entry.key.source)
            return
        }
        entry.result.reload(rows.state, revision: rows.revision)
        let changes = try loading.changes(of: entry.result, after: rows.revision, self.related)
        self.admissionWork += changes.count
        entry.result.apply(changes, at: self.store.head)
        self.results.finishLoading(entry)
        self.liveResultBytes += entry.byteCount
    }
}

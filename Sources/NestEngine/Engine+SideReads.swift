import DequeModule
import NestLiveQuery
import NestModel
import NestStore

/// Large results, read beside the commits and handed over caught up.
extension Engine {
    /// Whether a result that is not live yet is read beside the engine.
    func isLarge(_ source: ResultSource) throws -> Bool {
        try self.store.objects.hasCandidates(of: source, above: self.asideRowsMin)
    }

    /// Whether what a view shows is.
    func isLarge(_ view: View) -> Bool {
        guard view.range.count > self.asideRowsMin else { return false }
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
                return running.waiters.append((id, requestID, waiter))
            }
            if self.results[key.result] == nil {
                try self.requireRoomForResult(now: now)
                try self.related.retain(key.result.source)
                self.results.insertLoading(key.result, LoadingResult(countMax: self.relatedTouchesMax), now: now)
            }
            self.results[key.result]?.readCount += 1
        }
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
        do {
            let rows = try outcome.get()
            if let entry = self.results[pending.key.result], entry.loading != nil, !pending.isFetch {
                try self.requireRoomForResult(now: now)
                try self.finishLoading(entry, rows, isLastAttempt: pending.attempts > 1)
                if entry.loading != nil {
                    // Too much has happened since to tell it: the whole once more.
                    pending.attempts += 1
                    self.rimEffectCount += 1
                    return effects.append(.read(pending.read))
                }
            }
            self.forget(pending)
            pending.rows = rows
            self.arrivedReads.append(pending)
        } catch {
            self.forget(pending)
            let failure = error as? NestError ?? StoreErrorBox.storeError(error).nestError
            for waiting in pending.waiters {
                self.reply(waiting.connection, waiting.requestID, .failure(failure), &effects)
            }
            self.endRead(pending, now: now)
        }
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

    /// Makes a result live: as it was read, and what has happened since. Left loading, when that is too much.
    private func finishLoading(
        _ entry: ResultRegistry.Entry,
        _ rows: SideRead.Rows,
        isLastAttempt: Bool
    ) throws {
        guard let loading = entry.loading else { return }
        if loading.isOverrun {
            guard isLastAttempt else {
                entry.loading = LoadingResult(countMax: self.relatedTouchesMax)
                return
            }
            let source = entry.key.source
            let state = LiveState(source, try self.store.objects.resultRows(source, self.related))
            entry.result.reload(state, revision: self.store.head)
        } else {
            entry.result.reload(rows.state, revision: rows.revision)
            let changes = try loading.changes(of: entry.result, after: rows.revision, self.related)
            self.admissionWork += changes.count
            entry.result.apply(changes, at: self.store.head)
        }
        self.results.finishLoading(entry)
        self.liveResultBytes += entry.result.byteCount
    }
}

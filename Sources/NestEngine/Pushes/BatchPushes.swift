import NestLiveQuery
import NestModel
import NestOrder
import NestStore
import NestProtocol
import NestSchema

/// Applies a batch to the live results and sends its differences to their subscribers, each encoded once.
///
/// A result that would delay commits for too long lags instead: see `BackgroundReads`. Its subscribers later receive
/// one net difference, or a snapshot.
struct BatchPushes {
    let store: Store
    let limits: EngineLimits
    let live: LiveResults
    let subscriptions: Subscriptions
    let lagging: LaggingViews
    let reads: BackgroundReads
    let diffs: ViewDiffs
    let views: ViewPushes
    let counters: EngineCounters

    /// Applies the changes of a batch to the live results, and sends the differences. `base`: the head before the
    /// batch.
    func push(
        _ changes: [ChangeSet],
        _ bulk: BulkConcern,
        base: Revision,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let registry = self.live.registry
        guard !registry.isEmpty else { return }
        var evaluation = Evaluation(
            differenceRowsMin: self.limits.differenceRowsMin,
            dependencyChangesMax: self.limits.dependencyChangesMax,
            nanosecondsMax: self.limits.evaluationNanosecondsMax,
            objectCount: changes.reduce(0) { $0 + $1.insertedCount + $1.updatedCount + $1.deletedCount },
            knownCount: changes.reduce(0) { $0 + $1.changedRows.count }
        )
        if bulk.isOverrun {
            for entry in bulk.concerned { evaluation.shed(entry) }
            self.live.related.forgetCounts()
        }
        for changes in changes {
            try evaluation.take(changes, registry, self.store, withBlocks: !bulk.isOverrun)
        }
        try evaluation.finish(registry, self.store, self.live.related, base: base)
        for entry in evaluation.abandoned { self.live.remove(entry.key) }
        for entry in evaluation.lagging { self.lag(entry, base: base) }
        for (entry, error) in evaluation.failed {
            self.subscriptions.end(entry, error, now: now, &effects)
            // Requests wait for it: they are refused when it has been read.
            if self.live[entry.key] === entry { self.lag(entry, base: base) }
        }
        self.live.noteGrowth(evaluation.affected, now: now) { [subscriptions] entry, error in
            subscriptions.end(entry, error, now: now, &effects)
        }
        // Whole views first; then windows, up to the work limit of one batch.
        for isWindow in [false, true] {
            for affected in evaluation.affected {
                let views = affected.entry.views.values.filter { ($0.key.window != nil) == isWindow }
                guard !views.isEmpty else { continue }
                try self.push(affected, views.sorted { $0.id < $1.id }, evaluation.rows, now: now, &effects)
            }
        }
    }

    /// Lets a result lag: it does not follow the batch after `base`.
    private func lag(_ entry: ResultRegistry.Entry, base: Revision) {
        self.reads.queueRefresh(entry)
        for view in entry.views.values {
            for id in view.synced {
                self.lagging.lag(id, view, .lagging(base: base, known: view.lastChange, range: view.range))
            }
        }
    }

    private func push(
        _ affected: Evaluation.Affected,
        _ views: [View],
        _ rows: KnownRows,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let result = affected.entry.result
        let delta =
            affected.isLarge
            ? nil : ResultDelta(from: affected.before, to: result.tree, touching: affected.changes)
        // Only windows around an object ask.
        let isAround = views.contains { $0.key.window?.isAround == true }
        let changed = isAround ? Set(affected.changes.lazy.map(\.id)) : []
        for view in views {
            do throws(StoreError) {
                try self.push(view, affected, delta, rows, now: now, &effects) { delta == nil || changed.contains($0) }
            } catch StoreError.refused(let error) {
                // The totals of the view cannot be sent.
                for id in view.counts.keys.sorted() { self.subscriptions.end(id, view, error, now: now, &effects) }
            }
        }
    }

    private func push(
        _ view: View,
        _ affected: Evaluation.Affected,
        _ delta: ResultDelta?,
        _ rows: KnownRows,
        now: Int64,
        _ effects: inout [EngineEffect],
        isChanged: (ObjectID) -> Bool
    ) throws(StoreError) {
        let result = affected.entry.result
        let from = view.lastChange
        let anchor = view.anchor?.id
        let oldRange = try self.subscriptions.advance(view, result, delta, isChanged: isChanged)
        guard let delta else {
            view.lastChange = result.revision
            if view.range.count > self.limits.backgroundReadRowsMin {
                // Too large to be encoded between two commits.
                let state = SubscriptionState.lagging(base: affected.base, known: from, range: oldRange)
                self.lagging.fallBehind(view.synced, view, state)
            } else if !view.synced.isEmpty {
                try self.views.sendSnapshot(view, reason: .largeChange, to: view.synced, now: now, &effects)
            }
            return
        }
        if view.key.window != nil, !view.synced.isEmpty, !self.lagging.takeWork(changeCount: delta.count) {
            // The subscribers' net difference starts at the state before this batch.
            let state = SubscriptionState.lagging(base: affected.base, known: from, range: oldRange)
            self.lagging.fallBehind(view.synced, view, state)
            return
        }
        let isElsewhere = view.anchor?.id != anchor
        try self.push(view, result, delta, oldRange, isElsewhere: isElsewhere, from: from, rows, now: now, &effects)
    }

    private func push(
        _ view: View,
        _ result: LiveResult,
        _ delta: ResultDelta,
        _ oldRange: Range<Int>,
        isElsewhere: Bool,
        from: Revision,
        _ rows: KnownRows,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let net = delta.difference(oldRange, view.range)
        guard !net.isEmpty || isElsewhere else { return try self.pushTotals(view, result, &effects) }
        let diff = try self.diffs.diff(view, net, from: from, result, rows)
        let synced = view.synced
        // The position of a window that shows the same rows is sent with its next diff, or by the position timer.
        guard !diff.isEmpty || isElsewhere else { return try self.pushTotals(view, result, &effects) }
        view.lastChange = diff.head.to
        guard !synced.isEmpty else { return }
        let body = diff.body
        self.counters.diffs += 1
        if body.count > Limits.sharedDiffBytesMax {
            try self.views.sendSnapshot(view, reason: .largeChange, to: synced, now: now, &effects)
        } else {
            let arrived = !diff.head.insertedSections.isEmpty
            let totals = try ViewTotals.changed(
                view,
                result,
                self.store.head,
                arrived: arrived,
                isBeforeRows: true
            )
            effects.append(.push(EnginePush(view: view.id, content: .diff(body), totals: totals), to: synced))
            view.sentPosition = diff.head.window
        }
    }

    /// Sends the totals of a view that shows the same rows.
    private func pushTotals(_ view: View, _ result: LiveResult, _ effects: inout [EngineEffect]) throws(StoreError) {
        guard !view.synced.isEmpty,
            let totals = try ViewTotals.changed(view, result, self.store.head, isBeforeRows: false)
        else { return }
        effects.append(.push(EnginePush(view: view.id, content: .totals(totals)), to: view.synced))
    }
}

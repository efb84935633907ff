import NestLiveQuery
import NestModel
import NestStore
import NestProtocol
import NestSchema

/// RESUBSCRIBE: replaces a subscription by another, and sends the difference between the two.
extension SubscriptionRequests {
    /// Changes a subscription to another request, for example to search as the user types or to scroll a window. Sends
    /// the difference between the old view and the new one, or the reason why a snapshot follows. If the request is
    /// refused, the subscription stays as it was.
    func resubscribe(
        _ connection: EngineConnection,
        _ requestID: UInt32,
        _ viewID: UInt32,
        to request: ObjectFetchRequest,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        let id = connection.id
        if self.lagging.outlines.outline(viewID, of: id) != nil {
            return try self.subscribe(
                connection,
                requestID,
                request,
                nil,
                atLeast: Revision(0),
                insteadOf: viewID,
                now: now,
                &effects
            )
        }
        guard let old = self.subscriptions[viewID], let state = old.subscribers[id],
            let oldEntry = self.live[old.key.result]
        else { throw StoreError.refused(.notFound, "the connection has no subscription to view \(viewID)") }
        let resolver = try RequestResolver(self.store, self.scopes, connection.scope)
        let resolved = try resolver.resolve(request, mayBeGone: false)
        let resultKey = ResultKey(source: resolved.source, scope: connection.scope)
        let key = ViewKey(result: resultKey, projection: resolved.projection, window: resolved.window)
        if old.key == key, self.subscriptions.finds(viewID, by: key) {
            return self.acceptSame(old, id, requestID, &effects)
        }
        func readInBackground(_ reason: String) throws(StoreError) {
            let waiter = PendingRead.Waiter.resubscribe(from: viewID, reason: reason)
            try self.reads.request(key, resolved.slots, for: waiter, id, requestID, now: now, &effects)
        }
        if let known = self.live[resultKey] {
            if !known.isCurrent {
                return try readInBackground(known === oldEntry ? Self.notCaughtUp : "another result")
            }
        } else if try self.reads.isLarge(resolved.source) {
            return try readInBackground("another result")
        }
        let entry: ResultRegistry.Entry
        do {
            entry = try self.live.entry(resultKey, now: now)
        } catch StoreError.postponed(.resultTooExpensive) {
            return try readInBackground("another result")
        }
        let view: View
        do {
            view = try self.subscriptions.view(key, entry, resolved.slots)
        } catch {
            self.removeUnused(entry)
            throw error
        }
        defer { if oldEntry !== entry { self.removeUnused(oldEntry) } }
        if view.counts[id] != nil {
            view.counts[id]! += 1
            self.acceptKnown(view, id, requestID, &effects)
            return try self.subscriptions.unsubscribe(id, viewID, now: now)
        }
        var difference = ViewDifference.none(reason: Self.notCaughtUp)
        if !connection.isBlocked, state == .synced {
            do {
                difference = try self.difference(from: old, oldEntry.result, to: view, entry.result)
            } catch {
                self.subscriptions.dropUnused(view, now: now)
                throw error
            }
        }
        switch difference {
        case .body(let body, let totals):
            self.accept(view, .difference, "", id, requestID, &effects)
            effects.append(.push(EnginePush(view: view.id, content: .diff(body), totals: totals), to: [id]))
        case .none(let reason):
            if self.snapshots.isLarge(view) {
                self.subscriptions.dropUnused(view, now: now)
                return try readInBackground(reason)
            }
            let effectCount = effects.count
            self.accept(view, .snapshot, reason, id, requestID, &effects)
            self.add(connection, to: view)
            do {
                try self.views.sendSnapshot(view, reason: .first, to: [id], now: now, &effects)
            } catch {
                effects.removeSubrange(effectCount...)
                try self.subscriptions.unsubscribe(id, view.id, now: now)
                throw error
            }
            return try self.subscriptions.unsubscribe(id, viewID, now: now)
        }
        self.add(connection, to: view)
        self.positions.noteSent(view, to: [id])
        try self.subscriptions.unsubscribe(id, viewID, now: now)
    }

    /// Accepts a request that is equivalent to the view that the connection has: the subscription continues.
    func acceptSame(_ view: View, _ id: ConnectionID, _ requestID: UInt32, _ effects: inout [EngineEffect]) {
        // A lagging subscription has not received the changes since its base.
        var revision = self.store.head
        if case .lagging(let base, _, _)? = view.subscribers[id] { revision = base }
        self.accept(view, .current(revision), "", id, requestID, &effects)
    }

    /// Adds the connection's first subscription to the view.
    private func add(_ connection: EngineConnection, to view: View) {
        _ = self.subscriptions.add(connection, to: view)
        view.subscribers[connection.id] = self.firstState(connection, view)
    }

    private static let notCaughtUp = "the subscription has not caught up"

    private enum ViewDifference {
        case body([UInt8], totals: [UInt8]?)
        case none(reason: String)
    }

    private func difference(
        from old: View,
        _ oldResult: LiveResult,
        to view: View,
        _ result: LiveResult
    ) throws(StoreError) -> ViewDifference {
        guard old.key.projection == view.key.projection, old.slots == view.slots,
            oldResult.source.related.prefix(oldResult.source.columnCount)
                .elementsEqual(result.source.related.prefix(result.source.columnCount))
        else { return .none(reason: "other columns") }
        guard oldResult.source.totals == result.source.totals else { return .none(reason: "other totals") }
        let net: StructuralDifference
        if oldResult === result {
            net = ResultDelta(from: result.tree, to: result.tree, touching: []).difference(old.range, view.range)
        } else if !oldResult.source.isOrdered(like: result.source) {
            return .none(reason: "another order")
        } else if max(old.range.count, view.range.count) > Limits.changedRowsMax {
            return .none(reason: "over \(Limits.changedRowsMax) rows")
        } else {
            self.admission.work += old.range.count + view.range.count
            net = StructuralDifference(from: oldResult.tree, old.range, to: result.tree, view.range)
        }
        let diff = try self.diffs.diff(view, net, from: self.store.head, result, .ofOneRevision)
        let body = diff.body
        guard body.count <= Limits.sharedDiffBytesMax else { return .none(reason: "the difference is large") }
        return .body(body, totals: try ViewTotals.all(view, result, self.store.head))
    }

    /// Drops the result of an old subscription, unless it is in use.
    private func removeUnused(_ entry: ResultRegistry.Entry) {
        if entry.views.isEmpty, entry.readCount == 0, self.live[entry.key] === entry { self.live.remove(entry.key) }
    }
}

extension ResultSource {
    /// Whether rows that are in both results have the same order and the same sections.
    fileprivate func isOrdered(like other: ResultSource) -> Bool {
        guard self.table == other.table, self.section == other.section, self.sort == other.sort else { return false }
        func terms(_ source: ResultSource) -> [RelatedValue] { Array(source.related.dropFirst(source.columnCount)) }
        guard terms(self) == terms(other) else { return false }
        return !self.sort.isEmpty || self.orderingPlace == nil && other.orderingPlace == nil
            || self.membership == other.membership
    }
}

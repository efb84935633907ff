import NestLiveQuery
import NestModel
import NestStore

/// A subscription that becomes another, answered by the difference between the two.
extension Engine {
    /// Makes a subscription one to something else: search as you type, a window that scrolls. The difference is told, from
    /// what the old view shows to what the new one does, or the reason why a snapshot follows. Refused, the subscription is
    /// as it was.
    func change(
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ viewID: UInt32,
        to request: FetchRequest,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        guard let connection = self.connections[id], let old = self.views[viewID], let state = old.subscribers[id],
            let oldEntry = self.results[old.key.result]
        else { throw NestError(.notFound, "the connection has no subscription to view \(viewID)") }
        let resolved = try self.resolve(request, connection.scope, mayBeGone: false)
        let resultKey = ResultKey(source: resolved.source, scope: connection.scope)
        let key = ViewKey(result: resultKey, projection: resolved.projection, window: resolved.window)
        if old.key == key, self.viewIDs[key] == viewID { return self.acceptSame(old, id, requestID, &effects) }
        func aside(_ reason: String) throws {
            let waiter = PendingRead.Waiter.resubscribe(from: viewID, reason: reason)
            try self.readAside(key, resolved.slots, id, requestID, waiter, now: now, &effects)
        }
        if let known = self.results[resultKey] {
            if !known.isCurrent { return try aside(known === oldEntry ? Self.notCaughtUp : "another result") }
        } else if try self.isLarge(resolved.source) {
            return try aside("another result")
        }
        let entry: ResultRegistry.Entry
        do {
            entry = try self.result(resultKey, now: now)
        } catch is ResultTooDear {
            return try aside("another result")
        }
        let view: View
        do {
            view = try self.view(key, entry, resolved.slots)
        } catch {
            self.removeUnused(entry)
            throw error
        }
        defer { if oldEntry !== entry { self.removeUnused(oldEntry) } }
        if view.counts[id] != nil {
            view.counts[id]! += 1
            self.acceptKnown(view, id, requestID, &effects)
            return try self.unsubscribe(id, viewID, now: now)
        }
        var way = ViewDifference.none(reason: Self.notCaughtUp)
        if !connection.isBlocked, state == .synced {
            way = try self.difference(from: old, oldEntry.result, to: view, entry.result)
        }
        switch way {
        case .body(let body):
            self.accept(view, .difference, "", id, requestID, &effects)
            effects.append(.push(EnginePush(view: view.id, content: .diff(body)), to: [id]))
        case .none(let reason):
            if self.isLarge(view) {
                self.dropUnused(view, now: now)
                return try aside(reason)
            }
            let told = effects.count
            self.accept(view, .snapshot, reason, id, requestID, &effects)
            self.add(view, to: id, connection)
            do {
                try self.sendSnapshot(view, reason: .first, to: [id], now: now, &effects)
            } catch {
                effects.removeSubrange(told...)
                try self.unsubscribe(id, view.id, now: now)
                throw error
            }
            return try self.unsubscribe(id, viewID, now: now)
        }
        self.add(view, to: id, connection)
        self.noteTold(view, to: [id])
        try self.unsubscribe(id, viewID, now: now)
    }

    /// The request is another spelling of the view that the connection has: the subscription goes on.
    func acceptSame(_ view: View, _ id: ConnectionID, _ requestID: UInt32, _ effects: inout [EngineEffect]) {
        // One that lags has yet to get what has happened since.
        var revision = self.store.head
        if case .lagging(let base, _, _)? = view.subscribers[id] { revision = base }
        self.accept(view, .current(revision), "", id, requestID, &effects)
    }

    private func add(_ view: View, to id: ConnectionID, _ connection: Connection) {
        view.counts[id] = 1
        connection.views.insert(view.id)
        view.subscribers[id] = self.firstState(connection, view)
    }

    private static let notCaughtUp = "the subscription has not caught up"

    private enum ViewDifference {
        case body([UInt8])
        case none(reason: String)
    }

    private func difference(
        from old: View,
        _ oldResult: LiveResult,
        to view: View,
        _ result: LiveResult
    ) throws -> ViewDifference {
        guard old.key.projection == view.key.projection, old.slots == view.slots,
            oldResult.source.related.prefix(oldResult.source.columnCount)
                .elementsEqual(result.source.related.prefix(result.source.columnCount))
        else { return .none(reason: "other columns") }
        let net: StructuralDifference
        if oldResult === result {
            net = ResultDelta(from: result.tree, to: result.tree, touching: []).difference(old.range, view.range)
        } else if !oldResult.source.isOrdered(like: result.source) {
            return .none(reason: "another order")
        } else if max(old.range.count, view.range.count) > Limits.changedRowsMax {
            return .none(reason: "over \(Limits.changedRowsMax) rows")
        } else {
            self.admissionWork += old.range.count + view.range.count
            net = StructuralDifference(from: oldResult.tree, old.range, to: result.tree, view.range)
        }
        let diff = try self.diff(view, net, from: self.store.head, result, .ofOneRevision)
        var body = ByteWriter()
        body.write(diff: diff)
        guard body.count <= Limits.sharedDiffBytesMax else { return .none(reason: "the difference is large") }
        return .body(body.bytes)
    }

    /// A result that was left for another is kept only when somebody uses it.
    private func removeUnused(_ entry: ResultRegistry.Entry) {
        if entry.views.isEmpty, entry.readCount == 0, self.results[entry.key] === entry { self.removeResult(entry.key) }
    }
}

extension ResultSource {
    /// Rows that are in both results are in the same order, and in the same sections.
    fileprivate func isOrdered(like other: ResultSource) -> Bool {
        guard self.table == other.table, self.section == other.section, self.sort == other.sort else { return false }
        func terms(_ source: ResultSource) -> [RelatedValue] { Array(source.related.dropFirst(source.columnCount)) }
        guard terms(self) == terms(other) else { return false }
        return !self.sort.isEmpty || self.orderingPlace == nil && other.orderingPlace == nil
            || self.membership == other.membership
    }
}

import NestLiveQuery
import NestModel
import NestStore

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
        let resolved = try self.resolve(request, mayBeGone: false)
        let resultKey = ResultKey(source: resolved.source, scope: connection.scope)
        let entry = try self.result(resultKey, now: now)
        let key = ViewKey(result: resultKey, projection: resolved.projection, window: resolved.window)
        let view: View
        do {
            view = try self.view(key, entry, resolved.slots)
        } catch {
            self.removeUnused(entry)
            throw error
        }
        func accept(_ first: FirstState, _ reason: String = "") {
            let reply = EngineReply.subscribed(
                view: view.id,
                first: first,
                reason: reason,
                projection: resolved.projection
            )
            effects.append(.reply(id, requestID: requestID, reply))
        }
        if view === old {
            // One that lags is exact where its net diff will start from.
            if case .lagging(let base, _, _) = state { return accept(.current(base)) }
            return accept(.current(self.store.head))
        }
        let isKnown = view.counts[id] != nil
        view.counts[id, default: 0] += 1
        connection.views.insert(view.id)
        defer { if oldEntry !== entry { self.removeUnused(oldEntry) } }
        if isKnown {
            accept(.alreadySubscribed)
            return try self.unsubscribe(id, viewID, now: now)
        }
        let told = effects.count
        do {
            if connection.isBlocked || state != .synced {
                // What it holds is not what the old view shows now.
                accept(.snapshot, "the subscription has not caught up")
                try self.sendSnapshot(view, reason: .first, to: [id], &effects)
            } else {
                switch try self.difference(from: old, oldEntry.result, to: view, entry.result) {
                case .body(let body):
                    accept(.difference)
                    effects.append(.push(EnginePush(view: view.id, content: .diff(body)), to: [id]))
                case .none(let reason):
                    accept(.snapshot, reason)
                    try self.sendSnapshot(view, reason: .first, to: [id], &effects)
                }
            }
            let head = self.store.head
            view.subscribers[id] =
                connection.isBlocked ? .lagging(base: head, known: head, range: view.range) : .synced
        } catch {
            effects.removeSubrange(told...)
            try self.unsubscribe(id, view.id, now: now)
            throw error
        }
        try self.unsubscribe(id, viewID, now: now)
    }

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
            net = StructuralDifference(from: oldResult.tree, old.range, to: result.tree, view.range)
        }
        let diff = try self.diff(view, net, from: self.store.head, result, [:])
        var body = ByteWriter()
        body.write(diff: diff)
        guard body.count <= Limits.sharedDiffBytesMax else { return .none(reason: "the difference is large") }
        return .body(body.bytes)
    }

    /// A result that was left for another is kept only when somebody uses it.
    private func removeUnused(_ entry: ResultRegistry.Entry) {
        if entry.views.isEmpty, self.results[entry.key] === entry { self.removeResult(entry.key) }
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

import NestLiveQuery
import NestModel
import NestOrder
import NestStore
import NestProtocol

/// How a lagging subscription, or a resuming client, reaches the head.
enum CatchUp {
    case current
    /// The body of one diff.
    case difference([UInt8])
    case snapshot(reason: String)
}

/// Computes net differences, once for all subscribers that need the same one in a turn. Valid for one head only.
final class CatchUps {
    private struct DeltaKey: Hashable {
        var result: UInt64
        var base: Revision
    }

    private struct BodyKey: Hashable {
        var view: UInt32
        var base: Revision
        var known: Revision
        var range: Range<Int>
    }

    private let store: Store
    private let differenceRowsMin: Int
    private let live: LiveResults
    private let diffs: ViewDiffs
    private let admission: Admission
    private var deltas: [DeltaKey: ResultDelta] = [:]
    private var bodies: [BodyKey: CatchUp] = [:]
    /// The part of the journal from which row logs are rebuilt, kept while subscriptions wait for one.
    private var recentChanges: RecentChanges?

    init(_ store: Store, _ live: LiveResults, _ diffs: ViewDiffs, _ admission: Admission, differenceRowsMin: Int) {
        self.store = store
        self.live = live
        self.diffs = diffs
        self.admission = admission
        self.differenceRowsMin = differenceRowsMin
    }

    func endBatch(keepsRecentChanges: Bool) {
        if !keepsRecentChanges { self.recentChanges = nil }
        if !self.deltas.isEmpty { self.deltas = [:] }
        if !self.bodies.isEmpty { self.bodies = [:] }
    }

    private enum Difference {
        case delta(ResultDelta)
        case unknown(reason: String)
    }

    /// Returns how a result has changed since a revision, or why the engine does not compute that.
    private func delta(_ entry: ResultRegistry.Entry, from base: Revision) throws(StoreError) -> Difference {
        let key = DeltaKey(result: entry.number, base: base)
        if let known = self.deltas[key] { return .delta(known) }
        let result = entry.result
        if !result.log.knowsChanges(after: base) {
            let recent = self.recentChanges ?? RecentChanges(self.store)
            self.recentChanges = recent
            let (log, readCount) = try ResumeLog.build(self.store, result.source, recent, after: base)
            self.admission.work += readCount
            guard let log else {
                return .unknown(reason: "the changes since revision \(base) are no longer kept")
            }
            result.dropLog(through: result.revision)
            result.prepend(log)
        }
        guard result.log.changeCount(after: base) <= max(self.differenceRowsMin, result.tree.count) * 4 else {
            return .unknown(reason: "too many changes since revision \(base)")
        }
        let (tree, changes) = result.state(at: base)
        let delta = ResultDelta(from: tree, to: result.tree, touching: Array(changes.values))
        self.admission.work += changes.count
        self.deltas[key] = delta
        return .delta(delta)
    }

    /// Returns how a view gets from an earlier state to the head. `known`: the client's revision of that state.
    /// `range`: returns the rows of the result's tree that the view showed then, `nil` when that is unknown.
    func catchUp(
        _ view: View,
        _ entry: ResultRegistry.Entry,
        from base: Revision,
        known: Revision,
        range: (ResultDelta) -> Range<Int>?
    ) throws(StoreError) -> CatchUp {
        let result = entry.result
        if result.revision <= base { return .current }
        let delta: ResultDelta
        switch try self.delta(entry, from: base) {
        case .delta(let found): delta = found
        case .unknown(let reason): return .snapshot(reason: reason)
        }
        guard let oldRange = range(delta) else { return .snapshot(reason: "the window's earlier rows are unknown") }
        let key = BodyKey(view: view.id, base: base, known: known, range: oldRange)
        if let body = self.bodies[key] { return body }
        let answer = try self.encode(view, result, delta, oldRange, known: known)
        self.bodies[key] = answer
        return answer
    }

    private func encode(
        _ view: View,
        _ result: LiveResult,
        _ delta: ResultDelta,
        _ oldRange: Range<Int>,
        known: Revision
    ) throws(StoreError) -> CatchUp {
        guard delta.count <= max(self.differenceRowsMin, result.tree.count / 4) else {
            return .snapshot(reason: "too many changes since revision \(known)")
        }
        self.admission.work += delta.count
        let net = delta.difference(oldRange, view.range)
        let diff = try self.diffs.diff(view, net, from: known, result, .ofSeveralRevisions)
        if diff.isEmpty, diff.head.window == nil { return .current }
        let body = diff.body
        guard body.count <= Limits.sharedDiffBytesMax else { return .snapshot(reason: "the difference is large") }
        return .difference(body)
    }

    /// Returns how a resuming client reaches the head. `window`: the window that it held, with the object that the
    /// window followed last.
    func resume(
        _ view: View,
        _ entry: ResultRegistry.Entry,
        _ point: ResumePoint,
        _ window: FetchWindow?
    ) throws(StoreError) -> CatchUp {
        guard point.historyID == self.store.historyID else { return .snapshot(reason: "the store has another history") }
        guard point.revision <= self.store.head else {
            return .snapshot(reason: "revision \(point.revision) is ahead of the store")
        }
        return try self.catchUp(view, entry, from: point.revision, known: point.revision) { delta in
            guard case .around(let id, _, _) = window, delta.old.count > 0 else {
                return View.range(window, nil, delta.old)
            }
            guard let anchor = delta.oldKey(of: id) ?? view.anchor, anchor.id == id, delta.old.contains(anchor) else {
                return nil
            }
            return View.range(window, anchor, delta.old)
        }
    }

    /// Returns the current window of a resuming client. If the window's anchor has left the result, the window follows
    /// the row that took the anchor's position, or the first row when that position is unknown.
    func window(_ window: FetchWindow?, _ entry: ResultRegistry.Entry, since point: ResumePoint) throws(StoreError)
        -> FetchWindow?
    {
        let tree = entry.result.tree
        guard case .around(let id, let before, let after) = window, tree.count > 0,
            try self.live.key(id, in: entry.result) == nil
        else { return window }
        var anchor = tree.key(at: 0)
        if point.historyID == self.store.historyID, point.revision <= self.store.head,
            case .delta(let delta) = try self.delta(entry, from: point.revision), let left = delta.oldKey(of: id),
            let successor = View.successor(of: left, in: tree, delta)
        {
            anchor = successor
        }
        return .around(anchor.id, before: before, after: after)
    }
}

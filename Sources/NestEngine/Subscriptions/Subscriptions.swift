import NestLiveQuery
import NestModel
import NestOrder
import NestStore

/// Creates, shares, updates and ends the views that connections subscribe to.
final class Subscriptions {
    private let connections: EngineConnections
    private let live: LiveResults
    private let positions: WindowPositions
    private let lagging: LaggingViews
    private let replies: Replies
    private let ids: ViewIDs
    /// The outlines of the same connections, whose views are not here.
    weak var outlines: Outlines?
    private var views: [UInt32: View] = [:]
    /// Views that a request can find, by what they show.
    private var idOfKey: [ViewKey: UInt32] = [:]

    init(
        _ connections: EngineConnections,
        _ live: LiveResults,
        _ positions: WindowPositions,
        _ lagging: LaggingViews,
        _ replies: Replies,
        _ ids: ViewIDs
    ) {
        self.connections = connections
        self.live = live
        self.positions = positions
        self.lagging = lagging
        self.replies = replies
        self.ids = ids
    }

    subscript(id: UInt32) -> View? { self.views[id] }

    /// Whether requests with this key find this view.
    func finds(_ id: UInt32, by key: ViewKey) -> Bool { self.idOfKey[key] == id }

    var viewCount: Int { self.views.count }
    /// The number of subscriptions to results, of all connections.
    var count: Int {
        self.views.values.reduce(self.outlines?.count ?? 0) { $0 + $1.counts.values.reduce(0, +) }
    }

    // MARK: Views

    /// Returns the view with a key; creates it if there is none. `mayBeEmpty`: a resuming client may hold a window
    /// around an object of a result that has no rows any more.
    func view(
        _ key: ViewKey,
        _ entry: ResultRegistry.Entry,
        _ slots: [Int],
        mayBeEmpty: Bool = false
    ) throws(StoreError) -> View {
        if let id = self.idOfKey[key], let view = self.views[id] { return view }
        var anchor: RowKey?
        if case .around(let id, _, _) = key.window {
            anchor = try self.live.key(id, in: entry.result)
            if anchor == nil, !mayBeEmpty || entry.result.tree.count > 0 { throw View.notARow(id) }
        }
        let view = View(id: self.ids.take(), key: key, slots: slots, anchor: anchor, entry.result)
        self.views[view.id] = view
        if key.window?.isAround != true || anchor != nil { self.idOfKey[key] = view.id }
        entry.views[view.id] = view
        entry.unusedSince = nil
        return view
    }

    /// Updates a view to its result's current state. Returns the rows that the view showed before. `delta`: how the
    /// result has changed, if that is known. `isChanged`: whether a row may have changed.
    func advance(
        _ view: View,
        _ result: LiveResult,
        _ delta: ResultDelta?,
        isChanged: (ObjectID) -> Bool
    ) throws(StoreError) -> Range<Int> {
        self.positions.noteAdvanced(view)
        guard case .around(let id, _, _) = view.key.window else { return view.advance(result.tree, anchor: nil) }
        var anchor = view.anchor
        if anchor != nil, isChanged(id) { anchor = try self.live.key(id, in: result) }
        if anchor == nil { anchor = View.successor(of: view.anchor, in: result.tree, delta) }
        // The key may name an object that is no longer a row: requests must not find the view by it.
        if self.idOfKey[view.key] == view.id { self.idOfKey[view.key] = nil }
        let before = view.advance(result.tree, anchor: anchor)
        if anchor != nil, self.idOfKey[view.key] == nil { self.idOfKey[view.key] = view.id }
        return before
    }

    /// Removes a view without subscribers.
    func dropUnused(_ view: View, now: Int64) {
        guard view.subscribers.isEmpty, view.counts.isEmpty, self.views[view.id] === view else { return }
        self.views[view.id] = nil
        self.ids.release(view.id)
        if self.idOfKey[view.key] == view.id { self.idOfKey[view.key] = nil }
        guard let entry = self.live[view.key.result] else { return }
        entry.views[view.id] = nil
        if entry.views.isEmpty { entry.unusedSince = now }
    }

    // MARK: Subscribers

    func requireRoom(_ connection: EngineConnection) throws(StoreError) {
        let results = connection.views.reduce(self.outlines?.count(of: connection) ?? 0) {
            $0 + (self.views[$1]?.counts[connection.id] ?? 0)
        }
        guard results + connection.changeSubscriptions.count < connection.subscriptionsMax else {
            throw StoreError.refused(
                .limitExceeded,
                "a connection may have \(connection.subscriptionsMax) subscriptions"
            )
        }
    }

    /// Counts one more subscription of a connection to a view. Returns whether it had one already.
    func add(_ connection: EngineConnection, to view: View) -> Bool {
        let isKnown = view.counts[connection.id] != nil
        view.counts[connection.id, default: 0] += 1
        connection.views.insert(view.id)
        return isKnown
    }

    func unsubscribe(_ id: ConnectionID, _ viewID: UInt32, now: Int64) throws(StoreError) {
        if let outlines, outlines.end(viewID, of: id) { return }
        guard let view = self.views[viewID], let count = view.counts[id] else {
            throw StoreError.refused(.notFound, "the connection has no subscription to view \(viewID)")
        }
        if count > 1 {
            view.counts[id] = count - 1
            return
        }
        let connection = self.connections[id]
        connection?.views.remove(viewID)
        self.leave(view, id, now: now)
        // Replies that waited for this view need not wait any longer.
        if let connection, connection.laggingViews.contains(viewID) { self.lagging.append(id, viewID) }
    }

    private func leave(_ view: View, _ id: ConnectionID, now: Int64) {
        view.counts[id] = nil
        view.subscribers[id] = nil
        self.dropUnused(view, now: now)
    }

    /// Ends all subscriptions of a connection that is gone.
    func leaveAll(_ connection: EngineConnection, now: Int64) {
        self.outlines?.leaveAll(connection)
        for viewID in connection.views {
            if let view = self.views[viewID] { self.leave(view, connection.id, now: now) }
        }
    }

    // MARK: Ended by the engine

    /// Ends all subscriptions of a connection to a view. Nothing more is sent with the view's id.
    func end(_ id: ConnectionID, _ view: View, _ error: NestError, now: Int64, _ effects: inout [EngineEffect]) {
        effects.append(.push(EnginePush(view: view.id, content: .end(error.code, error.message)), to: [id]))
        guard let connection = self.connections[id] else { return }
        connection.views.remove(view.id)
        self.leave(view, id, now: now)
        if connection.laggingViews.remove(view.id) != nil, !connection.isWaiting {
            self.replies.release(connection, &effects)
        }
    }

    /// Ends all subscriptions to a result, and drops it.
    func end(_ entry: ResultRegistry.Entry, _ error: NestError, now: Int64, _ effects: inout [EngineEffect]) {
        for view in entry.views.values.sorted(by: { $0.id < $1.id }) {
            for id in view.counts.keys.sorted() { self.end(id, view, error, now: now, &effects) }
        }
        if entry.isUnused { self.live.remove(entry.key) }
    }
}

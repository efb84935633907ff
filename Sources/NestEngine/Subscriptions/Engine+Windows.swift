import DequeModule
import NestLiveQuery
import NestModel
import NestStore

/// Windows of results: what each batch does to them, within what it may cost.
extension Engine {
    /// Takes a result's present state into a view. Answers the rows it showed before. `delta`: what has become of the result,
    /// when that is known; `isTouched`: whether something may have happened to a row.
    func advance(
        _ view: View,
        _ result: LiveResult,
        _ delta: ResultDelta?,
        isTouched: (ObjectID) -> Bool
    ) throws -> Range<Int> {
        if view.key.window != nil { self.staleResults.insert(view.key.result) }
        guard case .around(let id, _, _) = view.key.window else { return view.advance(result.tree, anchor: nil) }
        var anchor = view.anchor
        if anchor != nil, isTouched(id) { anchor = try self.key(id, in: result) }
        if anchor == nil { anchor = Self.successor(of: view.anchor, in: result.tree, delta) }
        // By what is no row any more nobody may find it.
        if self.viewIDs[view.key] == view.id { self.viewIDs[view.key] = nil }
        let before = view.advance(result.tree, anchor: anchor)
        if anchor != nil, self.viewIDs[view.key] == nil { self.viewIDs[view.key] = view.id }
        return before
    }

    /// The row that has come into the place of one that has left, or the last; of none, the first.
    static func successor(of key: RowKey?, in tree: OrderStatisticTree, _ delta: ResultDelta?) -> RowKey? {
        guard tree.count > 0 else { return nil }
        let index = key.map { delta?.place(ofLeft: $0) ?? tree.index(of: $0) } ?? 0
        return tree.key(at: min(index, tree.count - 1))
    }

    /// Some have been told where a window is, others have not.
    func noteTold(_ view: View, to connections: [ConnectionID]) {
        guard view.key.window != nil, let entry = self.results[view.key.result] else { return }
        let position = view.position(in: entry.result.tree)
        let isAll = connections.count == view.subscribers.syncedCount
        if isAll, connections.allSatisfy({ view.subscribers[$0] == .synced }) {
            view.toldPosition = position
        } else if view.toldPosition != position {
            self.noteUntold(view)
        }
    }

    /// Some may not know where a window is: all of them are told.
    func noteUntold(_ view: View) {
        guard view.key.window != nil else { return }
        view.toldPosition = nil
        self.staleResults.insert(view.key.result)
    }

    /// The key of an object in a result, as the store has it; `nil` when it is no row.
    func key(_ id: ObjectID, in result: LiveResult) throws -> RowKey? {
        if result.source.isComputed { return result.member(id)?.key }
        var writer = SortKeyWriter()
        return try result.source.key(id, self.store.row(result.source.table, id), &writer)
    }

    /// Tells the windows that show the same as before where they are now, when that has changed.
    func tellPositions(_ effects: inout [EngineEffect]) {
        let stale = self.staleResults.compactMap { self.results[$0] }.sorted { $0.number < $1.number }
        self.staleResults = []
        for entry in stale {
            for view in entry.views.values.sorted(by: { $0.id < $1.id }) where view.key.window != nil {
                guard let position = view.position(in: entry.result.tree), position != view.toldPosition else {
                    continue
                }
                view.toldPosition = position
                guard !view.synced.isEmpty else { continue }
                let push = EnginePush(view: view.id, content: .position(position, entry.result.revision))
                effects.append(.push(push, to: view.synced))
            }
        }
    }

    // MARK: Windows that the work of a batch did not reach

    /// A subscription is not told of a batch for now. Until it has been, its connection is told neither of a revision reached
    /// nor of the answers to its writes.
    func fallBehind(_ id: ConnectionID, _ view: View, _ state: SubscriptionState) {
        guard let connection = self.connections[id] else { return }
        view.subscribers[id] = state
        connection.behind.insert(view.id)
        self.behind.append((id, view.id))
    }

    /// Brings those up to date that have waited longest, as far as the work of one turn goes.
    func catchUpBehind(now: Int64, _ effects: inout [EngineEffect]) {
        var work = 0
        while work < self.limits.windowWorkMax, let (id, viewID) = self.behind.popFirst() {
            guard let connection = self.connections[id], connection.behind.remove(viewID) != nil else { continue }
            // One that does not drain is brought up to date when it does.
            if connection.isBlocked { continue }
            let read = self.admissionWork
            self.catchUp(id, viewID, now: now, &effects)
            work += 8 + self.admissionWork - read
            if connection.behind.isEmpty { self.release(connection, id, &effects) }
        }
    }

    /// Sends what has waited for the subscriptions of a connection.
    func release(_ connection: Connection, _ id: ConnectionID, _ effects: inout [EngineEffect]) {
        let held = connection.heldReplies
        connection.heldReplies = []
        self.goOnWithChanges(id, connection, &effects)
        for (requestID, reply) in held {
            effects.append(.reply(id, requestID: requestID, reply))
            self.charge(reply.byteCount, to: id, connection, &effects)
        }
    }
}

import NestLiveQuery
import NestModel
import NestStore

extension Engine {
    /// A fetch request checked against the model: what it reads, and the canonical projection.
    struct Resolved {
        var source: ResultSource
        var toMany: EntityLayout.ToMany
        var projection: [PropertyNumber]
        var slots: [Int]
    }

    /// `mayBeGone`: a client that returns may hold rows of an owner that has been deleted; its result is empty.
    func resolve(_ request: FetchRequest, mayBeGone: Bool) throws -> Resolved {
        guard let layout = self.store.layout[request.entity] else {
            throw NestError(.unknownEntity, "the model has no entity number \(request.entity.rawValue)")
        }
        let toMany: EntityLayout.ToMany
        if let owner = try self.store.object(request.source.object) {
            guard let found = owner.layout.toMany(request.source.relationship) else {
                throw NestError(
                    .unknownProperty,
                    "\(owner.layout.name) has no to-many relationship number \(request.source.relationship.rawValue)"
                )
            }
            toMany = found
        } else {
            let candidates = self.store.layout.entities.compactMap { $0.toMany(request.source.relationship) }
            guard mayBeGone, let found = candidates.first(where: { $0.destination == request.entity }) else {
                throw NestError(
                    .notFound,
                    "there is no object with id \(request.source.object)",
                    object: request.source.object
                )
            }
            toMany = found
        }
        guard toMany.destination == request.entity else {
            throw NestError(.invalid, "the relationship does not lead to \(layout.name)")
        }
        let projection = request.canonical(in: layout.entity).projection
        let slots = try projection.map { property in
            guard let slot = layout.slot(of: property) else {
                throw NestError(
                    .unknownProperty,
                    "\(layout.name) has no stored property number \(property.rawValue)"
                )
            }
            return slot
        }
        let source = ResultSource(
            entity: request.entity,
            slot: toMany.inverseSlot,
            place: toMany.inversePlace,
            owner: request.source.object
        )
        return Resolved(source: source, toMany: toMany, projection: projection, slots: slots)
    }

    func requireRevision(_ atLeast: Revision) throws {
        guard self.store.head >= atLeast else {
            throw NestError(.revisionNotReached, "the store is at revision \(self.store.head), not yet at \(atLeast)")
        }
    }

    /// The live result for a key, loaded from the store when there is none.
    func result(_ key: ResultKey, _ toMany: EntityLayout.ToMany, now: Int64) throws -> ResultRegistry.Entry {
        if let entry = self.results[key] { return entry }
        var keys: [RowKey] = []
        try self.store.forEach(toMany, of: key.source.owner) { id, position in
            keys.append(RowKey(position: key.source.place == nil ? 0 : position, id: id))
        }
        let result = LiveResult(source: key.source, sorted: keys, revision: self.store.head)
        let entry = ResultRegistry.Entry(key: key, result: result, now: now)
        self.results.insert(entry)
        return entry
    }

    func view(_ key: ViewKey, _ entry: ResultRegistry.Entry, _ slots: [Int]) -> View {
        if let id = self.viewIDs[key], let view = self.views[id] { return view }
        let view = View(
            id: self.takeViewID(),
            key: key,
            entity: key.result.source.entity,
            slots: slots,
            lastChange: entry.result.revision
        )
        self.views[view.id] = view
        self.viewIDs[key] = view.id
        entry.views[view.id] = view
        entry.unusedSince = nil
        return view
    }

    func subscribe(
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ request: FetchRequest,
        _ resume: ResumePoint?,
        atLeast: Revision,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws {
        try self.requireRevision(atLeast)
        guard let connection = self.connections[id] else { return }
        let isReturning = resume?.historyID == self.store.historyID
        let resolved = try self.resolve(request, mayBeGone: isReturning)
        let resultKey = ResultKey(source: resolved.source, scope: connection.scope)
        let viewKey = ViewKey(result: resultKey, projection: resolved.projection)
        let isKnown = self.viewIDs[viewKey].map { connection.views.contains($0) } ?? false
        let subscriptions = connection.views.reduce(0) { $0 + (self.views[$1]?.counts[id] ?? 0) }
        guard subscriptions < Limits.subscriptionsPerConnectionMax else {
            throw NestError(
                .limitExceeded,
                "a connection may have \(Limits.subscriptionsPerConnectionMax) subscriptions"
            )
        }
        let entry = try self.result(resultKey, resolved.toMany, now: now)
        let view = self.view(viewKey, entry, resolved.slots)
        view.counts[id, default: 0] += 1
        self.connections[id]!.views.insert(view.id)
        let told = effects.count
        do {
            try self.sendFirstState(view, entry, id, requestID, isKnown: isKnown, resume, &effects)
        } catch {
            // Refused after all: nothing of it is left, and nothing of it is sent.
            effects.removeSubrange(told...)
            try self.unsubscribe(id, view.id, now: now)
            throw error
        }
    }

    private func sendFirstState(
        _ view: View,
        _ entry: ResultRegistry.Entry,
        _ id: ConnectionID,
        _ requestID: UInt32,
        isKnown: Bool,
        _ resume: ResumePoint?,
        _ effects: inout [EngineEffect]
    ) throws {
        func accept(_ first: FirstState, _ reason: String = "") {
            // Told in stream order before the first frame under the view's id, even to a connection that does not drain.
            let projection = view.key.projection
            effects.append(
                .reply(
                    id,
                    requestID: requestID,
                    .subscribed(view: view.id, first: first, reason: reason, projection: projection)
                )
            )
        }
        if isKnown { return accept(.alreadySubscribed) }
        // What is sent to a connection that does not drain waits behind what is waiting; changes from here on are made up
        // for when it has drained.
        let head = self.store.head
        let isBlocked = self.connections[id]?.isBlocked ?? false
        let state: SubscriptionState = isBlocked ? .lagging(base: head, known: head) : .synced
        if let resume {
            let answer = try self.resume(view, entry, resume)
            view.subscribers[id] = state
            switch answer {
            case .current:
                return accept(.current(self.store.head))
            case .difference(let body):
                accept(.difference)
                effects.append(.push(EnginePush(view: view.id, content: .diff(body)), to: [id]))
                return
            case .snapshot(let reason):
                accept(.snapshot, reason)
            }
        } else {
            accept(.snapshot)
        }
        view.subscribers[id] = state
        try self.sendSnapshot(view, reason: .first, to: [id], &effects)
    }

    func unsubscribe(_ id: ConnectionID, _ viewID: UInt32, now: Int64) throws {
        guard let view = self.views[viewID], let count = view.counts[id] else {
            throw NestError(.notFound, "the connection has no subscription to view \(viewID)")
        }
        if count > 1 {
            view.counts[id] = count - 1
            return
        }
        self.connections[id]?.views.remove(viewID)
        self.leave(view, id, now: now)
    }

    func leave(_ view: View, _ id: ConnectionID, now: Int64) {
        view.counts[id] = nil
        view.subscribers[id] = nil
        guard view.subscribers.isEmpty else { return }
        self.views[view.id] = nil
        self.viewIDs[view.key] = nil
        guard let entry = self.results[view.key.result] else { return }
        entry.views[view.id] = nil
        if entry.views.isEmpty { entry.unusedSince = now }
    }

    func disconnect(_ id: ConnectionID, now: Int64) {
        guard let connection = self.connections.removeValue(forKey: id) else { return }
        for viewID in connection.views {
            if let view = self.views[viewID] { self.leave(view, id, now: now) }
        }
        if !self.connections.values.contains(where: { $0.session == connection.session }) {
            self.sessions.forget(connection.session)
        }
    }

    /// One fetch, without a live result.
    func fetch(_ request: FetchRequest, atLeast: Revision) throws -> EngineReply {
        try self.requireRevision(atLeast)
        let resolved = try self.resolve(request, mayBeGone: false)
        let rows = try self.store.rows(
            resolved.toMany,
            of: resolved.source.owner,
            projection: resolved.slots,
            sectionHash: LiveResult.sectionHash
        )
        let header = SnapshotHeader(
            reason: .first,
            revision: self.store.head,
            total: rows.count,
            digest: rows.digest.value,
            sections: [.init(key: LiveResult.sectionKey, rowCount: rows.count)]
        )
        return .snapshot(header, rows: rows.bodies)
    }
}

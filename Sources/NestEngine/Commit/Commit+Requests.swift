import NestModel
import NestStore
import NestSchema

/// Performs each kind of write request in the group of a commit.
extension Commit {
    /// Performs one request in the open group. Refusals become outcomes; failures of storage are thrown.
    mutating func perform(
        _ turn: Turn,
        _ pending: inout PendingGroup
    ) throws(StoreError) {
        let request = turn.request
        pending.last = turn.index
        let steps = turn.group.steps
        let stepsMax = self.stepsMax(request, isFirst: pending.results.isEmpty)
        do throws(StoreError) {
            defer { self.note(turn.group.steps - steps, request) }
            if request.key != nil, let receipt = try self.earlierAnswer(request, pending) {
                self.outcomes[turn.index] = .committed(receipt)
                return
            }
            if let refusal { throw StoreError.refused(refusal) }
            try self.sessions.requireGroup(request)
            if case .failed(let error) = request.stage { throw StoreError.refused(error) }
            if let preparedObjectsMin, request.mustBePrepared(from: preparedObjectsMin) {
                throw StoreError.postponed(.preparation)
            }
            switch request.operation {
            case .beginGroup(let name, let joined):
                let number = try self.sessions.coalescing.begin(
                    request.connection,
                    session: request.session,
                    scope: request.scope,
                    name: name,
                    joined: joined,
                    now: self.now
                )
                self.sessions.changed.insert(request.session)
                self.outcomes[turn.index] = .answered(.group(number))
            case .endGroup:
                self.sessions.changed.insert(request.session)
                guard self.sessions.coalescing.end(request.connection, now: self.now) else {
                    throw StoreError.refused(
                        .notFound,
                        "there is no open group on this connection: it has ended or timed out"
                    )
                }
                self.outcomes[turn.index] = .answered(.done)
            case .transaction, .importSubtree:
                try self.write(turn, stepsMax: stepsMax, &pending)
            case .takeBack(let target, let options, let expected):
                try self.takeBack(target, options, expected: expected, turn, stepsMax: stepsMax, &pending)
            }
        } catch {
            guard let refusal = error.refusal else { throw error }
            if refusal.code == .limitExceeded, stepsMax < request.stepsMax {
                throw try self.postponement(request, stepsMax)
            }
            self.outcomes[turn.index] = .refused(refusal)
        }
    }

    /// Returns how a write goes on that took more than `steps`, the steps that it was given.
    private func postponement(_ request: WriteRequest, _ steps: Int) throws(StoreError) -> StoreError {
        guard self.isOnlyTried(request), steps == self.preparedObjectsMin else { return .postponed(.nextTurn) }
        if let id = request.deletedObject, try !self.store.mayPrepareDeletion(of: id) {
            request.stage = .impossible
            return .postponed(.nextTurn)
        }
        return .postponed(.preparation)
    }

    private mutating func write(
        _ turn: Turn,
        stepsMax: Int,
        _ pending: inout PendingGroup
    ) throws(StoreError) {
        let request = turn.request
        // Only a place by index depends on the changed owners; for other requests the sets are not copied.
        let asks = request.traits.contains(.namesIndex)
        let isBulk = !asks || self.isBulk || pending.isBulk
        let owners = asks ? pending.owners.union(self.owners) : []
        var runs: [Receipt.Run] = []
        let isTried = stepsMax < request.stepsMax
        let needsSavepoint = isTried || request.needsSavepoint(hasDeferredChecks: self.hasDeferredChecks)
        let coalescing = request.transaction.coalescing
        var entry = self.sessions.coalescing.entry(
            of: request.connection,
            session: request.session,
            coalescing,
            now: self.now
        )
        // The entry may have been undone or skipped since: then the write begins a new one.
        if let first = entry, first <= self.store.head, !self.sessions[request.session].canJoin(first) { entry = nil }
        let undoGroup = self.sessions.coalescing.group(of: request.connection)
        let groupName = undoGroup?.name
        // In an undo group the coalescing key is ignored.
        let coalescingKey = undoGroup == nil ? coalescing?.key : nil
        // Another connection may have named the group.
        let scope = request.scope.write(namedIn: groupName == nil ? request.scope.limit : undoGroup?.scope.limit)
        // Captures `runner` instead of `self`: a closure that uses a part of `self` copies all of it.
        let runner = self.runner
        let result = try turn.group.request(inSavepoint: needsSavepoint, stepsMax: stepsMax) {
            (graph) throws(StoreError) in
            let description = try runner.run(request, graph, entry: entry, groupName: groupName) {
                isBulk || owners.contains($0)
            }
            description.coalescingKey = coalescingKey
            description.scope = scope
            runs = description.results
            return description
        }
        guard let result else {
            // The request wrote nothing, so its idempotency key is not kept either: a retry is evaluated again.
            self.outcomes[turn.index] = .committed(
                Receipt(revision: turn.group.revision, isChanged: false, results: runs.filter(\.isFound))
            )
            return
        }
        self.sessions.coalescing.note(
            result.header.revision,
            partOf: entry,
            request.connection,
            session: request.session,
            coalescing,
            now: self.now
        )
        self.scopes.take([result], of: request)
        try self.take(result, turn, &pending)
    }

    private mutating func takeBack(
        _ target: UndoTarget,
        _ options: UndoOptions,
        expected: Revision?,
        _ turn: Turn,
        stepsMax: Int,
        _ pending: inout PendingGroup
    ) throws(StoreError) {
        let request = turn.request
        if self.sessions.coalescing.leave(request.connection) { self.sessions.changed.insert(request.session) }
        let runner = self.undoRunner
        let stacks = self.sessions[request.session]
        let work = try runner.work(target, options, expected: expected, request.session, stacks, request.scope)
        if let preparedObjectsMin, self.isOnlyTried(request), work.streamedEstimate > preparedObjectsMin {
            throw .postponed(.preparation)
        }
        let confinement = try request.scope.confinement(self.store, self.scopes)
        if let confinement { try runner.check(work, confinement) }
        let scope = request.scope.write(namedIn: work.scope.nameLimit)
        let description = WriteDescription(
            name: work.name,
            key: nil,
            requestHash: request.requestHash,
            sessionNumber: request.session,
            scope: scope,
            user: request.user
        )
        // All parts of an undo together may take as many steps as one write.
        let stepsEnd = turn.group.steps + stepsMax
        var (results, conflicts) = try turn.group.together { () throws(StoreError) in
            try runner.run(work, description, confinement, request.preparation) { (body) throws(StoreError) in
                try turn.group.request(inSavepoint: true, stepsMax: stepsEnd - turn.group.steps, body)
            }
        }
        guard !results.isEmpty else {
            if let entry = work.entry {
                let answer = request.key.map { key in
                    JournalHeader(
                        revision: turn.group.revision,
                        time: self.now,
                        sessionNumber: request.session,
                        kind: work.kind,
                        reverted: nil,
                        name: work.name,
                        key: key,
                        requestHash: request.requestHash,
                        results: [],
                        conflicts: conflicts,
                        scope: scope
                    )
                }
                try turn.group.block(entry, answer: answer)
                pending.blocked.append((entry, request.session, answer))
                pending.sessions.insert(request.session)
            }
            self.outcomes[turn.index] = .committed(
                Receipt(revision: turn.group.revision, isChanged: false, name: work.shownName, conflicts: conflicts)
            )
            return
        }
        self.sessions.coalescing.breakRun(request.session)
        results[results.count - 1] = turn.group.complete(
            results[results.count - 1],
            key: request.key,
            conflicts: conflicts,
            revisionCount: results.count
        )
        self.scopes.take(results, of: request)
        for result in results { try self.take(result, turn, &pending) }
    }

    /// Notes the result of a request until its group is durable.
    private mutating func take(
        _ result: WriteResult,
        _ turn: Turn,
        _ pending: inout PendingGroup
    ) throws(StoreError) {
        let request = turn.request
        if pending.lastSession != request.session { try self.note(request.session, &pending) }
        if let key = result.header.key { pending.keys[Key(session: request.session, key: key)] = pending.results.count }
        pending.results.append(PendingResult(index: turn.index, result: result))
        if result.changes.blockCount > 0 { pending.isBulk = true }
        guard self.notesOwners else { return }
        for object in result.changes.changedRows { Self.noteOwners(object, &pending.owners) }
    }

    /// Notes that a session has an entry in the group: once for a run of its requests.
    private func note(_ number: UInt64, _ pending: inout PendingGroup) throws(StoreError) {
        pending.sessions.insert(number)
        // The session is saved only with one of its entries: both become durable together, or neither does.
        if !pending.savedSessions.contains(where: { $0.number == number }),
            let session = self.sessions.unsaved(number, now: self.now)
        {
            try self.store.saveSession(session)
            pending.savedSessions.append(session)
        }
        pending.lastSession = number
    }

    private static func noteOwners(_ object: ChangedRow, _ owners: inout Set<ObjectID>) {
        for row in [object.before, object.after] {
            row?.values.forEachReference { owners.insert($1) }
        }
    }

    private func earlierAnswer(_ request: WriteRequest, _ pending: PendingGroup) throws(StoreError)
        -> Receipt?
    {
        guard let key = request.key else { return nil }
        let known = try self.sessions.keys.receipt(
            session: request.session,
            key: key,
            requestHash: request.requestHash,
            request.scope
        )
        if let known { return known }
        guard let index = pending.keys[Key(session: request.session, key: key)] else { return nil }
        let header = pending.results[index].result.header
        guard header.requestHash == request.requestHash else { throw StoreError.refused(KeyIndex.reused) }
        var receipt = Receipt(header)
        receipt.isReplayed = true
        request.scope.hide(from: &receipt, madeIn: header.scope)
        return receipt
    }
}

extension Sessions {
    /// Refuses a write, or the end of a group, if the client's group ended because another node led meanwhile.
    fileprivate func requireGroup(_ request: WriteRequest) throws(StoreError) {
        if case .beginGroup = request.operation { return }
        guard let group = request.portGroup else { return try self.coalescing.refuseEnded(request.connection) }
        if try self.coalescing.enter(group, request.connection) { self.changed.insert(request.session) }
    }
}

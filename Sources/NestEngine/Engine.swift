import NestModel
import NestStore
import NestProtocol
import NestSchema

/// The deterministic core: every event is an input, and everything to send is an effect.
///
/// Synchronous; no clock, no randomness, no threads, no sockets. Not Sendable: created and used on one thread. It
/// coordinates its parts, each of which owns its state.
package final class Engine {
    let store: Store
    let limits: EngineLimits
    let counters = EngineCounters()
    let connections = EngineConnections()
    let scopes: TokenScopes
    let sessions: Sessions
    let undoStates: UndoStates
    /// The clients that are present in scopes.
    package internal(set) var presence: PresenceTable
    package let admission: Admission
    let changeFeeds: ChangeFeeds
    let replies: Replies
    let queries: LiveQueries
    /// Writes that wait for their turn.
    var turns = WriteTurns()
    let preparations: BulkPreparations
    /// The tokens that clients may authenticate with.
    package internal(set) var tokens: EngineTokens
    var health: EngineHealth
    var standby: StandbyUpdates
    var reservations = Reservations()
    var puts = ValuePuts()
    /// The store's model.
    package internal(set) var served: ServedModel
    /// Whether the connections must still hear of it.
    var hasNewModel = false
    /// `nil`: a single node.
    let replica: EngineReplica?

    /// `startID`: random, for a node of a cluster: no other engine has the same.
    package init(
        store: Store,
        limits: EngineLimits = EngineLimits(),
        answerMemory: AnswerMemory = AnswerMemory(),
        startID: Identifier128 = Identifier128(high: 0, low: 0)
    ) throws(StoreError) {
        do throws(StoreError) {
            self.sessions = try store.access { () throws(StoreError) in try Sessions(store) }
            self.tokens = EngineTokens(try store.access { () throws(StoreError) in try store.tokens() })
        } catch {
            throw Store.openingError(error, path: store.path)
        }
        self.store = store
        self.served = ServedModel(store)
        self.limits = limits
        self.preparations = BulkPreparations(store, self.sessions, limits)
        self.scopes = TokenScopes(store, rowsPerTurn: limits.scopeRowsPerTurnMax)
        self.undoStates = UndoStates(self.sessions, self.connections)
        self.admission = Admission(self.connections, self.scopes, limits, answerMemory)
        let viewIDs = ViewIDs()
        self.changeFeeds = ChangeFeeds(store, self.connections, viewIDs, pageBytes: limits.changePageBytes)
        self.replies = Replies(
            connections: self.connections,
            admission: self.admission,
            changeFeeds: self.changeFeeds,
            authors: RevisionAuthors(store: store, admission: self.admission)
        )
        self.queries = LiveQueries(
            store,
            limits,
            self.scopes,
            self.connections,
            self.admission,
            self.replies,
            viewIDs,
            self.counters
        )
        self.health = EngineHealth(freeBytesMin: limits.diskFreeBytesMin)
        let share = EngineShare(
            historyID: store.historyID,
            model: self.served,
            .init(head: store.head, oldestRevision: store.oldestBase, modelHash: self.served.hash),
            tokens: Set(self.tokens.all.keys),
            self.sessions.numbers
        )
        self.standby = StandbyUpdates(share, oldest: store.oldestBase, head: store.head)
        let connections = self.connections
        self.replica = store.logState == nil ? nil : EngineReplica(Forwarding(connections.changed, startID: startID))
        self.presence = PresenceTable(node: self.replica == nil ? 0 : startID.low)
        if self.replica != nil { self.sessions.follow() }
    }

    /// Processes a batch of inputs: commits the writes among them, and returns what to send. `now`: microseconds since
    /// 1970-01-01 UTC.
    ///
    /// Writes run first, in their order and in as few transactions as possible. Then the engine pushes their changes,
    /// and encodes each diff once. Then it sends the replies to the writes. Then it answers everything else, which sees
    /// the new state. `answeredByStandby`: called once, after the writes; the engine does not answer the requests that
    /// it returns.
    package func perform(
        _ inputs: [EngineInput],
        now: Int64,
        answeredByStandby: (() -> AnsweredByStandby)? = nil
    ) -> [EngineEffect] {
        self.store.access {
            var effects: [EngineEffect] = []
            self.admission.beginTurn()
            self.queries.beginTurn()
            // Requests that waited for their scope come before those of this batch.
            let inputs = self.scopes.isReleased ? self.scopes.takeReleased() + inputs : inputs
            self.scopes.beginTurn()
            var (writes, later) = self.begin(inputs, now: now, &effects)
            self.store.beginBatch()
            let takesWrites =
                self.replica.map { self.takesWrites($0, &writes, &later, now: now, &effects) } ?? true
            if takesWrites, !self.turns.isEmpty {
                let next = self.turns.next(countMax: Limits.requestsPerCommitMax)
                for write in next.writes { self.connections.changed.note(write.connection) }
                writes += next.writes
                later += next.others
            }
            if let replica, replica.hasInterrupted { self.refuseInterrupted(replica, &writes, &effects) }
            if !writes.isEmpty {
                let done = self.commit(writes, now: now, &effects)
                if done < writes.count {
                    for id in self.turns.putBack(writes[done...], &later) { self.connections.changed.note(id) }
                }
                if let replica, !replica.overtaken.isEmpty {
                    self.forwardWaiting(replica, replica.takeOvertaken(), &later, &effects)
                }
            }
            if let replica { self.performReleased(replica, now: now, &effects) }
            self.performReservations(now: now, &effects)
            self.performPuts(now: now, &effects)
            answeredByStandby?().remove(from: &later, &effects)
            var next = later.startIndex
            while next < later.endIndex {
                let reads = later[next...].prefix { $0.isObjectRead }
                if !reads.isEmpty {
                    self.store.reading { for input in reads { self.perform(input, now: now, &effects) } }
                    next = reads.endIndex
                } else {
                    self.perform(later[next], now: now, &effects)
                    next += 1
                }
            }
            self.releaseReads(&effects)
            self.appendMarks(now: now, &effects)
            self.undoStates.push(&effects)
            self.queries.pushLagging(now: now, &effects)
            self.admitWaiting(now: now, &effects)
            self.queries.reads.refreshLagging(&effects)
            self.queries.outlines.refreshStale(&effects)
            self.health.fail(self.queries.outlines.takeFailure())
            self.reportAppended(&effects)
            let hasResultBacklog = self.hasResultBacklog
            self.readScopes()
            self.queries.endBatch(keepsRecentChanges: hasResultBacklog)
            self.changeFeeds.endBatch()
            self.pushPresence(now: now, &effects)
            self.replica?.send(&effects)
            self.advancePreparations(isIdle: inputs.isEmpty, now: now)
            return effects
        }
    }

    /// After a failure nothing more is written.
    private func advancePreparations(isIdle: Bool, now: Int64) {
        // Most turns have nothing to prepare: nothing is copied for them.
        guard !self.turns.isEmpty || self.store.hasPreparations, self.health.failure == nil else { return }
        do throws(StoreError) {
            try self.preparations.advance(self.turns, isIdle: isIdle, now: now, refusal: self.health.refusal)
        } catch {
            self.health.fail(error)
        }
    }

    /// Separates the writes of a batch, and handles the inputs that come before them.
    private func begin(
        _ inputs: [EngineInput],
        now: Int64,
        _ effects: inout [EngineEffect]
    ) -> (writes: [WriteRequest], later: [EngineInput]) {
        var writes: [WriteRequest] = []
        var later: [EngineInput] = []
        var drained: Set<ConnectionID> = []
        // Most inputs are writes.
        writes.reserveCapacity(inputs.count)
        for index in inputs.indices {
            // Most inputs are requests, of which only the parts are copied.
            if case .request(let id, let requestID, let request) = inputs[index] {
                self.begin(request, requestID, of: id, inputs[index], &writes, &later)
                continue
            }
            let input = inputs[index]
            switch input {
            case .connected(
                let id,
                let session,
                let scope,
                let takesCompressed,
                let token,
                let max,
                let user,
                let followsAuthors,
                let namesOwnRequests,
                let isWelcomed
            ):
                guard self.tokens.use(token, now: now) else {
                    effects.append(.end(id, EngineTokens.revoked))
                    if isWelcomed { self.forgetWelcomed(id, session) }
                    continue
                }
                let number = self.sessions.number(of: session)
                if isWelcomed { self.sessions.numbers.release(number) }
                self.connections.add(
                    id,
                    sessionID: session,
                    session: number,
                    scope: scope,
                    takesCompressed: takesCompressed,
                    token: token,
                    subscriptionsMax: max,
                    user: user,
                    followsAuthors: followsAuthors,
                    namesOwnRequests: namesOwnRequests
                )
                if !isWelcomed {
                    let shown = self.sessions.numbers.shown(number)
                    effects.append(.welcome(id, EngineWelcome(self.store, self.served, sessionNumber: shown)))
                } else {
                    self.pushModel(to: id, &effects)
                }
                self.scopes.retain(scope)
                // Before the writes of the batch, so that small scopes are known at once.
                self.readScopes()
            case .blocked(let id):
                // Before the writes, so that their pushes are held. If the connection drained earlier in this batch,
                // the order of both is kept.
                if drained.contains(id) { later.append(input) } else { self.block(id) }
            case .request: break
            case .drained(let id):
                drained.insert(id)
                later.append(input)
            case .healthSample(let sample):
                // Before the writes, because the sample may forbid them.
                self.health.take(sample)
            case .log(let input):
                self.replica?.inputs.append(input)
            case .disconnected(let id):
                // What waits is not executed behind the requests of a connection that comes instead.
                self.turns.remove(id)
                self.puts.remove(id)
                later.append(input)
            case .tick, .positionTimer, .read, .peerPresence:
                later.append(input)
            }
        }
        return (writes, later)
    }

    /// Separates a request. `input`: the request as an input.
    @inline(__always)
    private func begin(
        _ request: consuming EngineRequest,
        _ requestID: UInt32,
        of id: ConnectionID,
        _ input: @autoclosure () -> EngineInput,
        _ writes: inout [WriteRequest],
        _ later: inout [EngineInput]
    ) {
        guard let connection = self.connections.recent(id) else { return later.append(input()) }
        if self.scopes.hasBacklog, self.scopes.hold(connection.scope, input()) { return }
        if let write = WriteRequest.from(request, connection, requestID, self.limits) {
            if self.turns.isEmpty { writes.append(write) } else { self.turns.append(.write(write), of: id) }
        } else if self.turns.holds(id) {
            self.turns.append(.other(input()), of: id)
        } else {
            later.append(input())
        }
    }

    /// Commits writes and pushes their changes. Returns the number of writes that are done; the others wait for another
    /// turn.
    private func commit(_ all: [WriteRequest], now: Int64, _ effects: inout [EngineEffect]) -> Int {
        let base = self.store.head
        let live = self.queries.live
        let bulk = BulkConcern(
            live.registry,
            self.store.layout,
            outlineTables: self.queries.outlines.tables
        )
        let places = PlaceResolver(store: self.store, live: live)
        var commit = Commit(
            store: self.store,
            scopes: self.scopes,
            sessions: self.sessions,
            now: now,
            refusal: self.health.refusal,
            stepsMax: self.limits.turnStepsMax,
            preparedObjectsMin: self.limits.preparedObjectsMin,
            isConcerned: { bulk.note($0) },
            resolvePlace: { (transaction, isChanged) throws(StoreError) in
                try places.resolve(transaction, isChanged: isChanged, now: now)
            }
        )
        let done = commit.run(all)
        let outcomes = done < all.count ? Array(commit.outcomes.prefix(done)) : commit.outcomes
        let writes = done < all.count ? Array(all.prefix(done)) : all
        for cost in commit.costs { self.turns.note(cost.steps, of: cost.connection) }
        self.health.fail(commit.failure)
        self.store.noteCommitted(commit.changes)
        self.counters.count(commit, writes.count)
        self.reportAppended(&effects)
        OwnRevisions(connections: self.connections).push(of: writes, outcomes, &effects)
        self.push(commit.changes, bulk, base: base, writers: Self.writers(writes), now: now, &effects)
        effects.reserveCapacity(effects.count + outcomes.count)
        for index in outcomes.indices {
            guard let reply = outcomes[index].reply else { continue }
            self.replies.send(reply, writes[index].connection, writes[index].requestID, &effects)
        }
        if let replica { self.note(commit, writes, replica, &effects) }
        return done
    }

    /// Sends the changes of a batch to their subscribers. `writers`: the connections with writes in the batch, which
    /// get a progress mark.
    func push(
        _ changes: [ChangeSet],
        _ bulk: BulkConcern,
        base: Revision,
        writers: [ConnectionID],
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        do throws(StoreError) {
            let start = effects.count
            for changes in changes { bulk.noteUnlisted(changes) }
            try self.queries.push(changes, bulk, base: base, now: now, &effects)
            try self.queries.authors.push(after: base, before: start, &effects)
        } catch {
            // The commit stays, but can no longer be sent to its subscribers.
            self.health.fail(error)
        }
        self.changeFeeds.push(&effects)
        self.undoStates.push(&effects)
        var due: [ConnectionID] = []
        for case .push(_, let to) in effects { self.progress.note(to, &due) }
        self.progress.note(writers: writers, &due)
        self.progress.push(due, &effects)
    }

    /// Returns the connections of the writes, without consecutive duplicates.
    private static func writers(_ writes: [WriteRequest]) -> [ConnectionID] {
        guard let first = writes.first else { return [] }
        // Most batches are of one connection: memory for exactly one.
        var writers = [first.connection]
        for index in writes.indices where writers.last != writes[index].connection {
            writers.append(writes[index].connection)
        }
        return writers
    }

    var progress: ProgressMarks { ProgressMarks(connections: self.connections, store: self.store) }

    /// Handles an input after the writes.
    private func perform(_ input: EngineInput, now: Int64, _ effects: inout [EngineEffect]) {
        switch input {
        case .connected, .healthSample, .log: break
        case .blocked(let id): self.block(id)
        case .disconnected(let id): self.disconnect(id, now: now)
        case .drained(let id): self.drain(id, now: now, &effects)
        case .tick: self.tick(now: now, &effects)
        case .positionTimer:
            self.queries.positions.push(&effects)
            self.queries.outlines.pushPositions(&effects)
        case .peerPresence(let id, let message): self.presence.take(message, from: .node(id), now: now)
        case .read(let id, let outcome): self.queries.requests.take(id, outcome, now: now, &effects)
        case .request(let id, let requestID, let request):
            guard let connection = self.connections[id] else { return self.counters.requests += 1 }
            if let replica, self.hold(request, requestID, connection, replica) { return }
            self.perform(request, requestID, connection, now: now, &effects)
        }
    }

    /// Answers a request, or lets it wait for its turn.
    func perform(
        _ request: EngineRequest,
        _ requestID: UInt32,
        _ connection: EngineConnection,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        if self.scopes.hasBacklog {
            let input = EngineInput.request(connection.id, requestID: requestID, request)
            if self.scopes.hold(connection.scope, input) { return }
        }
        self.counters.requests += 1
        if self.admission.mustWait(request, connection) {
            self.admission.enqueue(request, requestID, connection)
        } else {
            self.answer(request, requestID, connection, now: now, &effects)
        }
    }

    /// Answers the requests that have waited longest, up to the work limit of one turn: waiters of completed background
    /// reads, then one request of each connection in turn. Answers at least one, whatever else the turn had to do.
    private func admitWaiting(now: Int64, _ effects: inout [EngineEffect]) {
        repeat {
            if self.queries.reads.hasCompleted {
                self.admission.chargeServedRead()
                self.queries.reads.serveNext(now: now) { self.queries.requests.serveNext($0, now: now, &effects) }
            } else if let next = self.admission.next() {
                let connection = next.connection
                let awaited = connection.awaitedSubtrees
                connection.awaitedSubtrees = []
                self.answer(next.request, next.requestID, connection, now: now, &effects)
                self.admission.release(awaited)
                self.admission.endTurn(connection)
            } else {
                return
            }
        } while self.admission.hasWorkLeft
    }

    /// Reads more members of the scopes that are not completely known.
    func readScopes() {
        guard self.scopes.isUnread else { return }
        do throws(StoreError) {
            try self.store.reading { () throws(StoreError) in try self.scopes.read() }
        } catch {
            if error.isFatal { self.health.fail(error) }
        }
        self.admission.endAwaiting()
    }
}

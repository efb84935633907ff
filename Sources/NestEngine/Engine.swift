import DequeModule
import NestLiveQuery
import NestModel
import NestStore

/// The deterministic core: everything that happens comes in as inputs, everything to be sent goes out as effects.
///
/// Synchronous; no clock, no randomness, no threads, no sockets. Not Sendable: created and used on one thread.
package final class Engine {
    let limits: EngineLimits
    let store: Store
    var sessions: Sessions
    var connections: [ConnectionID: Connection] = [:]
    /// Connections that came, went, or began or ended to wait since effects were handed out last.
    let changedClients = ChangedClients()
    /// What a standby knows, and what it was told last.
    package let share: EngineShare
    var oldestShared: Revision
    var headShared: Revision
    var tokenChanges = 0
    var tokenChangesShared = 0
    /// How many connections a session has, by its number.
    var connectionsOfSession: [UInt64: Int] = [:]
    /// Who may connect.
    package internal(set) var tokens: EngineTokens
    var results = ResultRegistry()
    let related: RelatedState
    /// What tokens that are confined to sub-trees reach.
    let scopes: TokenScopes
    var views: [UInt32: View] = [:]
    var viewIDs: [ViewKey: UInt32] = [:]
    let changePages: ChangePages
    /// Connections that are told of their session's undo state.
    var undoFollowers: Set<ConnectionID> = []
    /// Connections with subscriptions to changes.
    var changeFollowers: Set<ConnectionID> = []
    /// The ids of those.
    var changeSubscriptionIDs: Set<UInt32> = []
    private var freeViewIDs = ViewIDs()
    /// Views that hold an encoded snapshot for the rest of the batch.
    var encoded: [View] = []
    var counters = EngineCounters()
    /// `counters.groups` when the journal was last trimmed.
    var groupsTrimmed = 0
    /// Set when the store failed in a way after which nothing may be acknowledged: the server must stop.
    package var failure: StoreError?
    /// Why no write is taken at present, though the store has not failed: too little room is left.
    var shortage: NestError?
    /// What was seen last.
    var freeBytes: Int?

    var windowWork = 0
    /// Subscriptions that are not told of a batch yet, oldest first.
    var behind: Deque<(connection: ConnectionID, view: UInt32)> = []
    var admissionWork = 0
    /// Connections with requests that wait for their turn, in the order of their turns.
    var admissions: Deque<ConnectionID> = []
    /// Connections whose next request waits for the members of sub-trees.
    var awaitingSubtrees: [ConnectionID] = []
    /// Results whose windows may be elsewhere than they were told.
    var staleResults: Set<ResultKey> = []
    var catchUps = CatchUps()
    /// What results are rebuilt from, as long as somebody waits for one.
    var recentChanges: RecentChanges?
    /// What all live results take, as of the last tick, and those that were made since.
    var liveResultBytes = 0
    /// Since the last tick it was found that there is no room, even without those that nobody uses.
    var isOutOfRoom = false
    var sideReads: [UInt64: PendingRead] = [:]
    var readOfView: [ViewKey: UInt64] = [:]
    /// Reads that have come, and for whom not everybody who waited has been served.
    var arrivedReads: Deque<PendingRead> = []
    var lastSideRead: UInt64 = 0
    /// How many effects so far were for the rim itself: `read` and `tokensChanged`. Few are, and who looks for them among all
    /// copies each.
    package internal(set) var rimEffectCount = 0
    /// Writes that wait for their turn.
    var turns = WriteTurns()
    /// Results that lag, in the order in which they are read anew, and those that are being read.
    var lagging: Deque<ResultKey> = []
    var refreshing: Set<ResultKey> = []
    package let answerMemory: AnswerMemory
    /// Bytes of the answers that this turn has made.
    package internal(set) var answerBytes = 0
    /// There is work left that no input brings: the engine wants another turn.
    package var hasBacklog: Bool { self.hasResultBacklog || !self.turns.isEmpty || self.scopes.hasBacklog }
    private var hasResultBacklog: Bool {
        // While there is no room for answers the next beat of the clock looks again.
        let admits = !self.admissions.isEmpty && self.answerMemory.hasRoom
        return admits || !(self.behind.isEmpty && self.arrivedReads.isEmpty)
    }

    package init(
        store: Store,
        limits: EngineLimits = EngineLimits(),
        answerMemory: AnswerMemory = AnswerMemory()
    ) throws(StoreError) {
        self.store = store
        self.limits = limits
        self.answerMemory = answerMemory
        self.scopes = TokenScopes(store, rowsPerTurn: limits.scopeRowsPerTurnMax)
        self.related = RelatedState(store.objects, self.scopes)
        self.changePages = ChangePages(store, pageBytes: limits.changePageBytes)
        do {
            self.sessions = try store.access { try Sessions(store) }
            self.tokens = EngineTokens(try store.access { try store.tokens() })
            self.oldestShared = store.oldestBase
            self.headShared = store.head
            self.share = EngineShare(
                historyID: store.historyID,
                modelHash: store.layout.modelHash,
                .init(head: store.head, oldestRevision: store.oldestBase),
                tokens: Set(self.tokens.all.keys),
                self.sessions.numbers
            )
        } catch {
            throw Store.openingError(StoreErrorBox.storeError(error), path: store.path)
        }
    }

    package var model: ManagedObjectModel { self.store.layout.model }
    package var head: Revision { self.store.head }
    package var historyID: Identifier128 { self.store.historyID }

    /// Whether `checkpointIfDue` has anything to do.
    package var isCheckpointDue: Bool { self.store.isCheckpointDue }

    /// Moves what was committed into the store's file when there is enough of it. Call it when the effects of a batch are on
    /// their way, so that nobody waits for it.
    package func checkpointIfDue() {
        do throws(StoreError) {
            try self.store.checkpointIfDue()
        } catch {
            self.failure = self.failure ?? error
        }
    }

    /// Checkpoints and closes the store; leaves alone one that has failed. The last call.
    package func close() throws(StoreError) {
        if let failure { self.store.abandon(failure) } else { try self.store.close() }
    }

    func takeViewID() -> UInt32 {
        self.freeViewIDs.take { self.views[$0] != nil || self.changeSubscriptionIDs.contains($0) }
    }

    /// Takes what has happened, commits the writes among it, and answers what to send. `now`: microseconds since
    /// 1970-01-01 UTC.
    ///
    /// Writes run first, in their order and in as few transactions as can be; then what they changed is pushed, each diff
    /// encoded once; then their answers; then everything else, which sees the new state. `answeredAside`: called once, after
    /// the writes; what it returns is left out of the rest.
    package func perform(
        _ inputs: [EngineInput],
        now: Int64,
        answeredAside: (() -> AnsweredAside)? = nil
    ) -> [EngineEffect] {
        self.store.access {
            self.answerBytes = 0
            var effects: [EngineEffect] = []
            var writes: [WriteRequest] = []
            var later: [EngineInput] = []
            var drained: Set<ConnectionID> = []
            // Requests that waited for their scope come before those of this batch.
            let inputs = self.scopes.isReleased ? self.scopes.takeReleased() + inputs : inputs
            self.scopes.beginTurn()
            // Most are writes.
            writes.reserveCapacity(inputs.count)
            for input in inputs {
                switch input {
                case .connected(
                    let id,
                    let session,
                    let scope,
                    let takesCompressed,
                    let token,
                    let subscriptionsMax,
                    let isWelcomed
                ):
                    guard self.tokens.use(token, now: now) else {
                        effects.append(.end(id, EngineTokens.revoked))
                        if isWelcomed { self.forgetWelcomed(id, session) }
                        continue
                    }
                    let number = self.sessions.number(of: session)
                    if isWelcomed { self.sessions.numbers.release(number) }
                    let connection = Connection(
                        id,
                        self.changedClients,
                        session: number,
                        scope: scope,
                        takesCompressed: takesCompressed,
                        token: token,
                        subscriptionsMax: subscriptionsMax
                    )
                    let welcome = self.connect(id, connection)
                    if !isWelcomed { effects.append(.welcome(id, welcome)) }
                    self.scopes.retain(scope)
                    // Before the writes of the batch; small scopes are known at once.
                    self.readScopes()
                case .blocked(let id):
                    // Before the writes, so that what they push is held; full again after it drained: in that order.
                    if drained.contains(id) { later.append(input) } else { self.block(id) }
                case .request(let id, let requestID, let request):
                    if self.holdForScope(id, input) { continue }
                    if let write = self.write(id, requestID, request) {
                        if self.turns.isEmpty {
                            writes.append(write)
                        } else {
                            self.turns.append(.write(write), of: id)
                        }
                    } else if self.turns.holds(id) {
                        self.turns.append(.other(input), of: id)
                    } else {
                        later.append(input)
                    }
                case .drained(let id):
                    drained.insert(id)
                    later.append(input)
                case .sight(let sight):
                    // Before the writes, which it may forbid.
                    self.take(sight)
                case .disconnected, .tick, .pulse, .read:
                    later.append(input)
                }
            }
            self.windowWork = 0
            self.admissionWork = 0
            self.store.beginBatch()
            if !self.turns.isEmpty {
                let next = self.turns.next(countMax: Limits.requestsPerCommitMax)
                for write in next.writes { self.changedClients.note(write.connection) }
                writes += next.writes
                later += next.others
            }
            if !writes.isEmpty {
                let done = self.commit(writes, now: now, &effects)
                if done < writes.count { self.putBack(writes[done...], &later) }
            }
            answeredAside?().remove(from: &later, &effects)
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
            self.tellUndoStates(&effects)
            if !self.behind.isEmpty { self.catchUpBehind(now: now, &effects) }
            self.admitWaiting(now: now, &effects)
            self.refreshLagging(now: now, &effects)
            if !self.hasResultBacklog { self.recentChanges = nil }
            self.readScopes()
            self.catchUps = CatchUps()
            for view in self.encoded { view.snapshot = nil }
            self.encoded = []
            self.endChangePages()
            return effects
        }
    }

    /// The turn ended before these writes: they wait for the next, and with them what their connections asked for since.
    private func putBack(_ writes: ArraySlice<WriteRequest>, _ later: inout [EngineInput]) {
        let waiting = Set(writes.map(\.connection))
        var others: [(id: ConnectionID, input: EngineInput)] = []
        later.removeAll { input in
            guard case .request(let id, _, _) = input, waiting.contains(id) else { return false }
            others.append((id, input))
            return true
        }
        self.turns.putBack(writes, others: others)
        for id in waiting { self.changedClients.note(id) }
    }

    private func connect(_ id: ConnectionID, _ connection: Connection) -> EngineWelcome {
        let number = connection.session
        self.connections[id] = connection
        self.changedClients.note(id)
        self.connectionsOfSession[number, default: 0] += 1
        return EngineWelcome(
            historyID: self.store.historyID,
            revision: self.store.head,
            oldestRevision: self.store.oldestBase,
            modelHash: self.store.layout.modelHash,
            sessionNumber: number
        )
    }

    /// `nil`: it is no write.
    private func write(_ id: ConnectionID, _ requestID: UInt32, _ request: consuming EngineRequest) -> WriteRequest? {
        guard let connection = self.connections[id] else { return nil }
        let (session, scope) = (connection.session, connection.scope)
        func make(_ key: Identifier128?, _ operation: WriteRequest.Operation, _ hash: UInt64) -> WriteRequest {
            WriteRequest(
                connection: id,
                requestID: requestID,
                session: session,
                scope: scope,
                key: key,
                operation: operation,
                requestHash: hash,
                stepsMax: self.limits.stepsMax(scope)
            )
        }
        switch request {
        case .transaction(let transaction, let hash):
            return make(transaction.key, .transaction(transaction), hash)
        case .undo(let key, let options, let expected, let hash):
            return make(key, .takeBack(.undo, options, expected: expected), hash)
        case .redo(let key, let options, let expected, let hash):
            return make(key, .takeBack(.redo, options, expected: expected), hash)
        case .revert(let key, let options, let revision, let ofAnyone, let hash):
            let target = UndoTarget.revert(revision, ofAnyone: ofAnyone)
            return make(key, .takeBack(target, options, expected: nil), hash)
        case .beginGroup(let name, let joined):
            return make(nil, .beginGroup(name: name, joined: joined), 0)
        case .endGroup:
            return make(nil, .endGroup, 0)
        case .importSubtree(let staged, let hash):
            return make(staged.request.key, .importSubtree(staged), hash)
        default:
            return nil
        }
    }

    /// Answers how many of them have been done: the others have to wait for another turn.
    private func commit(_ all: [WriteRequest], now: Int64, _ effects: inout [EngineEffect]) -> Int {
        let base = self.store.head
        let bulk = BulkConcern(self.results, self.store.layout)
        var commit = Commit(
            store: self.store,
            scopes: self.scopes,
            now: now,
            refusal: self.failure?.nestError ?? self.shortage,
            stepsMax: self.limits.turnStepsMax,
            isConcerned: { bulk.note($0) },
            resolvePlace: { [self] transaction, isTouched in
                try self.resolvePlace(transaction, isTouched: isTouched, now: now)
            }
        )
        let done = commit.run(all, sessions: &self.sessions)
        let outcomes = done < all.count ? Array(commit.outcomes.prefix(done)) : commit.outcomes
        let writes = done < all.count ? Array(all.prefix(done)) : all
        for cost in commit.costs { self.turns.note(cost.steps, of: cost.connection) }
        self.failure = self.failure ?? commit.failure
        self.store.noteCommitted(commit.changes)
        self.counters.count(commit, writes.count)
        self.tellOwn(writes, outcomes, &effects)
        do {
            try self.follow(commit.changes, bulk, base: base, now: now, &effects)
        } catch {
            // What was committed is durable; who subscribes can no longer be told of it.
            self.failure = self.failure ?? StoreErrorBox.storeError(error)
        }
        self.sendChanges(&effects)
        self.tellUndoStates(&effects)
        var told: [ConnectionID] = []
        for case .push(_, let to) in effects { self.noteProgress(to, &told) }
        self.noteProgress(Self.writers(writes), &told)
        if !told.isEmpty { effects.append(.progress(self.store.head, to: told)) }
        effects.reserveCapacity(effects.count + outcomes.count)
        for index in outcomes.indices {
            let reply: EngineReply
            switch outcomes[index] {
            case .open: preconditionFailure("every request of a batch has an outcome")
            case .committed(let receipt): reply = .receipt(receipt)
            case .refused(let error): reply = .failure(error)
            case .group(let number): reply = .group(number)
            case .done: reply = .done
            }
            self.reply(writes[index].connection, writes[index].requestID, reply, &effects)
        }
        return done
    }

    /// The connections that write; one after itself is named once.
    private static func writers(_ writes: [WriteRequest]) -> [ConnectionID] {
        var writers: [ConnectionID] = []
        for index in writes.indices where writers.last != writes[index].connection {
            writers.append(writes[index].connection)
        }
        return writers
    }

    /// Sends an answer, or keeps it while the connection does not drain: it must not overtake the diffs it names.
    func reply(_ id: ConnectionID, _ requestID: UInt32, _ reply: EngineReply, _ effects: inout [EngineEffect]) {
        guard let connection = self.connections[id] else { return }
        if connection.isWaiting {
            connection.heldReplies.append((requestID, reply))
        } else {
            effects.append(.reply(id, requestID: requestID, reply))
            self.charge(reply.byteCount, to: id, connection, &effects)
        }
    }

    /// Tells connections whose subscriptions are all exact at the head that they are.
    func progress(_ ids: some Sequence<ConnectionID>, _ effects: inout [EngineEffect]) {
        var told: [ConnectionID] = []
        self.noteProgress(ids, &told)
        if !told.isEmpty { effects.append(.progress(self.store.head, to: told)) }
    }

    /// Adds those connections to `told` that are to be told of the head now, each once.
    private func noteProgress(_ ids: some Sequence<ConnectionID>, _ told: inout [ConnectionID]) {
        let head = self.store.head
        for id in ids {
            guard let connection = self.connections[id], !connection.isWaiting, connection.progress < head,
                !connection.views.isEmpty || !connection.changes.isEmpty,
                connection.changes.allSatisfy({ $0.cursor.revision == head })
            else { continue }
            connection.progress = head
            told.append(id)
        }
    }

    private func perform(_ input: EngineInput, now: Int64, _ effects: inout [EngineEffect]) {
        switch input {
        case .connected, .sight: break
        case .blocked(let id): self.block(id)
        case .disconnected(let id): self.disconnect(id, now: now)
        case .drained(let id): self.drain(id, now: now, &effects)
        case .tick: self.tick(now: now, &effects)
        case .pulse: self.tellPositions(&effects)
        case .read(let id, let outcome): self.take(id, outcome, now: now, &effects)
        case .request(let id, let requestID, let request):
            if self.holdForScope(id, input) { return }
            self.counters.requests += 1
            self.admit(id, requestID, request, now: now, &effects)
        }
    }

    func answer(
        _ id: ConnectionID,
        _ requestID: UInt32,
        _ request: EngineRequest,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        guard self.connections[id] != nil else { return }
        do {
            switch request {
            case .subscribe(let fetch, let resume, let atLeast):
                try self.subscribe(id, requestID, fetch, resume, atLeast: atLeast, now: now, &effects)
            case .resubscribe(let view, let fetch):
                try self.change(id, requestID, view, to: fetch, now: now, &effects)
            case .subscribeChanges(let since, let place, let entities):
                try self.subscribeChanges(id, requestID, since: since, place: place, entities, &effects)
            case .unsubscribe(let view):
                if !self.unsubscribeChanges(id, view) { try self.unsubscribe(id, view, now: now) }
                // Not held back on a connection that does not drain: the next SUBSCRIBE may get the same view, and is answered at
                // once.
                effects.append(.reply(id, requestID: requestID, .done))
            case .fetch(let fetch, let atLeast):
                try self.fetch(id, requestID, fetch, atLeast: atLeast, now: now, &effects)
            case .object(let object):
                self.reply(id, requestID, .object(try self.detail(object, self.connections[id]!.scope)), &effects)
            case .history(let before, let limit, let onlyMine):
                let entries = try self.history(id, before: before, limit: limit, onlyMine: onlyMine)
                self.reply(id, requestID, .history(entries), &effects)
            case .statistics:
                self.reply(id, requestID, .statistics(self.statistics()), &effects)
            case .explain(let fetch):
                let explanation = try self.explain(fetch, self.connections[id]!.scope)
                self.reply(id, requestID, .explanation(explanation), &effects)
            case .previewUndo(let target, let options):
                let preview = try self.preview(target, options, id, now: now)
                self.reply(id, requestID, .undoPreview(preview), &effects)
            case .undoState(let follows):
                self.reply(id, requestID, .undoState(self.undoState(id, follows: follows)), &effects)
            case .createToken(let grant, let secretHash):
                try self.createToken(id, requestID, grant, secretHash: secretHash, now: now, &effects)
            case .tokens:
                self.reply(id, requestID, .tokens(self.tokenDescriptions()), &effects)
            case .revokeToken(let number):
                try self.revokeToken(id, requestID, number, now: now, &effects)
            case .transaction, .undo, .redo, .revert, .beginGroup, .endGroup, .importSubtree:
                preconditionFailure("writes are committed before the rest is answered")
            }
        } catch let error as NestError {
            self.reply(id, requestID, .failure(error), &effects)
        } catch let error as UnreadSubtrees {
            self.holdForSubtrees(error.keys, id, requestID, request)
        } catch {
            let failure = StoreErrorBox.storeError(error)
            if failure.isFatal { self.failure = failure }
            self.reply(id, requestID, .failure(failure.nestError), &effects)
        }
    }
}

import NestModel
import NestStore
import NestProtocol
import NestSchema

/// Runs the writes of a batch in groups that share a transaction, and notes the outcome of each.
struct Commit {
    enum Outcome {
        /// The request has not run yet.
        case open
        /// The request has run, or is refused. The reply is made here and passed on as it is.
        case answered(EngineReply)
        /// The log has not answered: the request is answered later.
        case uncertain
        /// Another node leads: the request was not executed, and goes there.
        case overtaken

        /// `nil`: the request is answered later.
        var reply: EngineReply? {
            switch self {
            case .open: preconditionFailure("every request of a batch has an outcome")
            case .uncertain, .overtaken: nil
            case .answered(let reply): reply
            }
        }

        static func committed(_ receipt: consuming Receipt) -> Self { .answered(.receipt(receipt)) }

        static func refused(_ error: NestError) -> Self { .answered(.failure(error)) }
    }

    let store: Store
    let scopes: TokenScopes
    let sessions: Sessions
    let now: Int64
    /// The reason why writes are refused now. Retries of earlier writes are still answered.
    let refusal: NestError?
    let runner: RequestRunner
    let undoRunner: UndoRunner
    let isConcerned: (ChangedRow) -> Bool
    let hasDeferredChecks: Bool
    /// One outcome for each request.
    var outcomes: [Outcome]
    private(set) var changes: [ChangeSet] = []
    /// The owners that earlier groups of the batch changed. Live results see these changes only after the batch.
    private(set) var owners: Set<ObjectID> = []
    /// Whether a request of the batch needs the changed owners; otherwise they are not noted.
    private(set) var notesOwners = false
    /// Whether the changes include a bulk write, after which any owner may have changed.
    private(set) var isBulk = false
    private(set) var groupCount = 0
    /// The steps that the writes have taken so far. `costs` lists the writes that took many.
    private(set) var steps = 0
    private(set) var costs: [(connection: ConnectionID, steps: Int)] = []
    let stepsMax: Int
    /// A write of more objects is prepared first; `nil`: none is.
    let preparedObjectsMin: Int?
    /// A failure after which nothing more may be acknowledged.
    private(set) var failure: StoreError?
    /// The last group, if the log has not answered.
    private(set) var uncertain: UncertainGroup?
    /// Why the node no longer leads: the last group was overtaken, or is not on the line of the log.
    private(set) var lostLead: StoreError?
    /// Whether the log has refused the last group for now. What follows in the batch waits for the next turn: by then
    /// the ports of the refused requests are interrupted, and nothing overtakes these requests.
    private(set) var isLogUnavailable = false

    init(
        store: Store,
        scopes: TokenScopes,
        sessions: Sessions,
        now: Int64,
        refusal: NestError?,
        stepsMax: Int = Limits.turnStepsMax,
        preparedObjectsMin: Int = Limits.preparedObjectsMin,
        isConcerned: @escaping (ChangedRow) -> Bool,
        resolvePlace:
            @escaping (WriteTransaction, _ isChanged: (ObjectID) -> Bool) throws(StoreError) -> WriteTransaction
    ) {
        self.store = store
        self.scopes = scopes
        self.sessions = sessions
        self.now = now
        self.refusal = refusal
        self.stepsMax = stepsMax
        // In a cluster, and with bounds of relationships, every write runs as one piece.
        self.preparedObjectsMin = store.logState == nil && !store.layout.hasCounts ? preparedObjectsMin : nil
        self.runner = RequestRunner(store: store, scopes: scopes, resolvePlace: resolvePlace)
        self.undoRunner = UndoRunner(store: store)
        self.isConcerned = isConcerned
        self.hasDeferredChecks = store.layout.hasDeferredChecks
        self.outcomes = []
    }

    /// The state of one group until it is durable.
    struct PendingGroup {
        /// The index of its last request.
        var last: Int?
        var results: [PendingResult] = []
        /// Undo entries that are skipped from now on.
        var blocked: [(revision: Revision, session: UInt64, answer: JournalHeader?)] = []
        /// The sessions with a result or a skipped entry.
        var sessions = FewSessions()
        /// The session of the last result.
        var lastSession: UInt64?
        /// The sessions that the group saves. A group that is rolled back has saved none.
        var savedSessions: [Store.Session] = []
        /// The owners of the objects that its requests have changed.
        var owners: Set<ObjectID> = []
        /// Whether its requests include a bulk write, after which any owner may have changed.
        var isBulk = false
        /// The index in `results` of the answer to each idempotency key.
        var keys: [Key: Int] = [:]
    }

    /// The result of a request, and the index of its outcome. Not a tuple: arrays of these are destroyed with the help
    /// of their metadata, which costs more.
    struct PendingResult {
        let index: Int
        let result: WriteResult
    }

    /// A set of sessions, which takes no memory for the first: most groups are of one.
    struct FewSessions {
        private var first: UInt64?
        private var others: Set<UInt64> = []

        var isEmpty: Bool { self.first == nil }

        func contains(_ session: UInt64) -> Bool {
            session == self.first || !self.others.isEmpty && self.others.contains(session)
        }

        mutating func insert(_ session: UInt64) {
            if self.first == nil { self.first = session } else if session != self.first { self.others.insert(session) }
        }
    }

    struct Key: Hashable {
        var session: UInt64
        var key: Identifier128
    }

    /// A request to perform, the index of its outcome, and the group in which it is performed.
    struct Turn {
        let request: WriteRequest
        let index: Int
        let group: WriteGroup
    }

    /// Runs the requests in order until they have taken the steps of a turn. Returns the number of requests that have
    /// an outcome.
    mutating func run(_ requests: [WriteRequest]) -> Int {
        // Appended one by one: the initializer that repeats a value looks up the type of its elements each time.
        self.outcomes.reserveCapacity(requests.count)
        for _ in requests { self.outcomes.append(.open) }
        self.changes.reserveCapacity(requests.count)
        self.notesOwners = requests.contains { $0.traits.contains(.namesIndex) }
        var start = 0
        while start < requests.count, self.failure == nil, !self.mustStop {
            // A heavy request begins a turn of its own, so that the requests before it are answered first.
            if start > 0, self.steps >= self.stepsMax || requests[start].isHeavy { return start }
            start = self.runGroup(requests, from: start)
            if start < requests.count, requests[start].isBeingPrepared { return start }
        }
        guard let failure else { return start }
        for index in self.outcomes.indices {
            if case .open = self.outcomes[index] { self.outcomes[index] = .refused(failure.nestError) }
        }
        return requests.count
    }

    /// Whether no more groups may run in this turn.
    private var mustStop: Bool { self.uncertain != nil || self.lostLead != nil || self.isLogUnavailable }

    /// Returns the steps that a request may take at its position in the group. A possibly heavy request that follows
    /// others is only tried, with the steps of a turn; one that could be prepared is only tried, too. `isFirst`:
    /// whether no request of the group has a result yet.
    @inline(__always)
    func stepsMax(_ request: WriteRequest, isFirst: Bool) -> Int {
        var steps = request.stepsMax
        if !isFirst, request.traits.contains(.mayBeHeavy), request.preparation == nil {
            steps = min(steps, self.stepsMax)
        }
        if let preparedObjectsMin, self.isOnlyTried(request) { steps = min(steps, preparedObjectsMin) }
        return steps
    }

    /// Whether the request is to be prepared if it takes many steps.
    func isOnlyTried(_ request: WriteRequest) -> Bool {
        guard request.traits.contains(.canBePrepared), self.preparedObjectsMin != nil, case .unknown = request.stage
        else { return false }
        return true
    }

    /// Notes the steps that a write has taken.
    mutating func note(_ steps: Int, _ request: WriteRequest) {
        self.steps += steps
        if steps >= Self.noticedSteps { self.costs.append((request.connection, steps)) }
    }

    /// Writes with fewer steps do not affect the order of turns.
    private static let noticedSteps = 1_024

    /// Runs requests from `start` on in one group. Returns the index at which the next group begins.
    private mutating func runGroup(_ requests: [WriteRequest], from start: Int) -> Int {
        var pending = PendingGroup()
        let coalescing = self.sessions.coalescing
        var index = start
        do throws(StoreError) {
            let group = try self.store.beginGroup(
                time: self.now,
                alwaysSavepoint: false,
                isConcerned: self.isConcerned
            )
            self.scopes.beginGroup()
            do throws(StoreError) {
                while index < requests.count, !self.mustWait(requests[index], pending) {
                    let costCount = self.costs.count
                    if index > start, self.steps >= self.stepsMax || requests[index].isHeavy { break }
                    do throws(StoreError) {
                        let turn = Turn(request: requests[index], index: index, group: group)
                        try self.perform(turn, &pending)
                    } catch StoreError.postponed(.nextTurn) {
                        pending.last = index > start ? index - 1 : nil
                        requests[index].noteHeavy()
                        // Only completed writes count against a connection in the next turn.
                        self.costs.removeSubrange(costCount...)
                        break
                    } catch StoreError.postponed(let reason) where reason == .preparation || reason == .onePiece {
                        pending.last = index > start ? index - 1 : nil
                        requests[index].noteWaiting(forOwn: reason == .preparation)
                        self.costs.removeSubrange(costCount...)
                        break
                    }
                    index += 1
                }
                try group.commit()
            } catch {
                self.scopes.rollBackGroup()
                try group.rollback()
                throw error
            }
            self.scopes.endGroup()
            self.groupCount += 1
            self.accept(pending, requests)
            return index
        } catch StoreError.retryIndividually(let cause) {
            self.sessions.coalescing = coalescing
            return self.runOneByOne(requests, from: start, cause: cause)
        } catch StoreError.uncertain {
            self.wait(pending, requests, start..<index, coalescing)
            return index
        } catch {
            self.sessions.coalescing = coalescing
            let end = self.end(requests, from: start, pending)
            self.fail(error, start..<end)
            return end
        }
    }

    /// Returns the end of a failed group, which reached at least the request after the last one with an outcome.
    private func end(_ requests: [WriteRequest], from start: Int, _ pending: PendingGroup) -> Int {
        min(max((pending.last ?? start) + 1, start + 1), requests.count)
    }

    /// Whether a request must wait until the open group is durable. An undo needs the writes of its session in the
    /// journal, and those of all sessions if it rehomes. The same holds for a precondition that is checked against the
    /// journal.
    private func mustWait(_ request: WriteRequest, _ pending: PendingGroup) -> Bool {
        if let limit = request.preconditionLimit, !pending.results.isEmpty {
            return self.store.layout.hidesChanges(limit, ofAnyOf: request.transaction.preconditions)
        }
        guard request.traits.contains(.isRevert) else { return false }
        return pending.sessions.contains(request.session)
            || request.traits.contains(.rehomes) && !pending.sessions.isEmpty
    }

    /// Retries the requests of a failed group individually, each in a transaction of its own.
    private mutating func runOneByOne(
        _ requests: [WriteRequest],
        from start: Int,
        cause: StoreError
    ) -> Int {
        let end = min(start + Limits.requestsPerCommitMax, requests.count)
        for index in start..<end where self.failure == nil {
            if self.mustStop { return index }
            var pending = PendingGroup()
            let coalescing = self.sessions.coalescing
            let costCount = self.costs.count
            do throws(StoreError) {
                let group = try self.store.beginGroup(
                    time: self.now,
                    alwaysSavepoint: true,
                    isConcerned: self.isConcerned
                )
                self.scopes.beginGroup()
                do throws(StoreError) {
                    try self.perform(.init(request: requests[index], index: index, group: group), &pending)
                    try group.commit()
                } catch {
                    self.scopes.rollBackGroup()
                    try group.rollback()
                    throw error
                }
                self.scopes.endGroup()
                self.groupCount += 1
                self.accept(pending, requests)
            } catch StoreError.retryIndividually(let cause) {
                self.sessions.coalescing = coalescing
                self.fail(cause, index..<(index + 1))
            } catch StoreError.postponed(let reason) where [.preparation, .onePiece, .nextTurn].contains(reason) {
                self.sessions.coalescing = coalescing
                self.costs.removeSubrange(costCount...)
                if reason == .nextTurn {
                    requests[index].noteHeavy()
                } else {
                    requests[index].noteWaiting(forOwn: reason == .preparation)
                }
                return index
            } catch StoreError.uncertain {
                self.wait(pending, requests, index..<(index + 1), coalescing)
            } catch {
                self.sessions.coalescing = coalescing
                self.fail(error, index..<(index + 1))
            }
        }
        return end
    }

    private mutating func accept(_ pending: PendingGroup, _ requests: [WriteRequest]) {
        if !pending.owners.isEmpty { self.owners.formUnion(pending.owners) }
        self.sessions.record(pending.results.count) { pending.results[$0].result.header }
        for index in pending.results.indices {
            let changes = pending.results[index].result.changes
            if changes.blockCount > 0 { self.isBulk = true }
            self.changes.append(changes)
        }
        self.noteReceipts(pending, requests)
        for session in pending.savedSessions { self.sessions.noteSaved(session) }
        for (revision, session, answer) in pending.blocked { self.sessions.block(revision, session, answer: answer) }
    }

    private mutating func noteReceipts(_ pending: PendingGroup, _ requests: [WriteRequest]) {
        for position in pending.results.indices {
            let index = pending.results[position].index
            // An undo may have become several transactions: they are consecutive, and the last one is the answer.
            guard position + 1 == pending.results.count || pending.results[position + 1].index != index else {
                continue
            }
            var first = position
            while first > 0, pending.results[first - 1].index == index { first -= 1 }
            let header = pending.results[position].result.header
            var receipt = Receipt(header)
            receipt.revisionCount = position - first + 1
            requests[index].scope.hide(from: &receipt, madeIn: header.scope)
            self.outcomes[index] = .committed(consume receipt)
        }
    }

    /// Keeps the requests of a group whose record may be in the log: they are answered when that is known.
    /// `coalescing`: the state before the group.
    private mutating func wait(
        _ pending: PendingGroup,
        _ requests: [WriteRequest],
        _ range: Range<Int>,
        _ coalescing: UndoCoalescing
    ) {
        self.noteReceipts(pending, requests)
        self.uncertain = UncertainGroup(
            requests: Array(requests[range]),
            outcomes: Array(self.outcomes[range]),
            coalescing: self.sessions.coalescing
        )
        self.sessions.coalescing = coalescing
        for index in range { self.outcomes[index] = .uncertain }
    }

    private mutating func fail(_ error: StoreError, _ range: Range<Int>) {
        if error.isFatal { self.failure = error }
        var outcome = Outcome.refused(error.nestError)
        switch error {
        case .overtaken: (self.lostLead, outcome) = (error, .overtaken)
        case .offTheLog: self.lostLead = error
        default: self.isLogUnavailable = error.refusal?.code == .logUnavailable
        }
        for index in range { self.outcomes[index] = outcome }
    }
}

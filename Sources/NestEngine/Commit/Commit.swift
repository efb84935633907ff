import NestModel
import NestStore

/// Runs the writes of a batch in groups that share a transaction, and tells what came of each.
struct Commit {
    enum Outcome {
        /// Its turn has not come.
        case open
        case committed(Receipt)
        case refused(NestError)
        /// A group was begun or joined.
        case group(UInt64)
        /// A group was ended or left.
        case done
    }

    let store: Store
    let scopes: TokenScopes
    let now: Int64
    /// Why nothing may be written now; what was written before is answered.
    let refusal: NestError?
    let runner: RequestRunner
    let undoRunner: UndoRunner
    let isConcerned: (TouchedObject) -> Bool
    let isJudgedLate: Bool
    /// One for each request.
    var outcomes: [Outcome]
    private(set) var changes: [ChangeSet] = []
    /// Owners that earlier groups of the batch have touched: live results are told of them only when it is over.
    private(set) var owners: Set<ObjectID> = []
    /// Some request of the batch asks what has been touched: otherwise nobody need know.
    private(set) var notesOwners = false
    /// A bulk write is among them: any owner may have been touched.
    private(set) var isBulk = false
    private(set) var groupCount = 0
    /// What the writes so far have cost, and those that have cost much.
    private(set) var steps = 0
    private(set) var costs: [(connection: ConnectionID, steps: Int)] = []
    private let stepsMax: Int
    /// A failure after which nothing more may be acknowledged.
    private(set) var failure: StoreError?

    init(
        store: Store,
        scopes: TokenScopes,
        now: Int64,
        refusal: NestError?,
        stepsMax: Int = Limits.turnStepsMax,
        isConcerned: @escaping (TouchedObject) -> Bool,
        resolvePlace: @escaping (Transaction, _ isTouched: (ObjectID) -> Bool) throws -> Transaction
    ) {
        self.store = store
        self.scopes = scopes
        self.now = now
        self.refusal = refusal
        self.stepsMax = stepsMax
        self.runner = RequestRunner(store: store, scopes: scopes, resolvePlace: resolvePlace)
        self.undoRunner = UndoRunner(store: store)
        self.isConcerned = isConcerned
        self.isJudgedLate = store.layout.isJudgedLate
        self.outcomes = []
    }

    /// What one group holds until it is durable.
    struct Pending {
        var indexes: [Int] = []
        var results: [(index: Int, result: WriteResult)] = []
        /// Undo entries that are passed over from now on.
        var blocked: [(revision: Revision, session: UInt64, answer: JournalHeader?)] = []
        var sessions: Set<UInt64> = []
        var savedSessions: [Store.Session] = []
        /// Owners of the objects that its requests have touched.
        var owners: Set<ObjectID> = []
        /// A bulk write is among its requests: any owner may have been touched.
        var isBulk = false
        /// Where in `results` the answer to a key is.
        var keys: [Key: Int] = [:]
    }

    struct Key: Hashable {
        var session: UInt64
        var key: Identifier128
    }

    /// A request whose turn it is, where its outcome goes, and the group that it is done in.
    struct Turn {
        let request: WriteRequest
        let index: Int
        let group: WriteGroup
    }

    /// Runs the requests in order until they have taken the steps of a turn; answers how many have their outcome.
    mutating func run(_ requests: [WriteRequest], sessions: inout Sessions) -> Int {
        self.outcomes = [Outcome](repeating: .open, count: requests.count)
        self.changes.reserveCapacity(requests.count)
        self.notesOwners = requests.contains { $0.namesIndex }
        var start = 0
        while start < requests.count, self.failure == nil {
            // One that takes long begins a turn, so that those before it are answered first.
            if start > 0, self.steps >= self.stepsMax || requests[start].isHeavy { return start }
            start = self.runGroup(requests, from: start, sessions: &sessions)
        }
        guard let failure else { return start }
        for index in self.outcomes.indices {
            if case .open = self.outcomes[index] { self.outcomes[index] = .refused(failure.nestError) }
        }
        return requests.count
    }

    /// A request behind others of its group has cost so much that those would wait for it: nothing of it is left in the group.
    struct TakesLong: Error {}

    /// What a request may cost where it stands. Behind others, one that may be heavy is tried only.
    func stepsMax(_ request: WriteRequest, _ pending: Pending) -> Int {
        guard !pending.results.isEmpty, request.mayBeHeavy else { return request.stepsMax }
        return min(request.stepsMax, self.stepsMax)
    }

    /// A write has cost so many steps.
    mutating func note(_ steps: Int, _ request: WriteRequest) {
        self.steps += steps
        if steps >= Self.noticedSteps { self.costs.append((request.connection, steps)) }
    }

    /// What costs less changes nobody's turn.
    private static let noticedSteps = 1_024

    /// Runs requests from `start` in one group; answers where the next group begins.
    private mutating func runGroup(_ requests: [WriteRequest], from start: Int, sessions: inout Sessions) -> Int {
        var pending = Pending()
        let joins = sessions.joins
        do {
            let group = try self.store.beginGroup(
                time: self.now,
                alwaysSavepoint: false,
                isConcerned: self.isConcerned
            )
            self.scopes.beginGroup()
            var index = start
            do {
                while index < requests.count, !self.mustWait(requests[index], pending) {
                    if index > start, self.steps >= self.stepsMax || requests[index].isHeavy { break }
                    do {
                        let turn = Turn(request: requests[index], index: index, group: group)
                        try self.perform(turn, &pending, &sessions)
                    } catch is TakesLong {
                        pending.indexes.removeLast()
                        requests[index].noteHeavy()
                        // Only what was done costs a connection its place in the next turn.
                        self.costs.removeLast()
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
            self.accept(pending, requests, &sessions)
            return index
        } catch let spoiled as WriteGroup.Spoiled {
            sessions.joins = joins
            return self.runOneByOne(requests, from: start, cause: spoiled.cause, sessions: &sessions)
        } catch {
            sessions.joins = joins
            let end = self.end(requests, from: start, pending)
            self.fail(error, start..<end)
            return end
        }
    }

    /// The group that failed reached at least the request after the last it answered.
    private func end(_ requests: [WriteRequest], from start: Int, _ pending: Pending) -> Int {
        min(max((pending.indexes.last ?? start) + 1, start + 1), requests.count)
    }

    /// An undo needs the journal to have what its session wrote, and to rehome what all wrote: it waits for the group
    /// before it. So does a precondition that is judged by the journal.
    private func mustWait(_ request: WriteRequest, _ pending: Pending) -> Bool {
        if let limit = request.preconditionLimit, !pending.results.isEmpty {
            return self.store.layout.hidesChanges(limit, ofAnyOf: request.preconditions)
        }
        guard request.isRevert else { return false }
        return pending.sessions.contains(request.session) || request.rehomes && !pending.sessions.isEmpty
    }

    /// After a failure inside a group, each of its requests gets a transaction of its own.
    private mutating func runOneByOne(
        _ requests: [WriteRequest],
        from start: Int,
        cause: any Error,
        sessions: inout Sessions
    ) -> Int {
        let end = min(start + Limits.requestsPerCommitMax, requests.count)
        for index in start..<end where self.failure == nil {
            var pending = Pending()
            let joins = sessions.joins
            do {
                let group = try self.store.beginGroup(
                    time: self.now,
                    alwaysSavepoint: true,
                    isConcerned: self.isConcerned
                )
                self.scopes.beginGroup()
                do {
                    try self.perform(.init(request: requests[index], index: index, group: group), &pending, &sessions)
                    try group.commit()
                } catch {
                    self.scopes.rollBackGroup()
                    try group.rollback()
                    throw error
                }
                self.scopes.endGroup()
                self.groupCount += 1
                self.accept(pending, requests, &sessions)
            } catch let spoiled as WriteGroup.Spoiled {
                sessions.joins = joins
                self.fail(spoiled.cause, index..<(index + 1))
            } catch {
                sessions.joins = joins
                self.fail(error, index..<(index + 1))
            }
        }
        return end
    }

    private mutating func accept(_ pending: Pending, _ requests: [WriteRequest], _ sessions: inout Sessions) {
        self.owners.formUnion(pending.owners)
        for position in pending.results.indices {
            let (index, result) = pending.results[position]
            sessions.record(result.header)
            self.changes.append(result.changes)
            if result.changes.blockCount > 0 { self.isBulk = true }
            // An undo may have become several: they follow one another, and the last one answers.
            guard position + 1 == pending.results.count || pending.results[position + 1].index != index else {
                continue
            }
            var receipt = requests[index].scope.shown(Receipt(result.header), madeIn: result.header.scope)
            var first = position
            while first > 0, pending.results[first - 1].index == index { first -= 1 }
            receipt.revisionCount = position - first + 1
            self.outcomes[index] = .committed(receipt)
        }
        for session in pending.savedSessions { sessions.noteSaved(session) }
        for (revision, session, answer) in pending.blocked { sessions.block(revision, session, answer: answer) }
    }

    private mutating func fail(_ error: any Error, _ range: Range<Int>) {
        let refusal: NestError
        if let error = error as? NestError {
            refusal = error
        } else {
            let failure = StoreErrorBox.storeError(error)
            refusal = failure.nestError
            if failure.isFatal { self.failure = failure }
        }
        for index in range { self.outcomes[index] = .refused(refusal) }
    }
}

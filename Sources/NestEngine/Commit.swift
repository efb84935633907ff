import NestModel
import NestStore

/// Runs the writes of a batch in groups that share a transaction, and tells what came of each.
struct Commit {
    enum Outcome {
        case committed(Receipt)
        case refused(NestError)
        /// A group was begun or joined.
        case group(UInt64)
        /// A group was ended or left.
        case done
    }

    let store: Store
    let now: Int64
    private let runner: RequestRunner
    private let undoRunner: UndoRunner
    private let isConcerned: (TouchedObject) -> Bool
    private let isJudgedLate: Bool
    private var outcomes: [Outcome?]
    private(set) var changes: [ChangeSet] = []
    /// Owners that earlier groups of the batch have touched: live results are told of them only when it is over.
    private var owners: Set<ObjectID> = []
    /// Some request of the batch asks what has been touched: otherwise nobody need know.
    private var notesOwners = false
    /// A bulk write is among them: any owner may have been touched.
    private var isBulk = false
    private(set) var groupCount = 0
    /// A failure after which nothing more may be acknowledged.
    private(set) var failure: StoreError?

    init(
        store: Store,
        now: Int64,
        isConcerned: @escaping (TouchedObject) -> Bool,
        resolvePlace: @escaping (Transaction, _ isTouched: (ObjectID) -> Bool) throws -> Transaction
    ) {
        self.store = store
        self.now = now
        self.runner = RequestRunner(store: store, resolvePlace: resolvePlace)
        self.undoRunner = UndoRunner(store: store)
        self.isConcerned = isConcerned
        self.isJudgedLate = store.layout.isJudgedLate
        self.outcomes = []
    }

    /// What one group holds until it is durable.
    private struct Pending {
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

    private struct Key: Hashable {
        var session: UInt64
        var key: Identifier128
    }

    /// Runs the requests in order; one outcome each.
    mutating func run(_ requests: [WriteRequest], sessions: inout Sessions) -> [Outcome] {
        self.outcomes = [Outcome?](repeating: nil, count: requests.count)
        self.changes.reserveCapacity(requests.count)
        self.notesOwners = requests.contains { $0.namesIndex }
        var start = 0
        while start < requests.count, self.failure == nil {
            start = self.runGroup(requests, from: start, sessions: &sessions)
        }
        return self.outcomes.map { $0 ?? .refused(self.failure?.nestError ?? Self.notExecuted) }
    }

    private static let notExecuted = NestError(.storageFailure, "the store has failed; the server is stopping")

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
            var index = start
            do {
                while index < requests.count, !self.mustWait(requests[index], pending) {
                    try self.perform(requests[index], index, group, &pending, &sessions)
                    index += 1
                }
                try group.commit()
            } catch {
                try group.rollback()
                throw error
            }
            self.groupCount += 1
            self.accept(pending, &sessions)
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
    /// before it.
    private func mustWait(_ request: WriteRequest, _ pending: Pending) -> Bool {
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
                do {
                    try self.perform(requests[index], index, group, &pending, &sessions)
                    try group.commit()
                } catch {
                    try group.rollback()
                    throw error
                }
                self.groupCount += 1
                self.accept(pending, &sessions)
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

    private mutating func accept(_ pending: Pending, _ sessions: inout Sessions) {
        self.owners.formUnion(pending.owners)
        for (position, (index, result)) in pending.results.enumerated() {
            sessions.record(result.header)
            self.changes.append(result.changes)
            if result.changes.blockCount > 0 { self.isBulk = true }
            // An undo may have become several: they follow one another, and the last one answers.
            guard position + 1 == pending.results.count || pending.results[position + 1].index != index else {
                continue
            }
            var receipt = Receipt(result.header)
            receipt.revisionCount = pending.results[..<position].reversed().prefix { $0.index == index }.count + 1
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

    /// Performs one request in the open group. Refusals become outcomes; failures of storage are thrown.
    private mutating func perform(
        _ request: WriteRequest,
        _ index: Int,
        _ group: WriteGroup,
        _ pending: inout Pending,
        _ sessions: inout Sessions
    ) throws {
        pending.indexes.append(index)
        do {
            if let receipt = try self.earlierAnswer(request, pending, sessions) {
                self.outcomes[index] = .committed(receipt)
                return
            }
            switch request.operation {
            case .beginGroup(let name, let joined):
                let number = try sessions.joins.begin(
                    request.connection,
                    session: request.session,
                    name: name,
                    joined: joined,
                    now: self.now
                )
                sessions.changed.insert(request.session)
                self.outcomes[index] = .group(number)
            case .endGroup:
                sessions.changed.insert(request.session)
                guard sessions.joins.end(request.connection, now: self.now) else {
                    throw NestError(.notFound, "there is no open group on this connection: it has ended or timed out")
                }
                self.outcomes[index] = .done
            case .transaction, .importSubtree:
                try self.write(request, index, group, &pending, &sessions)
            case .undo(let options, let expected):
                try self.undo(.undo, options, expected: expected, request, index, group, &pending, &sessions)
            case .redo(let options, let expected):
                try self.undo(.redo, options, expected: expected, request, index, group, &pending, &sessions)
            case .revert(let options, let revision, let ofAnyone):
                let target = UndoTarget.revert(revision, ofAnyone: ofAnyone)
                try self.undo(target, options, expected: nil, request, index, group, &pending, &sessions)
            }
        } catch let error as NestError {
            self.outcomes[index] = .refused(error)
        }
    }

    private mutating func write(
        _ request: WriteRequest,
        _ index: Int,
        _ group: WriteGroup,
        _ pending: inout Pending,
        _ sessions: inout Sessions
    ) throws {
        // Only a place by index asks what has been touched; the sets are not copied for the rest.
        let asks = request.namesIndex
        let isBulk = !asks || self.isBulk || pending.isBulk
        let owners = asks ? pending.owners.union(self.owners) : []
        var found: [Receipt.Run] = []
        let needsSavepoint = request.needsSavepoint(isJudgedLate: self.isJudgedLate)
        let coalescing = request.coalescing
        var entry = sessions.joins.entry(of: request.connection, session: request.session, coalescing, now: self.now)
        // It may have been undone, or passed over, since: then there is nothing to join.
        if let first = entry, first <= self.store.head, !sessions[request.session].canJoin(first) { entry = nil }
        let groupName = sessions.joins.group(of: request.connection)?.name
        // Not `self` and `sessions`: what a closure uses of them is copied whole.
        let runner = self.runner
        let result = try group.request(inSavepoint: needsSavepoint) { graph in
            let description = try runner.run(request, graph, entry: entry, groupName: groupName) {
                isBulk || owners.contains($0)
            }
            found = description.results.filter(\.isFound)
            return description
        }
        guard let result else {
            // Nothing is kept of it under an idempotency key either: a retry is evaluated again, as it wrote nothing.
            self.outcomes[index] = .committed(Receipt(revision: group.revision, isChanged: false, results: found))
            return
        }
        sessions.joins.note(
            result.header.revision,
            partOf: entry,
            request.connection,
            session: request.session,
            coalescing,
            now: self.now
        )
        try self.take(result, request, index, &pending, &sessions)
    }

    private mutating func undo(
        _ target: UndoTarget,
        _ options: UndoOptions,
        expected: Revision?,
        _ request: WriteRequest,
        _ index: Int,
        _ group: WriteGroup,
        _ pending: inout Pending,
        _ sessions: inout Sessions
    ) throws {
        if sessions.joins.leave(request.connection) { sessions.changed.insert(request.session) }
        let runner = self.undoRunner
        let stacks = sessions[request.session]
        let work = try runner.work(target, options, expected: expected, request.session, stacks)
        let description = WriteDescription(
            name: work.name,
            key: nil,
            requestHash: request.requestHash,
            sessionNumber: request.session
        )
        var (results, conflicts) = try group.together {
            try runner.run(work, description) { try group.request(inSavepoint: true, $0) }
        }
        guard !results.isEmpty else {
            if let entry = work.entry {
                let answer = request.key.map { key in
                    JournalHeader(
                        revision: group.revision,
                        time: self.now,
                        sessionNumber: request.session,
                        kind: work.kind,
                        reverted: nil,
                        name: work.name,
                        key: key,
                        requestHash: request.requestHash,
                        results: [],
                        conflicts: conflicts
                    )
                }
                try group.block(entry, answer: answer)
                pending.blocked.append((entry, request.session, answer))
                pending.sessions.insert(request.session)
            }
            self.outcomes[index] = .committed(
                Receipt(revision: group.revision, isChanged: false, name: work.name, conflicts: conflicts)
            )
            return
        }
        sessions.joins.breakTyping(request.session)
        results[results.count - 1].header = group.completeLast(key: request.key, conflicts: conflicts)
        for result in results { try self.take(result, request, index, &pending, &sessions) }
    }

    /// Notes what a request has become, until its group is durable.
    private mutating func take(
        _ result: WriteResult,
        _ request: WriteRequest,
        _ index: Int,
        _ pending: inout Pending,
        _ sessions: inout Sessions
    ) throws {
        // Only with an entry of the session: its number and the entry become durable together, or neither does.
        if let session = sessions.unsaved(request.session, now: self.now) {
            try self.store.saveSession(session)
            pending.savedSessions.append(session)
        }
        if let key = result.header.key { pending.keys[Key(session: request.session, key: key)] = pending.results.count }
        pending.results.append((index, result))
        pending.sessions.insert(request.session)
        if result.changes.blockCount > 0 { pending.isBulk = true }
        guard self.notesOwners else { return }
        for object in result.changes.touched { Self.noteOwners(object, &pending.owners) }
    }

    private static func noteOwners(_ object: TouchedObject, _ owners: inout Set<ObjectID>) {
        for row in [object.before, object.after] {
            for value in row?.values ?? [] {
                if let owner = value.referenceValue { owners.insert(owner) }
            }
        }
    }

    private func earlierAnswer(_ request: WriteRequest, _ pending: Pending, _ sessions: Sessions) throws(NestError)
        -> Receipt?
    {
        guard let key = request.key else { return nil }
        if let receipt = try sessions.keys.receipt(session: request.session, key: key, requestHash: request.requestHash)
        {
            return receipt
        }
        guard let index = pending.keys[Key(session: request.session, key: key)] else { return nil }
        let header = pending.results[index].result.header
        guard header.requestHash == request.requestHash else { throw KeyIndex.reused }
        var receipt = Receipt(header)
        receipt.isReplayed = true
        return receipt
    }
}

/// Tells failures of storage from the rest.
enum StoreErrorBox {
    static func storeError(_ error: any Error) -> StoreError {
        (error as? StoreError) ?? .sqlite(code: 1, message: "\(error)")
    }
}

extension StoreError {
    /// After these nothing may be acknowledged any more: what has reached the disk is not known.
    var isFatal: Bool {
        switch self {
        case .sqlite(let code, _):
            // IOERR, CORRUPT, NOTADB
            [10, 11, 26].contains(code & 0xff)
        case .corrupt:
            true
        default:
            false
        }
    }
}

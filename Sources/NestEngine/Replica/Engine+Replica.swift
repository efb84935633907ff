import DequeModule
import NestModel
import NestProtocol
import NestSchema
import NestStore

/// The engine as a node of a cluster: it applies what the leader wrote, and pushes it as its own commits.
extension Engine {
    /// Handles the inputs from the log. Returns whether the writes of this turn may be committed; otherwise they are
    /// refused, or wait.
    func takesWrites(
        _ replica: EngineReplica,
        _ writes: inout [WriteRequest],
        _ later: inout [EngineInput],
        now: Int64,
        _ effects: inout [EngineEffect]
    ) -> Bool {
        let wasLeading = replica.isLeading
        replica.isAtMark = false
        let hasPushed = self.handle(replica, now: now, &effects)
        guard replica.isLeading else {
            self.forwardAll(replica, writes, &later, &effects)
            writes = []
            return false
        }
        for write in replica.takeOvertaken() { self.renew(write) }
        guard wasLeading else {
            // They came when this node did not lead: their sessions have other numbers now.
            for write in writes { self.renew(write) }
            self.turns.hold(&later)
            writes = []
            return false
        }
        if let refusal = replica.refusal {
            self.refuseWaiting(refusal, writes, &later, &effects)
            writes = []
            return false
        }
        guard hasPushed || !replica.takesWrites else { return true }
        for id in self.turns.putBack(writes[...], &later) { self.connections.changed.note(id) }
        writes = []
        return false
    }

    /// Handles the inputs from the log in their order, up to the work limit of one turn. Returns whether changes were
    /// pushed.
    private func handle(_ replica: EngineReplica, now: Int64, _ effects: inout [EngineEffect]) -> Bool {
        guard !replica.inputs.isEmpty else { return false }
        var push = AppliedPush(self)
        while !replica.hasEnded, self.health.failure == nil, push.hasWorkLeft, let input = replica.inputs.popFirst() {
            switch input {
            case .entries(let entries): self.apply(entries, replica, &push, now: now, &effects)
            case .lead(let writer, let server, let historyID):
                self.lead(replica, as: writer, server, historyID, &push, now: now, &effects)
            case .confirm: self.confirm(replica, &effects)
            case .follow: self.follow(replica, &effects)
            case .leader(let address): replica.leader = address
            case .resolved(let outcome, let position):
                self.settle(replica, outcome, of: position, &push, now: now, &effects)
            case .head(let number, let answer): self.refuse(replica.reads.take(number, answer), &effects)
            case .unanswered: self.giveUp(replica, &effects)
            case .mark(let number): replica.marks.append(number)
            case .link(let event): self.take(event, replica, now: now)
            }
        }
        if replica.hasEnded { replica.inputs = [] }
        defer { if !replica.isLeading { replica.report(at: self.store.logState, &effects) } }
        let hasPushed = self.finish(push, now: now, &effects)
        self.answerForwards(push.forwarded, replica, &effects)
        return hasPushed
    }

    /// Pushes what a turn has applied, and sends the receipts of a settled group. Returns whether there was anything.
    private func finish(_ push: AppliedPush, now: Int64, _ effects: inout [EngineEffect]) -> Bool {
        guard !push.isEmpty else { return false }
        self.store.noteCommitted(push.changes)
        if let group = push.settled {
            OwnRevisions(connections: self.connections).push(of: group.requests, group.outcomes, &effects)
        }
        OwnRevisions(connections: self.connections).push(of: push.forwarded, &effects)
        let writers = (push.settled?.requests.map(\.connection) ?? []) + push.forwarded.map(\.id)
        self.push(push.changes, push.bulk, base: push.base, writers: writers, now: now, &effects)
        if let group = push.settled, push.answersSettled { self.answer(group, &effects) }
        return true
    }

    private func answer(_ group: UncertainGroup, _ effects: inout [EngineEffect]) {
        for (write, outcome) in zip(group.requests, group.outcomes) {
            guard let reply = outcome.reply else { continue }
            self.replies.send(reply, write.connection, write.requestID, &effects)
        }
    }

    // MARK: Applying

    private func apply(
        _ entries: [LogEntry],
        _ replica: EngineReplica,
        _ push: inout AppliedPush,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        // While a record's fate is open the store cannot move; the machine reads them again.
        guard replica.open == nil else { return }
        for (index, entry) in entries.enumerated() {
            guard let position = self.store.logState?.position.position else { return }
            if entry.position.position <= position { continue }
            // Another node has written: this one no longer leads.
            if replica.isLeading || replica.isElected { self.follow(replica, &effects) }
            // Some before it did not come or were not applied: the machine reads them in the log.
            guard entry.position.position == position + 1 else { return }
            guard push.hasWorkLeft else {
                replica.inputs.prepend(.entries(Array(entries[index...])))
                return
            }
            let applied: AppliedRecord
            do throws(StoreError) {
                let bulk = push.bulk
                applied = try self.store.apply(entry, isConcerned: { bulk.note($0) })
            } catch {
                return self.stopApplying(error, replica, &effects)
            }
            do throws(StoreError) {
                try self.take(applied, replica, &push, now: now, &effects)
            } catch {
                // The store has the record, and is not given it again: its changes would never be pushed.
                return self.health.fail(error)
            }
            if replica.hasEnded { return }
        }
    }

    private func stopApplying(_ error: StoreError, _ replica: EngineReplica, _ effects: inout [EngineEffect]) {
        // The machine reads on from here.
        replica.report(at: self.store.logState, &effects)
        switch error {
        case .diverged(let reason): return self.diverge(replica, because: reason, &effects)
        // The machine finds out whether the record is damaged, or the store is on another line.
        case .logDamaged(let reason): return replica.report(.damaged(reason), &effects)
        default: break
        }
        if error.isFatal { return self.health.fail(error) }
        // For example a full disk: the store stays where it is, and the machine reads the record again.
        replica.report(.applyFailed(error.nestError), &effects)
    }

    /// Takes a record over that the store has applied: sessions, keys, undo stacks, tokens, scopes.
    func take(
        _ applied: AppliedRecord,
        _ replica: EngineReplica,
        restoresRuns: Bool = true,
        _ push: inout AppliedPush,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        for case .session(let session) in applied.record.notes {
            self.sessions.take(session)
            self.connections.number(session.id, session.number)
        }
        for header in applied.headers {
            self.sessions.record(header)
            if restoresRuns { self.sessions.coalescing.restore(header) }
        }
        for (revision, answer) in applied.blocked {
            guard let header = try self.store.pastTransaction(revision)?.header else { continue }
            self.sessions.block(revision, header.sessionNumber, answer: answer)
        }
        self.match(applied, replica, &push)
        for note in applied.record.notes { self.take(note, now: now, &effects) }
        self.scopes.take(applied: applied.changes)
        push.append(applied)
        if applied.record.kind == .mark {
            replica.report(.marked(applied.position), &effects)
            replica.isAtMark = true
            push.endTurn()
        }
        if let reopening = applied.reopen.map(ReplicaReopening.init) {
            self.sessions.follow()
            replica.set(.ended)
            replica.report(at: self.store.logState, &effects)
            replica.report(.mustReopen(reopening), &effects)
        }
    }

    private func take(_ note: LogNote, now: Int64, _ effects: inout [EngineEffect]) {
        switch note {
        case .session, .blocked, .reserved, .value, .dropArriving, .dropValues, .leader: break
        case .forgetSessions(let numbers):
            let forgotten = Set(numbers)
            for number in numbers { self.sessions.drop(number) }
            self.connections.removeNumbers { forgotten.contains($0) }
        case .tokenCreated(let token):
            self.tokens.add(token)
            effects.append(.tokensChanged(.created(token), by: nil))
            self.matchToken(note, &effects)
        case .tokenRevoked(let number):
            self.tokens.remove(number)
            effects.append(.tokensChanged(.revoked(number), by: nil))
            // Before the connection of a client that revokes its own token ends.
            self.matchToken(note, &effects)
            self.endConnections(ofToken: number, now: now, &effects)
        case .trim(let revision):
            self.sessions.dropJournal(through: revision)
        }
    }

    // MARK: Refusals

    /// Refuses writes; retries of writes that are in the journal get their receipts.
    func refuse(_ writes: [WriteRequest], _ error: NestError, _ effects: inout [EngineEffect]) {
        for write in writes {
            if write.portGroup != nil { self.replica?.interrupt(write.connection, error) }
            let answer = self.earlierAnswer(to: write)
            if answer != nil { self.progress.push(to: CollectionOfOne(write.connection), &effects) }
            self.replies.send(answer ?? .failure(error), write.connection, write.requestID, &effects)
        }
    }

    /// Refuses the writes of interrupted ports.
    func refuseInterrupted(_ replica: EngineReplica, _ writes: inout [WriteRequest], _ effects: inout [EngineEffect]) {
        let isInterrupted = { (write: WriteRequest) in replica.isInterrupted(write.connection) }
        self.refuse(writes.filter(isInterrupted), EngineReplica.unavailable, &effects)
        writes.removeAll(where: isInterrupted)
    }

    /// Lets a write wait for its turn, with the present number of its session.
    private func renew(_ write: WriteRequest) {
        guard let connection = self.connections[write.connection] else { return }
        let (request, limits) = (write.request, self.limits)
        let renewed = WriteRequest.from(request, connection, write.requestID, limits, portGroup: write.portGroup)
        if let renewed { self.turns.append(.write(renewed), of: write.connection) }
    }

    func earlierAnswer(to write: WriteRequest) -> EngineReply? {
        do throws(StoreError) {
            return try self.sessions.keys.receipt(
                session: self.connections[write.connection]?.session ?? write.session,
                key: write.key,
                requestHash: write.requestHash,
                write.scope
            ).map { .receipt($0) }
        } catch {
            return .failure(error.nestError)
        }
    }

    /// Refuses the writes of a batch and all that waited for their turn; the other requests of these connections go on.
    private func refuseWaiting(
        _ refusal: NestError,
        _ writes: [WriteRequest],
        _ later: inout [EngineInput],
        _ effects: inout [EngineEffect]
    ) {
        var others: [EngineInput] = []
        for (id, items) in self.turns.takeAll() {
            self.connections.changed.note(id)
            for item in items {
                switch item {
                case .write(let write): self.refuse([write], refusal, &effects)
                case .other(let input): others.append(input)
                }
            }
        }
        self.refuse(writes, refusal, &effects)
        later = others + later
    }
}

/// The changes that a turn has applied, to be pushed together.
struct AppliedPush {
    typealias Forwarded = (id: ConnectionID, forward: PendingForward, receipt: Receipt)

    /// The head before the first change.
    let base: Revision
    let bulk: BulkConcern
    private(set) var changes: [ChangeSet] = []
    /// The requests of the node's own group whose fate became known.
    var settled: UncertainGroup?
    /// The forwards of this node that the records answer.
    var forwarded: [Forwarded] = []
    /// Whether these requests still wait for their answers.
    var answersSettled = true
    private var work = 0
    private static let workMax = 8_192

    init(_ engine: Engine) {
        self.base = engine.store.head
        self.bulk = BulkConcern(
            engine.queries.live.registry,
            engine.store.layout,
            outlineTables: engine.queries.outlines.tables
        )
    }

    var isEmpty: Bool { self.changes.isEmpty && self.settled == nil && self.forwarded.isEmpty }
    /// Whether the turn may apply more records.
    var hasWorkLeft: Bool { self.work < Self.workMax }

    mutating func append(_ applied: AppliedRecord) {
        self.changes += applied.changes
        self.work += 8 + applied.changes.reduce(0) { $0 + $1.changedRows.count }
        // Live results read the blocks of bulk writes again: no other record joins them.
        if applied.record.blockCount > 0 { self.endTurn() }
    }

    mutating func endTurn() { self.work = Self.workMax }
}

extension ReplicaReopening {
    fileprivate init(_ reason: ReopenReason) {
        switch reason {
        case .historyRenewed: self = .newHistory
        case .cut: self = .cut
        }
    }
}

import NestModel
import NestProtocol
import NestStore

/// The engine as the leader of a cluster, and what becomes of its writes when it no longer leads.
extension Engine {
    // MARK: Leading and following

    func lead(
        _ replica: EngineReplica,
        as writer: LogRecord.Writer,
        _ server: LogServer,
        _ historyID: Identifier128?,
        _ push: inout AppliedPush,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        guard replica.open == nil else { return }
        do throws(StoreError) {
            let applied = try self.store.lead(
                as: writer,
                server: server,
                historyID: historyID ?? self.store.historyID,
                now: now
            )
            self.begin(replica, applied, &effects)
        } catch {
            self.note(error, replica, .lead, &effects)
        }
    }

    /// Notes that the node's leader record is in the log.
    private func begin(_ replica: EngineReplica, _ applied: AppliedRecord, _ effects: inout [EngineEffect]) {
        guard !replica.hasEnded else { return }
        replica.report(at: self.store.logState, &effects)
        if applied.reopen != nil {
            replica.set(.ended)
            return replica.report(.mustReopen(.newHistory), &effects)
        }
        replica.set(.elected)
    }

    /// Begins to take writes.
    func confirm(_ replica: EngineReplica, _ effects: inout [EngineEffect]) {
        guard replica.isElected else { return }
        replica.set(.leading)
        self.sessions.lead()
        for session in self.connections.unnumberedSessions {
            self.connections.number(session, self.sessions.number(of: session))
        }
        guard let state = self.store.logState else { return }
        self.sessions.coalescing.numberGroups(inEpoch: state.writer.epoch)
        self.executeForwards(replica, &effects)
        replica.report(.leading(state), &effects)
    }

    /// Takes no writes any more: open groups end, and sessions that have never written lose their numbers.
    func follow(_ replica: EngineReplica, _ effects: inout [EngineEffect]) {
        if replica.open != nil {
            replica.open?.mustFollow = true
            return
        }
        guard !replica.hasEnded else { return }
        replica.report(at: self.store.logState, &effects)
        self.store.follow()
        self.puts.restart()
        if replica.isLeading {
            self.sessions.follow()
            self.connections.removeNumbers { !self.sessions.isKnown($0) }
        }
        replica.set(.following)
        replica.report(.following, &effects)
    }

    func diverge(_ replica: EngineReplica, because reason: String? = nil, _ effects: inout [EngineEffect]) {
        self.store.follow()
        self.puts.restart()
        self.sessions.follow()
        replica.set(.ended)
        let position = self.store.logState?.position.position ?? 0
        let reason = reason ?? "the store's state at position \(position) is not the log's"
        replica.report(.mustReopen(.diverged(reason)), &effects)
    }

    // MARK: Appends

    /// Notes the error of an append. `waiter`: answered when the fate of an append without an answer is known.
    func note(
        _ error: StoreError,
        _ replica: EngineReplica,
        _ waiter: EngineReplica.OpenAppend.Waiter,
        _ effects: inout [EngineEffect]
    ) {
        switch error {
        case .uncertain:
            replica.open = .init(waiter: waiter)
            replica.report(.uncertain, &effects)
            if case .group(let group) = waiter { self.turns.hold(group.requests.map(\.connection)) }
        case .overtaken: self.follow(replica, &effects)
        case .offTheLog: self.diverge(replica, &effects)
        default:
            if error.isFatal { return self.health.fail(error) }
            if case .lead = waiter { replica.report(.leadRefused(error.nestError), &effects) }
        }
    }

    /// Notes that a request other than a group found out that the node no longer leads.
    func noteLostLead(_ error: StoreError, _ replica: EngineReplica, _ effects: inout [EngineEffect]) {
        switch error {
        case .overtaken, .offTheLog: self.note(error, replica, .maintenance, &effects)
        default: break
        }
    }

    /// Notes what a commit has found out about the lead and the log. Writes that were overtaken are forwarded in this
    /// turn.
    func note(
        _ commit: Commit,
        _ writes: [WriteRequest],
        _ replica: EngineReplica,
        _ effects: inout [EngineEffect]
    ) {
        if let group = commit.uncertain { self.note(.uncertain, replica, .group(group), &effects) }
        if commit.isLogUnavailable {
            for (write, outcome) in zip(writes, commit.outcomes) where write.portGroup != nil {
                if case .answered(.failure(let error)) = outcome { replica.interrupt(write.connection, error) }
            }
        }
        guard let error = commit.lostLead else { return }
        self.note(error, replica, .maintenance, &effects)
        for (write, outcome) in zip(writes, commit.outcomes) {
            if case .overtaken = outcome { replica.noteOvertaken(write) }
        }
    }

    /// Whether a request that writes without a group may run now; throws why not.
    func requireLead() throws(StoreError) {
        guard let replica else { return }
        if let refusal = replica.refusal { throw .refused(refusal) }
        if !replica.takesWrites { throw .refused(EngineReplica.settling) }
    }

    // MARK: Uncertainty

    /// Ends the uncertainty about the append of the record at a position: pushes and answers what is in the log,
    /// refuses what is not. The outcome of another record, which an earlier engine of this node appended, changes
    /// nothing.
    func settle(
        _ replica: EngineReplica,
        _ outcome: AppendOutcome,
        of position: LogPosition,
        _ push: inout AppliedPush,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) {
        guard let open = replica.open, outcome != .unknown, self.store.uncertain?.position == position else { return }
        do throws(StoreError) {
            let bulk = push.bulk
            let applied = try self.store.settle(outcome, isConcerned: { bulk.note($0) })
            replica.open = nil
            self.turns.release()
            replica.report(.settled, &effects)
            if let applied {
                try self.take(applied, of: open, replica, &push, now: now, &effects)
            } else if case .taken = outcome {
                self.follow(replica, &effects)
                return self.forward(open, replica, &effects)
            } else {
                self.refuse(open, outcome, replica, &effects)
            }
        } catch {
            // The record is in the log and not in the store: only a new start applies it.
            return self.health.fail(error)
        }
        switch outcome {
        case .taken: break
        case .behind: self.diverge(replica, &effects)
        case .appended, .refused, .unknown: if open.mustFollow { self.follow(replica, &effects) }
        }
    }

    /// Takes the node's own record over, now that it is known to be in the log.
    private func take(
        _ applied: AppliedRecord,
        of open: EngineReplica.OpenAppend,
        _ replica: EngineReplica,
        _ push: inout AppliedPush,
        now: Int64,
        _ effects: inout [EngineEffect]
    ) throws(StoreError) {
        var restoresRuns = true
        if case .group(let group) = open.waiter {
            self.sessions.coalescing = group.coalescing
            restoresRuns = false
            push.settled = group
            push.answersSettled = !open.isUnanswered
        }
        // Before the connections of a revoked token end.
        if case .token(let id, let requestID, let request) = open.waiter, !open.isUnanswered {
            for note in applied.record.notes {
                switch note {
                case .tokenCreated(let token):
                    self.replies.send(.tokenCreated(token.description.number), id, requestID, &effects)
                case .tokenRevoked: self.replies.send(.done, id, requestID, &effects)
                case .reserved(_, let pieces):
                    // The last of them are those that the record reserves.
                    guard let count = request.reservedCount, let last = pieces.last?.upperBound else { break }
                    let first = ObjectID(last - Int64(count) + 1)
                    self.replies.send(.reserved(first, count: count), id, requestID, &effects)
                default: break
                }
            }
        }
        try self.take(applied, replica, restoresRuns: restoresRuns, &push, now: now, &effects)
        switch open.waiter {
        case .group, .maintenance, .token: break
        case .value(let id, let item):
            let value = item.put?.settle()
            if open.isUnanswered {
                self.puts.abandon(value == nil ? item.put : nil)
            } else {
                self.goOn(item, value, id, &effects)
            }
        case .lead: self.begin(replica, applied, &effects)
        case .mark(let number):
            guard !open.isUnanswered else { return }
            replica.report(.markAnswered(requestedBy: number, .success(applied.position)), &effects)
        }
    }

    /// Forwards what waited for an append that another node's record has overtaken.
    private func forward(
        _ open: EngineReplica.OpenAppend,
        _ replica: EngineReplica,
        _ effects: inout [EngineEffect]
    ) {
        guard !open.isUnanswered else { return }
        switch open.waiter {
        case .group(let group): for write in group.requests { replica.noteOvertaken(write) }
        case .token(let id, let requestID, let request):
            guard let connection = self.connections[id], self.forwardToLeader(request, requestID, connection) else {
                return self.fail(open, StoreError.overtaken.nestError, replica, &effects)
            }
        case .value(let id, let item):
            guard let connection = self.connections[id],
                self.forwardToLeader(item.request, item.requestID, connection)
            else { return self.fail(open, StoreError.overtaken.nestError, replica, &effects) }
        case .lead, .maintenance, .mark: self.fail(open, StoreError.overtaken.nestError, replica, &effects)
        }
    }

    /// Refuses what waited for an append that is not in the log.
    private func refuse(
        _ open: EngineReplica.OpenAppend,
        _ outcome: AppendOutcome,
        _ replica: EngineReplica,
        _ effects: inout [EngineEffect]
    ) {
        var error = StoreError.overtaken.nestError
        if case .refused(let refusal) = outcome { error = refusal }
        if case .value(_, let item) = open.waiter { self.puts.abandon(item.put) }
        self.fail(open, error, replica, &effects)
        if case .lead = open.waiter, case .refused(let refusal) = outcome {
            replica.report(.leadRefused(refusal), &effects)
        }
    }

    /// Answers what waits for an append with an error, unless it has been answered.
    private func fail(
        _ open: EngineReplica.OpenAppend,
        _ error: NestError,
        _ replica: EngineReplica,
        _ effects: inout [EngineEffect]
    ) {
        guard !open.isUnanswered else { return }
        switch open.waiter {
        case .lead, .maintenance: break
        case .group(let group): self.refuse(group.requests, error, &effects)
        case .token(let id, let requestID, let request):
            if case .forwarded = request { replica.interrupt(id, error) }
            self.replies.send(.failure(error), id, requestID, &effects)
        case .value(let id, let item): self.fail(item, error, id, &effects)
        case .mark(let number): replica.report(.markAnswered(requestedBy: number, .failure(error)), &effects)
        }
    }

    /// Fails the requests that have waited too long for the log. Their record may still be in it.
    func giveUp(_ replica: EngineReplica, _ effects: inout [EngineEffect]) {
        guard let open = replica.open, !open.isUnanswered else { return }
        self.fail(open, EngineReplica.unanswered, replica, &effects)
        replica.open?.isUnanswered = true
        self.turns.release()
    }

    // MARK: Records

    /// Reports what this node has appended since the last report.
    func reportAppended(_ effects: inout [EngineEffect]) {
        guard let replica else { return }
        for entry in self.store.takeAppended() { replica.report(.appended(entry), &effects) }
    }

    // MARK: Marks

    /// Appends the marks of the turn, behind all its writes.
    func appendMarks(now: Int64, _ effects: inout [EngineEffect]) {
        guard let replica, !replica.marks.isEmpty else { return }
        let marks = replica.marks
        replica.marks = []
        for number in marks {
            do throws(StoreError) {
                try self.requireLead()
                let applied = try self.store.appendMark(now: now)
                replica.report(.marked(applied.position), &effects)
                replica.report(.markAnswered(requestedBy: number, .success(applied.position)), &effects)
            } catch {
                self.note(error, replica, .mark(requestedBy: number), &effects)
                if case .uncertain = error { continue }
                replica.report(.markAnswered(requestedBy: number, .failure(error.nestError)), &effects)
            }
        }
    }
}

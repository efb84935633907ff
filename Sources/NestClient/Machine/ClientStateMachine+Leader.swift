import NIOCore
import NestModel
import NestProtocol

/// In a cluster, one node takes writes. A request that a node refused for that reason was not executed:
///
///     NOT_LEADER with an address ──▶ the client moves there: subscriptions resume, the request is sent again
///     LOG_UNAVAILABLE ──▶ the client moves to each other address of its list once
///     NOT_LEADER without one, or LOG_UNAVAILABLE everywhere ──▶ the request is sent again after a pause
///
/// A request that no node takes for `Limits.leaderWaitSeconds` fails with NOT_LEADER, one for which the log is
/// unavailable at its own time limit. The client stays at the leader, reads included.
extension ClientStateMachine {
    /// Handles the error of a request. Returns `nil` if it is not about who takes writes.
    mutating func refusedByNode(
        _ entry: RequestTable.InFlight,
        id: UInt32,
        _ error: NestError,
        now: NIODeadline
    ) -> [ClientAction]? {
        switch error.code {
        case .notLeader where self.followsLeader: break
        case .logUnavailable: break
        default:
            self.answered(entry)
            return nil
        }
        guard case .caller(let token) = entry.request.owner else { return nil }
        let named = error.code == .notLeader ? self.route.learn(error.leader) : nil
        if let named, let fault = self.leaderFault, fault.address == named, fault.endsRequests(now: now) {
            return [.fail(token, self.refusal(of: entry, error))] + self.afterAnswer()
        }
        let since = entry.refusal?.since ?? now
        let isOver = error.code == .notLeader && now - since >= .seconds(Int64(Limits.leaderWaitSeconds))
        guard entry.request.maySendAgainElsewhere, !isOver else {
            return [.fail(token, self.refusal(of: entry, error))] + self.seek(named, now: now)
        }
        self.requests.hold(id, entry, Refusal(since: since, error: error))
        if error.code == .logUnavailable, let actions = self.moveOn() { return actions }
        return self.seek(named, now: now)
    }

    /// The error of a request that is not sent again.
    private func refusal(of entry: RequestTable.InFlight, _ error: NestError) -> NestError {
        entry.mayBeExecuted ? entry.request.lossError : self.leaderError(error)
    }

    /// Ends the search when a node has taken a request.
    mutating func answered(_ entry: RequestTable.InFlight) {
        guard self.search != nil else { return }
        if entry.refusal != nil || entry.request.type.request?.isWrite == true { self.search = nil }
    }

    /// Moves to the leader that was named, or pauses before the next attempt.
    private mutating func seek(_ named: ServerAddress?, now: NIODeadline) -> [ClientAction] {
        var search = self.search ?? LeaderSearch()
        defer { self.search = search }
        search.named = named
        guard case .ready = self.phase else { return self.afterAnswer() }
        if let named, self.mayMove(to: named, now: now), !search.hasMoved {
            search.hasMoved = true
            return self.move(to: named)
        }
        guard !search.isPausing else { return self.flush() }
        search.isPausing = true
        return [.retryAfter(milliseconds: search.nextPause(using: &self.random))] + self.flush()
    }

    /// Handles the end of the pause of a search.
    package mutating func pauseEnded(now: NIODeadline) -> [ClientAction] {
        guard case .ready = self.phase else {
            self.search?.isPausing = false
            return []
        }
        if self.requests.isHolding, self.requests.hasWriteInFlight {
            // It was sent before the refusal, and may be refused too: the order of writes must stay.
            return [.retryAfter(milliseconds: Limits.reconnectMillisecondsMin)]
        }
        self.search?.isPausing = false
        if let named = self.search?.named, self.mayMove(to: named, now: now) {
            self.search?.hasMoved = true
            return self.move(to: named)
        }
        self.requests.release()
        return self.flush()
    }

    /// Moves to an address of the list where the log was not found unavailable in this search: another node may reach
    /// the log, or the leader. Returns `nil` if there is none, or if something would be lost with the connection.
    private mutating func moveOn() -> [ClientAction]? {
        guard self.followsLeader, self.mayLeaveNode else { return nil }
        var search = self.search ?? LeaderSearch()
        search.left.insert(self.route.current)
        let others = self.route.homes.filter { !search.left.contains($0) }
        guard let next = others.randomElement(using: &self.random) else { return nil }
        self.search = search
        return self.move(to: next, "the log is unavailable there")
    }

    /// Whether the leader is elsewhere, and no attempt to connect to it has just failed. Until then the client asks the
    /// node again, which learns of a new leader.
    private func mayMove(to leader: ServerAddress, now: NIODeadline) -> Bool {
        guard leader != self.route.current else { return false }
        return self.leaderFault.map { $0.address != leader || !$0.isRecent(now: now) } ?? true
    }

    /// Closes the connection, to connect to the leader, or to another node, instead. Transfers in flight fail: their
    /// data cannot be sent again.
    private mutating func move(to address: ServerAddress, _ reason: String = "another node leads") -> [ClientAction] {
        self.moving = address
        self.phase = .leaving(retryAfterMilliseconds: 0)
        self.closeReason = NestError(.connectionLost, "\(reason): the client connects to \(address)")
        return [.closeChannel]
    }

    /// The error for a caller whose request no node has taken.
    func leaderError(_ error: NestError) -> NestError {
        guard error.code == .notLeader, self.followsLeader else { return error }
        var error = error
        if let fault = self.leaderFault, fault.address == self.route.leader {
            error.message += "; the client cannot use the leader: \(fault.error.message)"
        }
        error.message +=
            ". Nothing was executed. Ask for the state of the cluster (nestc cluster status), then try again"
        return error
    }
}

extension OutgoingRequest {
    /// Whether the request may be sent again, on another connection too, after a node refused it without executing it.
    fileprivate var maySendAgainElsewhere: Bool {
        switch self.kind {
        case .read: true
        case .write: self.group == nil
        case .connection: self.type != .endGroup
        case .download, .upload: false
        }
    }
}

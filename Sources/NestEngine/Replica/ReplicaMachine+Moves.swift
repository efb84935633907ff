import NestModel
import NestStore

/// Moving the lead to another node, and draining this one.
extension ReplicaMachine {
    /// The lead on its way to another node.
    struct Handover {
        let target: Identifier128
        /// The epoch in which this node led.
        let epoch: Int64
        /// When the request is answered at the latest.
        let deadline: Int64
        /// Whether the log names the other node.
        var isReleased = false
    }

    // MARK: Moving the lead

    /// Gives the lead to another node: writes end between two commits, the log names the node, and it claims the lead
    /// at once. Ends with the action `moved`.
    package mutating func moveLead(to target: Identifier128, now: Int64) {
        guard case .leading(let epoch) = self.duty else {
            return self.outbox.append(.moved(.failure(NestError(.notLeader, "this node does not lead any more"))))
        }
        guard self.uncertainSince == nil, !self.hasGivenUp else {
            return self.outbox.append(
                .moved(.failure(NestError(.logUnavailable, "the cluster's log does not answer: nothing has changed")))
            )
        }
        self.stopLeading(now)
        self.handover = Handover(target: target, epoch: epoch, deadline: now + self.timing.move)
    }

    /// The engine writes nothing any more.
    mutating func releaseForMove() {
        guard let handover, !handover.isReleased, self.current.map({ !$0.givesLead }) ?? true else { return }
        guard !self.outbox.contains(where: \.givesLead) else { return }
        self.outbox.append(.giveLead(to: handover.target))
    }

    mutating func released(to target: Identifier128, _ isReleased: Bool, _ now: Int64) {
        self.overviewAt = now
        guard self.handover?.target == target else { return }
        self.handover?.isReleased = true
        guard !isReleased else { return }
        self.endMove(.failure(NestError(.conflict, "the node is not alive any more, or this one does not lead")), now)
    }

    mutating func released(to target: Identifier128, _ failure: LogFailure, _ now: Int64) {
        self.endMove(.failure(NestError(.logUnavailable, "\(failure): ask which node leads now")), now)
    }

    /// Ends the move when a record of a later epoch is there.
    mutating func noteMove(_ now: Int64) {
        guard let handover, self.state.writer.epoch > handover.epoch else { return }
        let isDone = self.state.writer.node == handover.target
        self.endMove(
            isDone
                ? .success(())
                : .failure(NestError(.conflict, "the node has not taken the lead, and another one leads now")),
            now
        )
    }

    mutating func dueMove(_ now: Int64) -> Action? {
        guard let handover, now >= handover.deadline else { return nil }
        let text = "the node has not taken the lead yet: ask which node leads now"
        self.endMove(.failure(NestError(.timedOut, text)), now)
        return nil
    }

    private mutating func endMove(_ result: Result<Void, NestError>, _ now: Int64) {
        guard self.handover != nil else { return }
        self.handover = nil
        self.overviewAt = min(self.overviewAt, now)
        self.outbox.append(.moved(result))
    }

    /// Lets any node claim the lead if the one that was given it does not.
    mutating func considerWithdrawal(_ overview: LogOverview, _ now: Int64) {
        if overview.leader?.id == self.node {
            if self.isDrained, self.handover == nil { self.outbox.append(.release) }
            return
        }
        guard let leader = overview.leader, overview.epoch == self.state.writer.epoch,
            overview.head.position == self.state.position.position, leader.id != self.state.writer.node
        else {
            self.unclaimedSince = nil
            return
        }
        let since = self.unclaimedSince ?? now
        self.unclaimedSince = since
        guard now - since >= self.timing.handover else { return }
        self.unclaimedSince = nil
        self.outbox.append(.withdraw(leader.id, epoch: overview.epoch))
    }

    // MARK: Draining

    /// A drained node never claims the lead.
    package mutating func setDrained(_ isDrained: Bool, now: Int64) {
        self.isDrained = isDrained
        self.overviewAt = min(self.overviewAt, now)
        // So that no other node gives it the lead.
        self.noteAt = min(self.noteAt, now)
        guard isDrained, case .claiming = self.duty else { return }
        self.giveUpClaim(now)
        self.outbox.append(.release)
    }

    /// Whether this node may claim the lead when there is no leader.
    var mayClaim: Bool { !self.isDrained && self.handover == nil }

    // MARK: Lag

    mutating func notePosition(_ now: Int64) {
        guard self.positionNotedAt.map({ now - $0 >= self.timing.survey }) ?? true else { return }
        self.positionNotedAt = now
        if self.notedPositions.count == 3 { self.notedPositions.removeFirst() }
        self.notedPositions.append(self.state.position.position)
    }

    /// A node whose noted position is before this one lags: the notes are at most one interval old, and this is where
    /// this node was two intervals ago, or when it noted its position first.
    package var lagFloor: Int64 { self.notedPositions.first ?? 0 }
}

extension ReplicaMachine.Action {
    fileprivate var givesLead: Bool { if case .giveLead = self { true } else { false } }
}

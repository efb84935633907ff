import DequeModule
import NestModel
import NestStore

/// What a machine learns from its engine and from its driver.
extension ReplicaMachine {
    /// Takes an event of the engine.
    package mutating func take(_ event: ReplicaEvent, now: Int64) {
        guard self.duty != .ended else { return }
        switch event {
        case .applied(let state): self.take(state, now)
        case .leading(let state):
            self.take(state, now)
            // The machine may have given the claim up meanwhile.
            guard case .claiming(let claim) = self.duty, claim.epoch == state.writer.epoch else { return }
            self.duty = .leading(epoch: claim.epoch)
            self.checkAt = now + self.timing.check
            self.overviewAt = now
            self.caughtUpAt = now
        case .following: self.follow(now)
        case .uncertain:
            self.uncertainSince = now
            self.hasGivenUp = false
        case .settled:
            self.uncertainSince = nil
            self.readAgain()
        case .leadRefused:
            guard case .claiming(let claim) = self.duty else { return }
            self.duty = .claiming(Claim(epoch: claim.epoch))
            self.pausedUntil = now + self.timing.failureMax
        case .applyFailed:
            self.readAgain()
            self.pollAt = now + self.timing.failureMax
        case .damaged(let reason):
            if self.pages.isEmpty, self.link != .down {
                // The leader has sent it: what counts is the log.
                self.mustRead = true
                self.pollAt = now
                return self.readAgain()
            }
            self.damage = reason
            self.overviewAt = now
        case .mustReopen(.diverged(let reason)):
            // The log is asked first whether it has lost records.
            self.divergence = reason
            self.overviewAt = now
        case .mustReopen(let reopening):
            if reopening == .newHistory, case .claiming = self.duty, self.doubt {
                self.outbox.append(.setDoubt(false))
            }
            self.end(reopening)
        case .appended, .headWanted, .marked, .markAnswered: break
        }
    }

    private mutating func take(_ state: LogState, _ now: Int64) {
        if state.position.position > self.state.position.position { self.damage = nil }
        self.state = state
        self.noteHead(now)
        self.noteMove(now)
        self.readThrough = max(self.readThrough, state.position.position)
        while let page = self.pages.first, page.last <= state.position.position { self.pages.removeFirst() }
        guard case .claiming(var claim) = self.duty else { return }
        if state.writer.epoch > claim.epoch { return self.giveUpClaim(now) }
        guard claim.isAppending, state.writer == .init(node: self.node, epoch: claim.epoch) else { return }
        claim.isElected = true
        self.duty = .claiming(claim)
        self.checkAt = now
    }

    /// The engine takes no writes any more, or its leader record was overtaken.
    private mutating func follow(_ now: Int64) {
        self.readAgain()
        self.pollAt = now
        self.releaseForMove()
        switch self.duty {
        case .claiming(let claim):
            guard claim.isAppending else { return }
            // Another node has written, or the log's server is another one than at the claim.
            self.duty = .following
            self.claimAt = now
            self.overviewAt = now
        case .leading:
            self.duty = .following
            self.overviewAt = now
            self.tellLeader()
        case .following, .ended: break
        }
    }

    /// The snapshot has been taken, or has failed.
    package mutating func snapshotTaken(now: Int64, succeeded: Bool) {
        self.isSnapshotting = false
        if succeeded { self.surveyAt = now }
    }

    /// The node stops: it gives the lead up, so that another need not wait for the lease. Perform what `next` returns
    /// until it says to wait.
    package mutating func stop() {
        let hasLead = self.duty != .following && self.duty != .ended
        self.duty = .ended
        self.outbox = hasLead ? [.release] : []
    }
}

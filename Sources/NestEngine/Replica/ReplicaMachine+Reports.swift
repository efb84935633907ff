import DequeModule
import NestModel
import NestProtocol
import NestStore

/// What a machine learns from the log.
extension ReplicaMachine {
    /// Takes the result of the last action.
    package mutating func report(_ report: Report, now: Int64) {
        guard let action = self.current else { preconditionFailure("no action waits for a report") }
        self.current = nil
        guard self.duty != .ended else { return }
        if case .failed(let failure) = report { return self.fail(action, failure, now) }
        self.failureCount = 0
        switch (action, report) {
        case (.renewLease, .done):
            self.renewAt = now + self.timing.renew
            if case .leading = self.duty { self.caughtUpAt = now }
        case (.overview(let position), .overview(let overview)): self.take(overview, of: position, now)
        case (.records(let after), .records(let entries)): self.take(entries, after: after, now)
        case (.server, .server(let server)): self.take(server, now)
        case (.claim, .claimed(let epoch)):
            self.claimAt = nil
            self.sessionGoneSince = nil
            self.overviewAt = now
            self.pollAt = now
            if let epoch { self.duty = .claiming(Claim(epoch: epoch)) }
        case (.survey, .surveyed(let survey)): self.take(survey)
        case (.setDoubt, .done), (.release, .done), (.note, .done), (.truncate, .done): break
        case (.withdraw, .done): self.overviewAt = now
        case (.giveLead(let target), .released(let isReleased)): self.released(to: target, isReleased, now)
        case (.follow(let leader), .followed(let isListed)): self.followed(leader, isListed, now)
        default: preconditionFailure("a report of another action")
        }
    }

    private mutating func fail(_ action: Action, _ failure: LogFailure, _ now: Int64) {
        if case .damaged = failure {
            self.duty = .ended
            self.outbox = [.stop(failure)]
            return
        }
        self.failureCount = min(self.failureCount + 1, 8)
        self.pausedUntil = now + min(self.timing.failureMax, 10 << Int64(self.failureCount))
        switch action {
        case .claim:
            // It may have succeeded: then the log says that this node leads, and it claims again.
            self.claimAt = nil
            self.overviewAt = now
        case .overview:
            // Only what was seen without a break counts.
            self.sessionGoneSince = nil
            self.unclaimedSince = nil
        case .giveLead(let target): self.released(to: target, failure, now)
        case .follow: self.followed = nil
        default: break
        }
    }

    // MARK: Overview

    private mutating func take(_ overview: LogOverview, of position: LogPosition, _ now: Int64) {
        self.overviewAt = now + self.overviewInterval(overview)
        self.head = max(overview.head.position, position.position)
        if case .streaming(let head) = self.link { self.head = max(self.head ?? 0, head) }
        self.noteHead(now)
        if !self.link.isStreaming, overview.head.position > self.readThrough { self.pollAt = min(self.pollAt, now) }
        self.logEpoch = overview.epoch
        self.base = overview.base
        self.doubt = overview.doubt
        self.leader = overview.leader
        guard self.isOnLine(overview, position) else { return }
        if overview.head.position <= self.state.position.position { self.caughtUpAt = now }
        switch self.duty {
        case .ended: return
        case .following: self.considerClaim(overview, now)
        case .claiming(var claim):
            if overview.leader?.id == self.node, overview.epoch == claim.epoch {
                claim.hasOverview = true
                self.duty = .claiming(claim)
            } else {
                self.giveUpClaim(now)
            }
        case .leading(let epoch):
            if overview.leader?.id != self.node || overview.epoch != epoch {
                self.stopLeading(now)
            } else if overview.doubt {
                self.claimAgain(now)
            }
        }
        self.tellLeader()
    }

    /// Whether the store is on the line of the log; ends the machine if it is not.
    private mutating func isOnLine(_ overview: LogOverview, _ position: LogPosition) -> Bool {
        let isAhead = position.position > overview.head.position
        var reason = self.divergence
        if overview.base > position.position, !isAhead {
            // Whether the store was on the line of the log cannot be seen any more.
            self.end(.behindLog(base: overview.base))
            return false
        } else if let chain = overview.chainAtPosition {
            if chain != position.chain {
                reason = reason ?? "the log has another record at position \(position)"
            }
        } else if isAhead {
            reason = reason ?? "the log ends at position \(overview.head), and the store is at \(position)"
        } else if position.position != overview.base {
            reason = reason ?? "the log has no record at position \(position)"
        } else if self.damage != nil {
            // Whether the store or the record is wrong cannot be seen any more.
            reason = reason ?? self.damage
        }
        if let reason {
            if isAhead { self.outbox.append(.setDoubt(true)) }
            self.end(.diverged(reason))
            return false
        }
        if let damage, position == self.state.position {
            self.duty = .ended
            self.outbox.append(.stop(.damaged(damage)))
            return false
        }
        return true
    }

    private mutating func considerClaim(_ overview: LogOverview, _ now: Int64) {
        self.considerWithdrawal(overview, now)
        guard self.mayClaim else {
            self.claimAt = nil
            return
        }
        guard let leader = overview.leader, leader.id != self.node, leader.isAlive else {
            // There is no leader, it has not renewed its lease, or it is this node before it opened its store again.
            if self.claimAt == nil { self.claimAt = now + (overview.leader?.id == self.node ? 0 : self.claimWait()) }
            return
        }
        guard overview.isLeaderSessionGone else {
            self.sessionGoneSince = nil
            self.claimAt = nil
            return
        }
        if self.goneEpoch != overview.epoch { self.sessionGoneSince = nil }
        self.goneEpoch = overview.epoch
        let since = self.sessionGoneSince ?? now
        self.sessionGoneSince = since
        guard now - since >= self.timing.sessionGone else {
            self.claimAt = nil
            return
        }
        if self.claimAt == nil { self.claimAt = now + self.claimWait() }
    }

    /// Returns a random wait, so that not all nodes claim at once; a longer one for a node that is behind.
    private mutating func claimWait() -> Int64 {
        let isBehind = (self.head ?? 0) > self.state.position.position
        return Int64.random(in: 0...self.timing.claimMax, using: &self.random)
            + (isBehind ? self.timing.claimBehind : 0)
    }

    /// Passes the leader's address to the engine if it has changed.
    mutating func tellLeader() {
        var address: String?
        if let leader, leader.isAlive {
            // This node's own address leads nowhere before it takes writes.
            if leader.id != self.node { address = leader.address }
            if case .leading = self.duty, leader.id == self.node { address = leader.address }
        }
        if let toldLeader, toldLeader == address { return }
        self.toldLeader = .some(address)
        self.outbox.append(.input(.leader(address: address)))
    }

    // MARK: Records

    private mutating func take(_ entries: [LogEntry], after position: Int64, _ now: Int64) {
        let isPage = entries.count >= Limits.logPageRecordsMax
        let interval = self.duty == .following ? self.timing.poll : min(self.timing.poll, self.timing.claimPoll)
        self.pollAt = isPage ? now : now + interval
        self.hasReadToEnd = !isPage
        if !isPage { self.mustRead = false }
        guard let last = entries.last else {
            if self.state.position.position >= position { self.caughtUpAt = now }
            if case .claiming(var claim) = self.duty, position == self.readThrough {
                claim.hasReadAll = true
                self.duty = .claiming(claim)
            }
            return
        }
        // An event may have moved the place at which the engine reads on.
        guard position == self.readThrough, self.uncertainSince == nil else { return }
        if let missing = self.missing(entries, after: position), missing > self.state.position.position {
            // The log has lost a record, or was truncated beyond this node's position.
            self.damage = "the record \(missing) is missing in the log"
            self.overviewAt = now
            return
        }
        // The link has sent later ones, which the engine cannot use.
        if self.link.isStreaming { self.mustFollowAgain = true }
        if case .claiming = self.duty { self.pollAt = now }
        self.readThrough = last.position.position
        // The bytes of larger records are in files.
        let bytes = entries.reduce(0) { $0 + ($1.bytes.isBody ? $1.bytes.count : 0) }
        self.pages.append(Page(last: self.readThrough, bytes: bytes))
        self.head = max(self.head ?? 0, last.position.position)
        self.outbox.append(.input(.entries(entries)))
    }

    /// Returns the first position of a page that has no record.
    private func missing(_ entries: [LogEntry], after position: Int64) -> Int64? {
        var expected = position
        for entry in entries {
            expected += 1
            if entry.position.position != expected { return expected }
        }
        return nil
    }

    // MARK: Leading

    private mutating func take(_ server: LogServer, _ now: Int64) {
        switch self.duty {
        case .following, .ended: break
        case .claiming(let claim) where claim.isElected:
            if server.timeline == self.state.server.timeline {
                // The engine answers with `leading`; asked again should that get lost.
                self.checkAt = now + self.timing.check
                self.outbox.append(.input(.confirm))
            } else {
                self.claimAgain(now)
            }
        case .claiming(var claim):
            claim.server = server
            self.duty = .claiming(claim)
        case .leading:
            let known = self.state.server
            if server.timeline != known.timeline || known.isReplicated && !server.isReplicated {
                // The newest leader record must say what the log promises from now on.
                self.claimAgain(now)
            } else if server.isReplicated, !known.isReplicated {
                let since = self.replicatedSince ?? now
                self.replicatedSince = since
                if now - since >= self.timing.survey { self.claimAgain(now) }
            } else {
                self.replicatedSince = nil
            }
        }
    }

    /// Writes nothing more until this node has claimed the lead again.
    private mutating func claimAgain(_ now: Int64) {
        self.stopLeading(now)
        self.claimAt = now
    }

    mutating func stopLeading(_ now: Int64) {
        self.duty = .following
        self.replicatedSince = nil
        self.readAgain()
        self.overviewAt = now
        self.pollAt = now
        self.outbox.append(.input(.follow))
    }

    mutating func giveUpClaim(_ now: Int64) {
        // Its leader record may be on its way.
        if case .claiming(let claim) = self.duty, claim.isAppending { self.outbox.append(.input(.follow)) }
        self.duty = .following
        self.claimAt = nil
        self.overviewAt = now
    }

    mutating func end(_ reopening: ReplicaReopening) {
        self.duty = .ended
        // Its fate is not looked up any more.
        if self.uncertainSince != nil, !self.hasGivenUp { self.outbox.append(.input(.unanswered)) }
        self.outbox.append(.reopen(reopening))
    }

    // MARK: Snapshots

    private mutating func take(_ survey: Survey) {
        guard !self.isSnapshotting, self.isSnapshotter(survey.nodes) else { return }
        guard let newest = survey.snapshots.first else { return self.takeSnapshot() }
        let isOld = survey.time - newest.made > Int64(Limits.snapshotSeconds) * 1_000_000
        let isLarge = survey.recordBytes > max(Int64(Limits.snapshotLogBytesMin), newest.byteCount)
        if isOld || isLarge, self.state.position.position > newest.position.position { return self.takeSnapshot() }
        // The base never passes the older of the confirmed snapshots that stay, and so never all of them. Stale ones go
        // before the records that show that they are stale.
        let kept = survey.snapshots.prefix(Limits.snapshotsKept)
        let through = kept.count < Limits.snapshotsKept ? self.base : kept[kept.endIndex - 1].position.position
        let removed = survey.stale + survey.snapshots.dropFirst(Limits.snapshotsKept)
        guard !removed.isEmpty || self.base < through else { return }
        self.outbox.append(.truncate(through: through, removing: removed))
    }

    private mutating func takeSnapshot() {
        self.isSnapshotting = true
        self.outbox.append(.snapshot)
    }

    /// Whether this node takes the snapshots: the first follower, or the leader when it is alone.
    private func isSnapshotter(_ nodes: [LogNode]) -> Bool {
        let followers = nodes.filter { $0.isAlive && $0.id != self.leader?.id }.map(\.id)
        guard let first = followers.min() else {
            return self.role == .leader
        }
        return first == self.node
    }
}

import NestModel
import NestStore

/// How a machine uses the link to the leader: while the leader sends its records, the log is hardly read.
extension ReplicaMachine {
    /// Takes the state of the link.
    package mutating func take(_ link: LinkState, now: Int64) {
        guard self.duty != .ended else { return }
        let before = self.link
        self.link = link
        switch link {
        case .streaming(let head):
            self.head = max(self.head ?? 0, head)
            self.noteHead(now)
        case .behind, .down:
            // Another node may lead already.
            if before != link { self.overviewAt = min(self.overviewAt, now) }
            if before.isStreaming || link == .behind { self.pollAt = min(self.pollAt, now) }
            // A link that is down begins where the store is then.
            (self.mustFollowAgain, self.hasReadToEnd) = (link == .behind, false)
        }
    }

    /// Whether the driver need not hear at once what the engine has applied.
    package var mayWait: Bool {
        if case .leading = self.duty { return true }
        return self.link.isStreaming && !self.mustFollowAgain && self.late == nil && self.duty == .following
    }

    /// Compares the store's position with the newest one that is known of the log.
    mutating func noteHead(_ now: Int64) {
        guard let head else { return }
        let position = self.state.position.position
        if head <= position, self.uncertainSince == nil { self.caughtUpAt = now }
        if let late, late.head > position { return }
        self.late = head > position ? (head, now) : nil
    }

    /// When records are read next in the log. While the leader sends them: only those that do not come.
    var recordsAt: Int64 {
        guard self.duty == .following, self.link.isStreaming, !self.mustRead else { return self.pollAt }
        guard let late else { return .max }
        return max(late.since + self.timing.late, self.pollAt)
    }

    func overviewInterval(_ overview: LogOverview) -> Int64 {
        switch self.duty {
        case .leading: return self.timing.check
        case .following where self.link.isStreaming && !overview.isLeaderSessionGone && self.handover == nil:
            return self.timing.check
        case .following, .claiming, .ended: return self.timing.overview
        }
    }

    // MARK: The leader

    /// `nil` while the log has lost records: the leader may not know that yet, and would send them.
    private var leaderToFollow: Leader? {
        guard self.duty == .following, !self.doubt, let leader, leader.id != self.node, !leader.address.isEmpty else {
            return nil
        }
        return Leader(id: leader.id, name: leader.name, address: leader.address, epoch: self.logEpoch)
    }

    /// Returns the action that names the leader to the link: when it is another one, and again when the node has read
    /// in the log what the link did not have.
    mutating func dueFollow(_ now: Int64) -> Action? {
        let leader = self.leaderToFollow
        if let followed, followed == leader {
            guard leader != nil, self.mustFollowAgain, self.link != .down, self.hasReadToEnd, now >= self.followAt,
                self.readThrough == self.state.position.position
            else { return nil }
        } else {
            guard leader == nil || now >= self.unlistedUntil else { return nil }
            // There is nothing to end.
            if leader == nil, self.followed == nil { return nil }
        }
        self.followed = .some(leader)
        self.mustFollowAgain = false
        return .follow(leader)
    }

    mutating func followed(_ leader: Leader?, _ isListed: Bool, _ now: Int64) {
        guard leader != nil else { return }
        self.followAt = now + self.timing.follow
        guard !isListed else { return }
        self.followed = nil
        self.unlistedUntil = now + self.timing.check
    }
}

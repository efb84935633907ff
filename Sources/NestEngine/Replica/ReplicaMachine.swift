import DequeModule
import NestModel
import NestProtocol
import NestStore

/// Decides what a node of a cluster does next: renew its lease, read the log, claim the lead, take a snapshot.
///
/// A pure value. Its driver asks for the next action, performs it, and reports the result; events of the engine come in
/// between. Times are monotonic milliseconds. What is true is decided by the chain of the log alone: a machine that
/// decides wrongly costs time, never a record.
package struct ReplicaMachine: Sendable {
    package enum Action: Sendable {
        /// Report `done`.
        case renewLease
        /// Report `server`.
        case server
        /// `LogPosition`: the store's, whose chain is looked up. Report `overview`.
        case overview(LogPosition)
        /// Read at most `Limits.logPageRecordsMax` records. Report `records`.
        case records(after: Int64)
        /// Report `claimed`.
        case claim(isSessionGone: Bool)
        /// Give the lead up. Report `done`.
        case release
        /// Give the lead to another node, if it is alive. Report `released`.
        case giveLead(to: Identifier128)
        /// Take the lead from a node that was given it in this epoch and has not claimed it, so that any node may.
        /// Report `done`.
        case withdraw(Identifier128, epoch: Int64)
        /// Let the link follow this leader from the store's place on; `nil`: there is none. Report `followed`.
        case follow(Leader?)
        /// The request to move the lead has ended; no report.
        case moved(Result<Void, NestError>)
        /// Report `done`.
        case setDoubt(Bool)
        /// Write this node's position to the log. Report `done`.
        case note(position: Int64, isDrained: Bool)
        /// Report `surveyed`.
        case survey
        /// Remove snapshots, and then the records up to a position. Report `done` when that has begun.
        case truncate(through: Int64, removing: [LogSnapshot])
        /// Take a snapshot on another thread. Report `snapshotTaken` when it has ended; no other report.
        case snapshot
        /// An input for the engine; no report.
        case input(LogInput)
        /// Open the store again or join; the machine has ended.
        case reopen(ReplicaReopening)
        /// The log contradicts itself: stop with 65. The machine has ended.
        case stop(LogFailure)
        /// Nothing to do until this time, or until an event.
        case wait(until: Int64)
    }

    /// The result of the last action.
    package enum Report: Sendable {
        case done
        case failed(LogFailure)
        case server(LogServer)
        case overview(LogOverview)
        case records([LogEntry])
        /// `nil`: another node leads.
        case claimed(epoch: Int64?)
        case surveyed(Survey)
        /// Whether the lead was given to that node.
        case released(Bool)
        /// Whether the log lists the leader.
        case followed(Bool)
    }

    /// The leader that the link follows.
    package struct Leader: Sendable, Equatable {
        package let id: Identifier128
        package let name: String
        package let address: String
        /// The epoch in which it leads.
        package let epoch: Int64
    }

    enum Duty: Equatable {
        case following
        case claiming(Claim)
        case leading(epoch: Int64)
        /// The store cannot be used any more, or the node is stopping.
        case ended
    }

    /// An attempt to lead.
    struct Claim: Equatable {
        let epoch: Int64
        var server: LogServer?
        /// Whether the log was looked at since the claim, for the doubt.
        var hasOverview = false
        /// Whether all records were read since the claim.
        var hasReadAll = false
        /// Whether the engine was asked to append the leader record.
        var isAppending = false
        /// Whether the leader record is in the log. It must be in the log of the server that it names: another one may
        /// have lost records between the claim and the leader record.
        var isElected = false
    }

    /// Records that were read together.
    struct Page {
        /// The position of the last one.
        let last: Int64
        /// Their bytes in memory.
        let bytes: Int
    }

    /// The bytes of records in memory that the engine has not applied, from which on no more are read.
    package static let unappliedBytesMax = 16 << 20

    /// Intervals in milliseconds.
    package struct Timing: Sendable {
        package var renew = Int64(Limits.leaseRenewSeconds) * 1_000
        package var poll = Int64(Limits.logPollMilliseconds)
        /// The same while the node claims the lead.
        package var claimPoll: Int64 = 20
        package var overview: Int64 = 50
        /// While the node leads, or the leader sends its records.
        package var check: Int64 = 1_000
        /// The time for which a record that the leader has named may be on its way.
        package var late: Int64 = 100
        /// The least time between two attempts to follow the same leader.
        package var follow: Int64 = 250
        /// The time within which a node that was given the lead must claim it.
        package var handover: Int64 = 3_000
        /// The time within which a request to move the lead is answered.
        package var move: Int64 = 5_000
        /// The time for which the leader's session must be seen gone without a break.
        package var sessionGone: Int64 = 150
        package var claimMax: Int64 = 50
        /// What a node waits longer that is behind the log.
        package var claimBehind: Int64 = 100
        package var unanswered = Int64(Limits.logAnswerSeconds - Limits.logCommitSeconds) * 1_000
        package var survey = Int64(Limits.replicaNoteSeconds) * 1_000
        package var lagMax = Int64(Limits.nodeLagSecondsMax) * 1_000
        /// The longest pause after failures, and the pause after a record that could not be applied.
        package var failureMax: Int64 = 1_000

        package init() {}
    }

    let node: Identifier128
    let timing: Timing
    var random: any RandomNumberGenerator & Sendable
    var duty = Duty.following
    /// Where the engine's store is.
    var state: LogState
    /// The last record that the engine was given.
    var readThrough: Int64
    /// The pages of records that the engine was given and has not applied.
    var pages: Deque<Page> = []
    /// The newest position that was seen in the log.
    var head: Int64?
    var base: Int64 = 0
    var doubt = false
    var leader: LogNode?
    /// The epoch of the store in the log.
    var logEpoch: Int64 = 0
    /// The address that the engine knows; the outer `nil`: it has got none yet.
    var toldLeader: String??
    /// Actions that come before all others.
    var outbox: Deque<Action> = []
    /// The action whose report is due.
    var current: Action?

    // MARK: Times

    var renewAt: Int64 = 0
    var overviewAt: Int64 = 0
    var pollAt: Int64 = 0
    var checkAt: Int64 = 0
    var noteAt: Int64 = 0
    var surveyAt: Int64 = 0
    /// Nothing is asked of the log before.
    var pausedUntil: Int64 = 0
    var failureCount = 0
    var claimAt: Int64?
    var sessionGoneSince: Int64?
    /// The epoch in which it was gone.
    var goneEpoch: Int64 = 0
    /// Since when the log's server has a standby although the newest leader record says that it has none.
    var replicatedSince: Int64?
    /// The last time at which the store was at the head of the log.
    var caughtUpAt: Int64? {
        // The first note is from before: it would keep the lead away.
        didSet { if oldValue == nil { self.noteAt = 0 } }
    }
    /// Since when an append has had no answer.
    var uncertainSince: Int64?
    var hasGivenUp = false

    // MARK: The link, and moving the lead

    var link = LinkState.down
    /// The leader that the link was given; the outer `nil`: none yet.
    var followed: Leader??
    /// Whether the link must be given its leader again, when what it lacks has been read in the log.
    var mustFollowAgain = false
    var followAt: Int64 = 0
    /// The leader is not asked for before, because the log did not list it.
    var unlistedUntil: Int64 = 0
    /// Whether the log has been read to its end since the link lacked something.
    var hasReadToEnd = false
    /// A head of the log that the store has not reached, and since when.
    var late: (head: Int64, since: Int64)?
    /// Whether the records are read in the log although the leader sends them.
    var mustRead = false
    var handover: Handover?
    /// Since when a node has been given the lead that has not claimed it.
    var unclaimedSince: Int64?
    package internal(set) var isDrained: Bool
    /// This node's positions at its last notes, oldest first, at least one interval apart.
    var notedPositions: [Int64] = []
    /// When the newest of them was noted.
    var positionNotedAt: Int64?

    var isSnapshotting = false
    /// The engine found a record damaged: unless the store is on another line, the log is damaged.
    var damage: String?
    /// The engine found that the store is not on the line of the log.
    var divergence: String?

    /// `state`: of the open store. `isDrained`: see `setDrained`. `random`: for waits and history ids.
    package init(
        node: Identifier128,
        state: LogState,
        isDrained: Bool = false,
        random: any RandomNumberGenerator & Sendable,
        timing: Timing = Timing()
    ) {
        self.isDrained = isDrained
        self.node = node
        self.state = state
        self.readThrough = state.position.position
        self.random = random
        self.timing = timing
    }

    // MARK: For the server

    package var role: ReplicaRole { if case .leading = self.duty { .leader } else { .follower } }
    /// The epoch in which this node leads.
    package var epoch: Int64? { if case .leading(let epoch) = self.duty { epoch } else { nil } }
    package var position: LogPosition { self.state.position }
    package var headPosition: Int64? { self.head }
    package var leaderAddress: String? { self.toldLeader ?? nil }

    /// The time for which the store may have been behind the log; `nil`: it has not been at its head yet.
    package func lagSeconds(now: Int64) -> Double? {
        guard let caughtUpAt else { return nil }
        let isAtHead = (self.head ?? 0) <= self.state.position.position
        return isAtHead && now - caughtUpAt <= 2 * self.timing.renew ? 0 : Double(now - caughtUpAt) / 1_000
    }

    /// Whether the node should get clients.
    package func isReady(now: Int64) -> Bool {
        guard self.duty != .ended, let caughtUpAt else { return false }
        return now - caughtUpAt < self.timing.lagMax
    }

    // MARK: Actions

    /// Returns what to do now. Report its result before the next call.
    package mutating func next(now: Int64) -> Action {
        precondition(self.current == nil, "the last action was not reported")
        let action = self.outbox.popFirst() ?? self.due(now)
        switch action {
        case .input, .wait, .snapshot, .reopen, .stop, .moved: break
        default: self.current = action
        }
        return action
    }

    private mutating func due(_ now: Int64) -> Action {
        guard self.duty != .ended else { return .wait(until: .max) }
        if let action = self.dueMove(now) { return action }
        if let since = self.uncertainSince, !self.hasGivenUp, now - since >= self.timing.unanswered {
            self.hasGivenUp = true
            return .input(.unanswered)
        }
        guard now >= self.pausedUntil else { return .wait(until: self.wakeTime(now)) }
        if now >= self.renewAt { return .renewLease }
        if let action = self.dueFollow(now) { return action }
        if now >= self.overviewAt { return .overview(self.state.position) }
        if self.damage == nil, self.divergence == nil, let action = self.dueByDuty(now) { return action }
        if now >= self.noteAt {
            self.noteAt = now + self.timing.survey
            self.notePosition(now)
            return .note(position: self.state.position.position, isDrained: self.isDrained)
        }
        if now >= self.surveyAt, self.isReady(now: now) {
            self.surveyAt = now + self.timing.survey
            return .survey
        }
        return .wait(until: self.wakeTime(now))
    }

    private mutating func dueByDuty(_ now: Int64) -> Action? {
        switch self.duty {
        case .ended: return nil
        case .leading:
            guard now >= self.checkAt else { return nil }
            self.checkAt = now + self.timing.check
            return .server
        case .following:
            if let claimAt, now >= claimAt, self.uncertainSince == nil, self.mayClaim {
                return .claim(isSessionGone: self.leader.map { $0.isAlive && $0.id != self.node } ?? false)
            }
            return self.dueRecords(now)
        case .claiming(var claim):
            guard !claim.isElected else { return now >= self.checkAt ? .server : nil }
            guard !claim.isAppending, self.uncertainSince == nil else { return nil }
            guard claim.hasOverview else { return .overview(self.state.position) }
            guard let server = claim.server else { return .server }
            guard claim.hasReadAll, self.readThrough == self.state.position.position else {
                return self.dueRecords(now)
            }
            claim.isAppending = true
            self.duty = .claiming(claim)
            let writer = LogRecord.Writer(node: self.node, epoch: claim.epoch)
            return .input(.lead(writer, server, renewsHistory: self.newHistory(server)))
        }
    }

    /// Returns the next records to read, if the engine can take more.
    private func dueRecords(_ now: Int64) -> Action? {
        let isFull =
            self.readThrough - self.state.position.position >= 2 * Int64(Limits.logPageRecordsMax)
            || self.pages.reduce(0) { $0 + $1.bytes } >= Self.unappliedBytesMax
        guard now >= self.recordsAt, self.uncertainSince == nil, !isFull else { return nil }
        return .records(after: self.readThrough)
    }

    /// Reads from the store's position on: the engine may not have what it was given.
    mutating func readAgain() {
        self.readThrough = self.state.position.position
        self.pages = []
    }

    /// Returns a new history id if acknowledged records may have been lost.
    private mutating func newHistory(_ server: LogServer) -> Identifier128? {
        guard self.state.mustRenewHistory(on: server, doubt: self.doubt) else { return nil }
        return Identifier128.random(using: &self.random)
    }

    /// Returns the next time at which something is due. What is due already waits for an event.
    private func wakeTime(_ now: Int64) -> Int64 {
        if now < self.pausedUntil { return self.orGiveUp(self.pausedUntil) }
        var times = [self.renewAt, self.overviewAt, self.noteAt, self.surveyAt]
        if let handover { times.append(handover.deadline) }
        switch self.duty {
        case .leading: times.append(self.checkAt)
        case .following:
            times.append(self.recordsAt)
            if self.mustFollowAgain { times.append(self.followAt) }
            if let claimAt { times.append(claimAt) }
        case .claiming, .ended: times += [self.pollAt, self.checkAt]
        }
        return self.orGiveUp(times.filter { $0 > now }.min() ?? now + self.timing.overview)
    }

    private func orGiveUp(_ time: Int64) -> Int64 {
        guard let since = self.uncertainSince, !self.hasGivenUp else { return time }
        return min(time, since + self.timing.unanswered)
    }

    /// What a node must know to decide about snapshots.
    package struct Survey: Sendable {
        package var nodes: [LogNode]
        /// Those that the log confirms, newest first.
        package var snapshots: [LogSnapshot]
        /// Those that are of no use to the log.
        package var stale: [LogSnapshot]
        /// The bytes of the records behind the newest snapshot.
        package var recordBytes: Int64
        /// Microseconds since 1970-01-01 UTC.
        package var time: Int64

        package init(
            nodes: [LogNode],
            snapshots: [LogSnapshot],
            stale: [LogSnapshot] = [],
            recordBytes: Int64,
            time: Int64
        ) {
            self.nodes = nodes
            self.snapshots = snapshots
            self.stale = stale
            self.recordBytes = recordBytes
            self.time = time
        }
    }
}

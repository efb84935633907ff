import Logging
import NIOConcurrencyHelpers
import NIOCore
import NestModel
import NestStore

/// The log lines and counters of a node of a cluster. Lives as long as the process, over openings of the store.
final class ReplicaJournal: Sendable {
    private struct State {
        /// Since when the log has not answered.
        var failingSince: NIODeadline?
        var loggedAt: NIODeadline?
        var isLeading = false
        var newestSnapshotMade: Int64?
        /// The leader to which the link was last logged as up.
        var linked: FollowedLeader?
        var linkLoggedAt: NIODeadline?
    }

    let metrics: ReplicaMetrics
    private let logger: Logger
    private let state = NIOLockedValueBox(State())
    /// A log that cannot be reached is logged once in this time.
    private static let repeatInterval = TimeAmount.seconds(10)

    init(_ logger: Logger, _ metrics: ReplicaMetrics) {
        self.logger = logger
        self.metrics = metrics
    }

    // MARK: The log's answers

    func failed(_ failure: LogFailure) {
        let now = NIODeadline.now()
        let mustLog = self.state.withLockedValue { state in
            if state.failingSince == nil { state.failingSince = now }
            guard state.loggedAt.map({ now >= $0 + Self.repeatInterval }) ?? true else { return false }
            state.loggedAt = now
            return true
        }
        if mustLog { self.logger.warning("cluster.waiting", metadata: ["reason": "\(failure)"]) }
    }

    func answered() {
        let since = self.state.withLockedValue { state in
            defer { (state.failingSince, state.loggedAt) = (nil, nil) }
            return state.failingSince
        }
        guard let since else { return }
        let seconds = (NIODeadline.now() - since).nanoseconds / 1_000_000_000
        self.logger.notice("cluster.reached", metadata: ["afterSeconds": "\(seconds)"])
    }

    // MARK: Opening

    func joined(_ snapshot: LogSnapshot, reason: String) {
        self.logger.notice(
            "cluster.joined",
            metadata: ["position": "\(snapshot.position)", "revision": "\(snapshot.revision)", "reason": "\(reason)"]
        )
    }

    func opened(at state: LogState, node: LogNode) {
        self.state.withLockedValue { $0.isLeading = false }
        self.logger.info(
            "cluster.opened",
            metadata: ["node": "\(node.name)", "address": "\(node.address)", "position": "\(state.position)"]
        )
    }

    func diverged(_ reason: String, kept path: String?) {
        self.metrics.countDivergence()
        self.logger.error(
            "cluster.diverged",
            metadata: [
                "reason": "\(reason)", "kept": "\(path ?? "nothing: the store was in memory")",
                "note": "acknowledged writes may be missing from the cluster; the file has what this node had",
            ]
        )
    }

    func reopening(_ reason: String) {
        self.logger.notice("cluster.reopening", metadata: ["reason": "\(reason)"])
    }

    func left() { self.logger.info("cluster.left") }

    // MARK: Roles

    func leading(_ log: LogState) {
        let isNew = self.state.withLockedValue { state in
            defer { state.isLeading = true }
            return !state.isLeading
        }
        if isNew { self.metrics.countFailover() }
        let metadata: Logger.Metadata = ["epoch": "\(log.writer.epoch)", "position": "\(log.position)"]
        self.logger.notice("cluster.leading", metadata: metadata)
    }

    func following() {
        let wasLeading = self.state.withLockedValue { state in
            defer { state.isLeading = false }
            return state.isLeading
        }
        if wasLeading { self.logger.notice("cluster.following") }
    }

    func leadRefused(_ error: NestError) {
        self.logger.warning("cluster.lead_refused", metadata: ["reason": "\(error)"])
    }

    func applyFailed(_ error: NestError) {
        self.logger.error("cluster.apply_failed", metadata: ["reason": "\(error)"])
    }

    func damaged(_ reason: String) {
        self.logger.error("cluster.damaged", metadata: ["reason": "\(reason)"])
    }

    func uncertain() {
        let note = "the log has not answered an append: writes wait"
        self.logger.warning("cluster.uncertain", metadata: ["note": "\(note)"])
    }

    func settled() { self.logger.notice("cluster.settled") }

    // MARK: The link to the leader

    func linkUp(_ leader: FollowedLeader) {
        self.metrics.recordLink(isUp: true)
        let isNew = self.state.withLockedValue { state in
            defer { state.linked = leader }
            return state.linked != leader
        }
        guard isNew else { return }
        self.logger.notice(
            "cluster.link_up",
            metadata: ["leader": "\(leader.name)", "address": "\(leader.address)", "epoch": "\(leader.epoch)"]
        )
    }

    /// Also called for each attempt to connect that fails.
    func linkDown(_ leader: FollowedLeader, because reason: String) {
        let now = NIODeadline.now()
        let mustLog = self.state.withLockedValue { state in
            guard state.linkLoggedAt.map({ now >= $0 + Self.repeatInterval }) ?? true else { return false }
            state.linkLoggedAt = now
            state.linked = nil
            return true
        }
        guard mustLog else { return }
        self.logger.warning(
            "cluster.link_down",
            metadata: [
                "leader": "\(leader.name)", "address": "\(leader.address)",
                "reason": "\(LogText.printable(reason))",
            ]
        )
    }

    // MARK: Snapshots

    func snapshotTaken(_ snapshot: LogSnapshot, isNew: Bool) {
        guard isNew else { return }
        self.logger.info(
            "cluster.snapshot",
            metadata: ["position": "\(snapshot.position)", "bytes": "\(snapshot.byteCount)"]
        )
    }

    func snapshotFailed(_ reason: String) {
        self.logger.error("cluster.snapshot_failed", metadata: ["reason": "\(reason)"])
    }

    func newestSnapshot(_ snapshot: LogSnapshot, now: Int64) {
        self.state.withLockedValue { $0.newestSnapshotMade = snapshot.made }
        self.recordSnapshotAge(now: now)
    }

    func recordSnapshotAge(now: Int64) {
        guard let made = self.state.withLockedValue({ $0.newestSnapshotMade }) else { return }
        self.metrics.recordSnapshot(ageSeconds: max(0, now - made) / 1_000_000)
    }

    func truncated(through position: Int64, snapshots: Int) {
        self.logger.info("cluster.truncated", metadata: ["through": "\(position)", "snapshots": "\(snapshots)"])
    }

    func truncationFailed(_ reason: String) {
        self.logger.warning("cluster.truncation_failed", metadata: ["reason": "\(reason)"])
    }

    func verified(_ verification: LogVerification) {
        self.logger.info(
            "cluster.verified",
            metadata: ["position": "\(verification.position)", "digest": "\(verification.digest)"]
        )
    }

    func verificationFailed(_ reason: String) {
        self.logger.error("cluster.verification_failed", metadata: ["reason": "\(reason)"])
    }
}

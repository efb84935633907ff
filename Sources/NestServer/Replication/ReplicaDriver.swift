import Dispatch
import Logging
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import NestEngine
import NestModel
import NestProtocol
import NestStore

/// Performs what the `ReplicaMachine` of an open store decides, on a thread of its own, which waits for the log.
///
/// The engine's thread reports its events to `take`, which never waits.
final class ReplicaDriver: Sendable {
    /// Why the open store cannot be used any more.
    enum Ending: Sendable {
        case reopen(ReplicaReopening)
        case stop(LogFailure)
    }

    private struct Inbox {
        var events: [ReplicaEvent] = []
        /// Whether the snapshot that has ended succeeded.
        var snapshotEnded: Bool?
        var isStopping = false
        /// Since when the driver's thread performs an action, in milliseconds.
        var busySince: Int64?
        /// While the node leads, or the leader sends its records, it need not hear at once of each commit.
        var mayWait = false
        var link = LinkState.down
        var hasNewLink = false
        var isDrained: Bool?
        /// A request to move the lead that the machine does not have yet.
        var move: Identifier128?
        /// Answers the open request to move the lead.
        var onMoved: ClusterAnswers.Reply<Void>?
    }

    private let log: any ClusterLog
    private let engine: EngineThread
    private let status: ReplicaStatus
    private let journal: ReplicaJournal
    private let snapshots: SnapshotTaker
    private let inbox = NIOLockedValueBox(Inbox())
    private let wake = DispatchSemaphore(value: 0)
    private let thread = NIOThreadPool(numberOfThreads: 1)
    private let spoolDirectory: String
    private let onLeader: @Sendable (FollowedLeader?) -> Void
    private let onEnd: @Sendable (Ending) -> Void

    /// `onLeader`: called on the driver's thread with the leader that the link must follow from `ReplicaStatus.place`
    /// on; `nil`: no node leads, or this one. Called again with the same leader when this node has read in the log what
    /// the link did not have. `onEnd`: called at most once, on the driver's thread.
    init(
        _ log: any ClusterLog,
        engine: EngineThread,
        status: ReplicaStatus,
        journal: ReplicaJournal,
        snapshots: SnapshotTaker,
        spoolDirectory: String,
        onLeader: @escaping @Sendable (FollowedLeader?) -> Void = { _ in },
        onEnd: @escaping @Sendable (Ending) -> Void
    ) {
        self.log = log
        self.engine = engine
        self.status = status
        self.journal = journal
        self.snapshots = snapshots
        self.spoolDirectory = spoolDirectory
        self.onLeader = onLeader
        self.onEnd = onEnd
    }

    func start(at state: LogState) {
        self.thread.start()
        self.thread.submit { _ in
            // Reading large records may take longer than a lease lasts.
            let keeper = LeaseKeeper(self.log) { [weak self] in self?.isBusy ?? false }
            defer { keeper.stop() }
            let random = SystemRandomNumberGenerator()
            let isDrained = self.status.withState { $0.isDrained }
            self.run(ReplicaMachine(node: self.log.node.id, state: state, isDrained: isDrained, random: random))
            self.onLeader(nil)
            self.inbox.withLockedValue { $0.isStopping = true }
            self.moved(.failure(Self.stopping))
        }
    }

    /// Called on the engine's thread.
    func take(_ event: ReplicaEvent) {
        if case .appended = event { return }
        if case .applied(let state) = event { self.status.advance(to: state.position) }
        let mustWake = self.inbox.withLockedValue { inbox in
            guard case .applied = event else {
                inbox.events.append(event)
                return true
            }
            if case .applied? = inbox.events.last { inbox.events.removeLast() }
            inbox.events.append(event)
            return !inbox.mayWait
        }
        if mustWake { self.wake.signal() }
    }

    /// Takes the state of the link to the leader: at each change, and with each head that the leader names. Never
    /// waits; any thread may call it.
    func note(_ link: LinkState) {
        let position = self.status.withState { $0.position }
        let mustWake = self.inbox.withLockedValue { inbox in
            let before = inbox.link
            (inbox.link, inbox.hasNewLink) = (link, true)
            if case .streaming(let head) = link, case .streaming = before { return head > position }
            return true
        }
        if mustWake { self.wake.signal() }
    }

    /// Gives the lead to another node. Never waits; `reply` is called on the driver's thread.
    func moveLead(to node: Identifier128, _ reply: @escaping ClusterAnswers.Reply<Void>) {
        let refusal = self.inbox.withLockedValue { inbox -> NestError? in
            if inbox.isStopping { return Self.stopping }
            guard inbox.onMoved == nil else { return NestError(.busy, "the lead is being moved already: try again") }
            (inbox.move, inbox.onMoved) = (node, reply)
            return nil
        }
        if let refusal { return reply(.failure(refusal)) }
        self.wake.signal()
    }

    private func moved(_ result: Result<Void, NestError>) {
        let reply = self.inbox.withLockedValue { inbox in
            defer { (inbox.move, inbox.onMoved) = (nil, nil) }
            return inbox.onMoved
        }
        reply?(result)
    }

    /// A drained node never claims the lead.
    func setDrained(_ isDrained: Bool) {
        self.status.withState { $0.isDrained = isDrained }
        self.inbox.withLockedValue { $0.isDrained = isDrained }
        self.wake.signal()
    }

    private static let stopping = NestError(.shuttingDown, "the server is stopping: connect again")

    /// Gives the lead up, if this node has it, and ends the thread. The engine may still append: the next leader's
    /// record decides what comes before it.
    func stop() async {
        self.inbox.withLockedValue { $0.isStopping = true }
        self.wake.signal()
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            self.thread.shutdownGracefully { _ in continuation.resume() }
        }
        await self.snapshots.stop()
    }

    private var isBusy: Bool {
        self.inbox.withLockedValue { inbox in
            inbox.busySince.map { Self.now() - $0 >= Int64(Limits.leaseRenewSeconds) * 500 } ?? false
        }
    }

    // MARK: The thread

    private static func now() -> Int64 { Int64(DispatchTime.now().uptimeNanoseconds / 1_000_000) }

    /// The longest wait in milliseconds.
    private static let waitMax: Int64 = 1_000

    private func run(_ start: ReplicaMachine) {
        var machine = start
        var isStopping = false
        while true {
            let inbox = self.takeInbox()
            for event in inbox.events {
                self.note(event)
                machine.take(event, now: Self.now())
            }
            if inbox.hasNewLink { machine.take(inbox.link, now: Self.now()) }
            if let isDrained = inbox.isDrained { machine.setDrained(isDrained, now: Self.now()) }
            if let target = inbox.move { machine.moveLead(to: target, now: Self.now()) }
            if let succeeded = inbox.snapshotEnded { machine.snapshotTaken(now: Self.now(), succeeded: succeeded) }
            if inbox.isStopping, !isStopping {
                isStopping = true
                machine.stop()
            }
            switch machine.next(now: Self.now()) {
            case .wait(let until):
                if isStopping { return }
                self.publish(machine)
                let milliseconds = max(0, min(until, Self.now() + Self.waitMax) - Self.now())
                _ = self.wake.wait(timeout: .now() + .milliseconds(Int(milliseconds)))
            case .input(let input):
                self.note(input)
                self.engine.submit(CollectionOfOne(.log(input)))
            case .snapshot:
                self.snapshots.take { [weak self] succeeded in
                    self?.inbox.withLockedValue { $0.snapshotEnded = succeeded }
                    self?.wake.signal()
                }
            case .moved(let result): self.moved(result)
            case .reopen(let reason):
                return self.onEnd(.reopen(reason))
            case .stop(let failure):
                return self.onEnd(.stop(failure))
            case let action:
                let report = self.perform(action)
                machine.report(report, now: Self.now())
                self.publish(machine)
                // Without the log nothing can be given up.
                if isStopping, case .failed = report { return }
            }
        }
    }

    private func takeInbox() -> Inbox {
        self.inbox.withLockedValue { inbox in
            let taken = inbox
            inbox.events = []
            inbox.snapshotEnded = nil
            (inbox.hasNewLink, inbox.isDrained, inbox.move) = (false, nil, nil)
            return taken
        }
    }

    /// Performs an action that has a report.
    private func perform(_ action: ReplicaMachine.Action) -> ReplicaMachine.Report {
        self.inbox.withLockedValue { $0.busySince = Self.now() }
        defer { self.inbox.withLockedValue { $0.busySince = nil } }
        do throws(LogFailure) {
            let report = try self.tryToPerform(action)
            self.journal.answered()
            return report
        } catch {
            self.journal.failed(error)
            return .failed(error)
        }
    }

    private func tryToPerform(_ action: ReplicaMachine.Action) throws(LogFailure) -> ReplicaMachine.Report {
        switch action {
        case .renewLease: try self.log.renewLease()
        case .server: return .server(try self.server())
        case .overview(let position):
            let overview = try self.log.overview(position: position.position)
            self.note(overview)
            return .overview(overview)
        case .records(let position):
            let countMax = Limits.logPageRecordsMax
            let directory = self.spoolDirectory
            return .records(try self.log.records(after: position, countMax: countMax, directory: directory))
        case .claim(let isSessionGone):
            return .claimed(epoch: try self.log.claim(isSessionGone: isSessionGone))
        case .release: try self.log.release()
        case .giveLead(let target): return .released(try self.log.release(to: target))
        case .withdraw(let node, let epoch): try self.log.withdraw(node, epoch: epoch)
        case .follow(let leader): return .followed(try self.follow(leader))
        case .setDoubt(let doubt): try self.log.setDoubt(doubt)
        case .note(let position, let isDrained): try self.log.note(position: position, isDrained: isDrained)
        case .survey: return .surveyed(try self.survey())
        case .truncate(let position, let removed):
            // Removing takes long: this thread reads the log meanwhile.
            self.snapshots.truncate(through: position, removing: removed)
        case .snapshot, .input, .reopen, .stop, .wait, .moved:
            preconditionFailure("\(action) has no report")
        }
        return .done
    }

    /// Names the leader to the link. Returns whether the log lists it.
    private func follow(_ leader: ReplicaMachine.Leader?) throws(LogFailure) -> Bool {
        guard let leader else {
            self.onLeader(nil)
            return true
        }
        guard let secret = try self.log.secret(of: leader.id) else { return false }
        self.onLeader(
            FollowedLeader(
                node: leader.id,
                name: leader.name,
                address: leader.address,
                epoch: leader.epoch,
                secret: secret
            )
        )
        return true
    }

    private func server() throws(LogFailure) -> LogServer {
        let server = try self.log.server()
        self.journal.metrics.record(server)
        return server
    }

    private func survey() throws(LogFailure) -> ReplicaMachine.Survey {
        // Standbys come and go without a failover.
        _ = try self.server()
        let (snapshots, stale) = try self.sortedSnapshots()
        if let newest = snapshots.first { self.journal.newestSnapshot(newest, now: WallClock.now()) }
        let nodes = try self.log.nodes()
        self.status.withState { $0.hasOthers = nodes.contains { $0.isAlive && $0.id != self.log.node.id } }
        return ReplicaMachine.Survey(
            nodes: nodes,
            snapshots: snapshots,
            stale: stale,
            recordBytes: try self.log.recordBytes(after: snapshots.first?.position.position ?? 0),
            time: WallClock.now()
        )
    }

    /// Returns the snapshots that the log confirms, newest first, and those that are of no use. One that awaits its
    /// record is in neither.
    private func sortedSnapshots() throws(LogFailure) -> (confirmed: [LogSnapshot], stale: [LogSnapshot]) {
        var (confirmed, stale): ([LogSnapshot], [LogSnapshot]) = ([], [])
        for snapshot in try self.log.snapshots() {
            switch SnapshotFinding.of(snapshot, try self.log.overview(position: snapshot.position.position)) {
            case .confirmed: confirmed.append(snapshot)
            case .stale: stale.append(snapshot)
            case .awaitsRecord: break
            }
        }
        return (confirmed, stale)
    }

    // MARK: What others see

    private func publish(_ machine: ReplicaMachine) {
        let lag = machine.lagSeconds(now: Self.now())
        self.inbox.withLockedValue { $0.mayWait = machine.mayWait }
        self.status.withState { $0.lagFloor = machine.lagFloor }
        self.status.note(position: machine.position.position, head: machine.headPosition ?? 0, lagSeconds: lag)
    }

    private func note(_ overview: LogOverview) {
        self.status.withState { state in
            state.epoch = overview.epoch
            state.base = overview.base
            if let leader = overview.leader, leader.isAlive, leader.id != self.log.node.id { state.hasOthers = true }
        }
    }

    private func note(_ input: LogInput) {
        guard case .leader(let address) = input else { return }
        self.status.withState { $0.leader = address }
    }

    private func note(_ event: ReplicaEvent) {
        switch event {
        case .leading(let state):
            self.setLeading(true)
            self.journal.leading(state)
        case .following:
            self.setLeading(false)
            self.journal.following()
        case .uncertain: self.journal.uncertain()
        case .settled: self.journal.settled()
        case .leadRefused(let error): self.journal.leadRefused(error)
        case .applyFailed(let error): self.journal.applyFailed(error)
        case .damaged(let reason): self.journal.damaged(reason)
        case .applied, .appended, .headWanted, .mustReopen, .marked, .markAnswered: break
        }
    }

    private func setLeading(_ isLeading: Bool) {
        self.inbox.withLockedValue { $0.mayWait = isLeading }
        self.status.withState { $0.role = isLeading ? .leader : .follower }
    }
}

import Metrics
import NestModel
import NestStore

/// The metrics of a node of a cluster. A single node has none of them.
final class ReplicaMetrics: Sendable {
    private let role = Gauge(label: "nest.role")
    private let epoch = Gauge(label: "nest.epoch")
    private let position = Gauge(label: "nest.log.position")
    private let head = Gauge(label: "nest.log.head.position")
    private let lag = Gauge(label: "nest.log.lag.seconds")
    private let replicated = Gauge(label: "nest.log.replicated")
    private let snapshotAge = Gauge(label: "nest.snapshot.age.seconds")
    private let append = Timer(label: "nest.log.append")
    private let unknown = Counter(label: "nest.appends.unknown.total")
    private let taken = Counter(label: "nest.appends.taken.total")
    private let failovers = Counter(label: "nest.failovers.total")
    private let diverged = Counter(label: "nest.diverged.total")
    private let link = Gauge(label: "nest.link.up")
    private let forwarded = Counter(label: "nest.forwarded.total")
    private let forwardedAgain = Counter(label: "nest.forwarded.again.total")

    init() {
        // A counter that appears with its first event hides that event from rates.
        let counters = [
            self.unknown, self.taken, self.failovers, self.diverged, self.forwarded, self.forwardedAgain,
        ]
        for counter in counters { counter.increment(by: 0) }
        self.recordLink(isUp: false)
    }

    func record(_ state: ReplicaStatus.State, lagSeconds: Double) {
        self.role.record(state.role == .leader ? 1 : 0)
        self.epoch.record(state.epoch)
        self.position.record(state.position)
        self.head.record(max(state.head, state.position))
        self.lag.record(lagSeconds)
    }

    func record(_ server: LogServer) {
        self.replicated.record(server.isReplicated ? 1 : 0)
    }

    func recordSnapshot(ageSeconds: Int64) {
        self.snapshotAge.record(ageSeconds)
    }

    func appended(nanoseconds: UInt64) {
        self.append.recordNanoseconds(Int64(clamping: nanoseconds))
    }

    func countUnknown() { self.unknown.increment() }
    func countTaken() { self.taken.increment() }
    func countFailover() { self.failovers.increment() }
    func countDivergence() { self.diverged.increment() }

    func recordLink(isUp: Bool) { self.link.record(isUp ? 1 : 0) }

    /// `isAgain`: it may have been sent before.
    func countForward(isAgain: Bool) {
        self.forwarded.increment()
        if isAgain { self.forwardedAgain.increment() }
    }
}

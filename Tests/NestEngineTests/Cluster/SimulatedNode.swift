import Foundation
import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport

/// A node of a simulated cluster: a store that stays, and an engine and a machine that come and go.
final class SimulatedNode {
    let index: Int
    private let path: String
    let log: SimulatedLog
    private var random: SeededRandom
    private(set) var id = Identifier128(high: 0, low: 0)
    private(set) var store: Store?
    private(set) var engine: Engine?
    private(set) var machine: ReplicaMachine?
    /// The leader that its link would follow.
    private(set) var followed: ReplicaMachine.Leader?
    private(set) var appender: SimulatedAppender?
    /// Whether the node cannot reach the log.
    var isCut = false { didSet { self.setCut() } }
    var isFaulty = true { didSet { self.appender?.isFaulty = self.isFaulty } }
    /// Microseconds that its wall clock is ahead.
    var clockOffset: Int64 = 0
    /// Takes the effects of each turn.
    var deliver: (SimulatedNode, [EngineEffect]) throws -> Void = { _, _ in }
    /// Called when the node's connections are gone.
    var disconnect: (SimulatedNode) -> Void = { _ in }
    private(set) var ledCount = 0
    private(set) var reopenings: [ReplicaReopening] = []
    private(set) var settledCount = 0
    private var hasNewHistory = false
    /// Whether the node asks the log for its newest position when its engine wants to know it.
    var answersQuestions = true
    private var questions: [UInt64] = []
    /// Its link to the leader.
    private(set) lazy var link = SimulatedLink(of: self)
    /// The links of other nodes to this one.
    var links: [SimulatedLink] = []
    /// The digests of its tables at the marks.
    private(set) var digests: [LogPosition: Identifier128] = [:]

    static let timing: ReplicaMachine.Timing = {
        var timing = ReplicaMachine.Timing()
        (timing.renew, timing.poll, timing.overview, timing.check) = (30, 3, 10, 20)
        (timing.sessionGone, timing.claimMax, timing.claimBehind) = (20, 8, 15)
        (timing.unanswered, timing.survey, timing.lagMax, timing.failureMax) = (60, 150, 300, 40)
        return timing
    }()

    init(_ index: Int, path: String, _ log: SimulatedLog, _ random: SeededRandom) throws {
        self.index = index
        self.path = path
        self.log = log
        self.random = random
        try Data(ClusterTemplate.of(self.log).file).write(to: URL(fileURLWithPath: path))
        try self.start(isNew: true)
    }

    var isUp: Bool { self.engine != nil }
    private var now: Int64 { self.log.now * 1_000 + 1_700_000_000_000_000 + self.clockOffset }

    // MARK: Start and end

    func start(isNew: Bool) throws {
        if isNew { self.id = Identifier128.random(using: &self.random) }
        let appender = SimulatedAppender(self.log, self.id, SeededRandom(seed: self.random.next()))
        appender.isFaulty = self.isFaulty
        self.appender = appender
        self.setCut()
        var configuration = Store.Configuration(location: .file(self.path), model: ClusterTemplate.of(self.log).model)
        configuration.log = appender
        let store = try Store(configuration, newHistoryID: Identifier128(high: 0, low: 1))
        self.store = store
        self.engine = try Engine(store: store, startID: Identifier128.random(using: &self.random))
        self.machine = ReplicaMachine(
            node: self.id,
            state: store.logState!,
            random: SeededRandom(seed: self.random.next()),
            timing: Self.timing
        )
        self.log.leases[self.id] = self.log.now + SimulatedLog.leaseMilliseconds
    }

    private func setCut() {
        self.appender?.isCut = self.isCut
        if self.isCut { self.log.sessions.remove(self.id) }
    }

    /// The process ends; its store stays.
    func crash() throws { try self.close() }

    private func close() throws {
        self.log.sessions.remove(self.id)
        try self.engine?.close()
        (self.engine, self.store, self.machine, self.appender) = (nil, nil, nil, nil)
        self.questions = []
        self.disconnect(self)
        try self.link.end()
        let links = self.links
        self.links = []
        for link in links { try link.loseLeader() }
    }

    private func reopen(_ reason: ReplicaReopening) throws {
        self.reopenings.append(reason)
        let position = self.store!.logState!.position.position
        try self.close()
        switch reason {
        case .newHistory: break
        case .diverged:
            _ = try Store.setAside(self.path, divergedAt: position)
            try self.join()
        case .behindLog, .cut: try self.join()
        }
        try self.start(isNew: false)
    }

    private func join() throws {
        guard let (description, snapshot) = self.log.snapshots.first else {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: self.path + suffix) }
            return try Data(ClusterTemplate.of(self.log).file).write(to: URL(fileURLWithPath: self.path))
        }
        let download = try SnapshotDownload(description, at: self.path)
        for part in 0..<description.partCount { try download.add(try snapshot.part(part)) }
        try download.publish(store: 1)
    }

    // MARK: Work

    /// `turn`: counts the turns that only a backlog has started.
    func perform(_ inputs: [EngineInput], isLast: Bool = false, turn: Int = 0) throws {
        guard let engine else { return }
        let effects = SimulatedLink.deliver(engine.perform(inputs, now: self.now), self.log.linkMutant)
        if let failure = engine.failure { self.log.violations.append("node \(self.index): \(failure)") }
        // The process may end before its effects leave it.
        if isLast { return try self.crash() }
        for case .forward(let effect) in effects {
            self.log.trace.append("node \(self.index): \(effect)".prefix(400).description)
            self.link.take(effect)
        }
        if !Seeds.isUsual {
            for input in inputs { self.log.trace.append("node \(self.index) gets \(input)".prefix(300).description) }
            for case .reply(let id, let request, let reply) in effects {
                self.log.trace.append("node \(self.index) replies \(id) \(request) \(reply)".prefix(300).description)
            }
        }
        for link in self.links { link.take(effects) }
        for case .replica(let event) in effects {
            self.machine?.take(event, now: self.log.now)
            if case .marked = event {
            } else {
                self.log.trace.append("node \(self.index): \(event)".prefix(300).description)
            }
            switch event {
            case .leading: self.ledCount += 1
            case .settled: self.settledCount += 1
            case .mustReopen(.newHistory): self.hasNewHistory = true
            case .headWanted(let number): self.questions.append(number)
            case .marked(let position): self.digests[position] = try self.digest()
            default: break
            }
        }
        try self.deliver(self, effects)
        try self.checkPosition()
        guard engine.hasBacklog else { return }
        guard turn < 200 else { return self.log.violations.append("node \(self.index) has a backlog that stays") }
        try self.perform([], turn: turn + 1)
    }

    /// Applies a record as a follower that has read it from the log.
    func feed(_ entry: LogEntry) throws {
        self.hasNewHistory = false
        try self.perform([.log(.entries([entry]))])
        guard self.hasNewHistory else { return }
        try self.close()
        try self.start(isNew: false)
    }

    func digest() throws -> Identifier128 { try self.store!.reader.beginDigest().compute() }

    /// What the node has committed is in the log, unless the log has lost it.
    private func checkPosition() throws {
        guard let store, let position = store.logState?.position, self.log.lossCount == 0 else { return }
        if let chain = self.log.chain(at: position.position), chain == position.chain { return }
        guard position.position > self.log.base else { return }
        self.log.violations.append("node \(self.index) has committed \(position), which is not in the log")
    }

    /// Performs what the machine wants, and what its threads would do meanwhile.
    func step() throws {
        if self.random.oneIn(2), let (position, outcome) = self.appender?.retry() {
            try self.perform([.log(.resolved(outcome, of: position))])
        }
        if self.answersQuestions, let number = self.questions.popLast() {
            let answer: Result<Int64, NestError> =
                self.isCut ? .failure(NestError(.logUnavailable, "cut off")) : .success(self.log.head.position)
            try self.perform([.log(.head(number: number, answer))])
        }
        for _ in 0..<8 {
            guard let action = self.machine?.next(now: self.log.now) else { return }
            if case .wait = action { break }
            try self.perform(action)
        }
        if self.random.oneIn(6) { try self.perform([.tick]) }
    }

    private func perform(_ action: ReplicaMachine.Action) throws {
        switch action {
        case .wait, .moved: break
        case .input(let input): try self.perform([.log(input)])
        case .reopen(let reason): try self.reopen(reason)
        case .stop(let failure): self.log.violations.append("node \(self.index) stops: \(failure)")
        case .snapshot:
            if let snapshot = try self.store?.reader.snapshot(bytesLeftMin: 0) { self.log.add(snapshot) }
            self.machine?.snapshotTaken(now: self.log.now, succeeded: true)
        default:
            let fails = self.isCut || self.isFaulty && self.random.oneIn(40)
            let report = fails ? .failed(.unavailable("cut off")) : self.ask(action)
            self.machine?.report(report, now: self.log.now)
        }
    }

    /// Asks the log.
    private func ask(_ action: ReplicaMachine.Action) -> ReplicaMachine.Report {
        let log = self.log
        switch action {
        case .renewLease:
            log.leases[self.id] = log.now + SimulatedLog.leaseMilliseconds
            return .done
        case .server: return .server(log.server)
        case .overview(let position): return .overview(log.overview(position.position))
        case .records(let position): return .records(log.entries(after: position))
        case .claim(let isSessionGone): return .claimed(epoch: log.claim(self.id, isSessionGone: isSessionGone))
        case .release: log.release(self.id)
        case .giveLead(let target): return .released(log.release(self.id, to: target))
        case .withdraw(let node, let epoch): log.withdraw(node, epoch: epoch)
        case .follow(let leader):
            self.followed = leader
            return .followed(true)
        case .setDoubt(let doubt): log.doubt = doubt
        case .truncate(let position, let removing): log.truncate(through: position, removing: removing)
        case .survey:
            let snapshots = log.snapshots.map(\.0)
            // A node's wall clock decides about the age.
            return .surveyed(
                ReplicaMachine.Survey(
                    nodes: log.leases.keys.map(log.node),
                    snapshots: snapshots,
                    recordBytes: 0,
                    time: log.now * 1_000 + (self.random.oneIn(3) ? 100 * 3_600 * 1_000_000 : 0)
                )
            )
        case .note, .wait, .input, .reopen, .stop, .snapshot, .moved: break
        }
        return .done
    }
}

/// The first state of all simulated clusters.
struct ClusterTemplate {
    let model: ManagedObjectModel
    let file: [UInt8]
    let entry: LogEntry
    let record: LogRecord

    static let historyID = Identifier128(high: 5, low: 5)
    static let replicated = try! ClusterTemplate(isReplicated: true)
    static let single = try! ClusterTemplate(isReplicated: false)

    static let withValues = try! ClusterTemplate(isReplicated: true, EngineFixture.modelWithValues)

    static func of(isReplicated: Bool, hasValues: Bool = false) -> ClusterTemplate {
        hasValues ? Self.withValues : isReplicated ? Self.replicated : Self.single
    }
    static func of(_ log: SimulatedLog) -> ClusterTemplate {
        Self.of(isReplicated: log.server.isReplicated, hasValues: log.hasValues)
    }

    private init(isReplicated: Bool, _ model: ManagedObjectModel = .nestedList) throws {
        self.model = model
        let directory = TemporaryDirectory(inMemory: true)
        let path = directory.path + "/nest.sqlite"
        let store = try Store(
            .init(location: .file(path), model: model),
            newHistoryID: Self.historyID
        )
        let (record, position) = try store.enterCluster(
            store: 1,
            writer: .init(node: Identifier128(high: 0, low: 0), epoch: 1),
            server: LogServer(timeline: 1, isReplicated: isReplicated),
            now: 1_000_000
        )
        try store.close()
        self.file = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        self.record = record
        self.entry = LogEntry(position: position, bytes: record.bytes)
    }
}

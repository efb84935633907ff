import NestEngine
import NestModel
import NestProtocol
import NestStore
import NestTestSupport

/// A log in memory with a clock of its own, as PostgreSQL would be: conditional appends, leases, failovers with and
/// without loss. It checks the log's invariants at each append.
final class SimulatedLog: @unchecked Sendable {
    /// A fault of the implementation that the simulation must find.
    enum Mutant: CaseIterable {
        /// Records are appended behind whatever is newest.
        case noChainCondition
        /// An append that is sent again has other bytes.
        case reencodingRetry
        /// The store commits before the log has the record.
        case commitBeforeAppend
        /// A client that sends a write again uses another key.
        case forgottenKey
    }

    struct Record {
        var entry: LogEntry
        var epoch: Int64
        var head: Revision
        /// The lease's state when it was appended, for failovers.
        var claim: (epoch: Int64, leader: Identifier128?)
    }

    struct Append {
        var bytes: LogBytes
        var chain: Chain
        var after: LogPosition

        /// The record's place.
        var position: LogPosition { LogPosition(position: self.after.position + 1, chain: self.chain) }
    }

    let mutant: Mutant?
    var linkMutant: SimulatedLink.Mutant?
    /// All records from position 0 on, also those that were truncated.
    private(set) var records: [Record]
    private(set) var base: Int64 = 0
    private(set) var server: LogServer
    private(set) var epoch: Int64 = 1
    private(set) var leader: Identifier128?
    var doubt = false
    /// Milliseconds.
    var now: Int64 = 0
    /// The end of the lease of each node.
    var leases: [Identifier128: Int64] = [:]
    /// The timeline at the newest claim of each node.
    private var claimedTimelines: [Identifier128: UInt32] = [:]
    /// The nodes whose append session is alive.
    var sessions: Set<Identifier128> = []
    /// Appends that arrive later, or never.
    var late: [Append] = []
    private(set) var snapshots: [(LogSnapshot, StoreSnapshot)] = []
    private(set) var lossCount = 0
    private(set) var failoverCount = 0
    var violations: [String] = []
    /// All ids that clients know to be reserved.
    var reserved: Set<ObjectID> = []
    /// What has happened, to find out why an invariant broke.
    var trace: [String] = []

    static let leaseMilliseconds: Int64 = 90

    /// Whether the stores of the cluster have large values.
    let hasValues: Bool

    init(isReplicated: Bool, _ mutant: Mutant?, hasValues: Bool = false) {
        let first = ClusterTemplate.of(isReplicated: isReplicated, hasValues: hasValues)
        self.hasValues = hasValues
        self.mutant = mutant
        self.server = LogServer(timeline: 1, isReplicated: isReplicated)
        self.records = [
            Record(entry: first.entry, epoch: first.record.writer.epoch, head: first.record.head, claim: (1, nil))
        ]
    }

    var head: LogPosition { self.records[self.records.count - 1].entry.position }

    func chain(at position: Int64) -> Chain? {
        guard position > self.base || position == 0 && self.base == 0, position < self.records.count else { return nil }
        return self.records[Int(position)].entry.position.chain
    }

    // MARK: Appends

    func insert(_ append: Append) -> AppendOutcome {
        if self.mutant == .noChainCondition {
            let position = LogPosition(position: self.head.position + 1, chain: append.chain)
            self.add(LogEntry(position: position, bytes: append.bytes))
            return .appended
        }
        let position = append.after.position + 1
        if position <= self.base { return .taken }
        if let chain = self.chain(at: position) { return chain == append.chain ? .appended : .taken }
        guard self.chain(at: append.after.position) == append.after.chain else { return .behind }
        self.add(LogEntry(position: LogPosition(position: position, chain: append.chain), bytes: append.bytes))
        return .appended
    }

    /// Appends for a node. After a failover only a leader that has claimed again may append.
    func insert(_ append: Append, of node: Identifier128) -> AppendOutcome {
        if self.claimedTimelines[node, default: self.server.timeline] == self.server.timeline {
            return self.insert(append)
        }
        let outcome = self.chain(at: append.after.position + 1) == append.chain
        return outcome ? .appended : self.isBehind(append) ? .behind : .taken
    }

    private func isBehind(_ append: Append) -> Bool {
        append.after.position >= self.base && self.chain(at: append.after.position + 1) == nil
            && self.chain(at: append.after.position) != append.after.chain
    }

    /// Appends a record, and checks the invariants of the log.
    private func add(_ entry: LogEntry) {
        guard let record = try? LogRecord(decoding: entry.bytes) else { return self.violations.append("no record") }
        let before = self.records[self.records.count - 1]
        let chain = try? before.entry.position.chain.followed(by: entry.bytes, at: entry.position.position)
        if chain != entry.position.chain { self.violations.append("the chain breaks at \(entry.position)") }
        if record.writer.epoch < before.epoch {
            self.violations.append("epoch \(record.writer.epoch) after \(before.epoch) at \(entry.position)")
        }
        if let row = record.row {
            if row.first != before.head.next { self.violations.append("revision \(row.first) after \(before.head)") }
        } else if record.head != before.head {
            self.violations.append("a head without a revision at \(entry.position)")
        }
        let epoch = record.kind == .leader ? record.writer.epoch : before.epoch
        self.records.append(
            Record(entry: entry, epoch: epoch, head: record.head, claim: (self.epoch, self.leader))
        )
    }

    // MARK: Leases

    func isAlive(_ node: Identifier128) -> Bool { (self.leases[node] ?? 0) > self.now }

    func claim(_ node: Identifier128, isSessionGone: Bool) -> Int64? {
        let isFree = self.leader.map { $0 == node || isSessionGone || !self.isAlive($0) } ?? true
        guard isFree else { return nil }
        self.leader = node
        self.epoch += 1
        self.sessions.insert(node)
        self.claimedTimelines[node] = self.server.timeline
        return self.epoch
    }

    func release(_ node: Identifier128, to target: Identifier128) -> Bool {
        guard self.leader == node, self.isAlive(target) else { return false }
        self.leader = target
        return true
    }

    func withdraw(_ node: Identifier128, epoch: Int64) {
        if self.leader == node, self.epoch == epoch { self.leader = nil }
    }

    func release(_ node: Identifier128) { if self.leader == node { self.leader = nil } }

    func node(_ id: Identifier128) -> LogNode {
        LogNode(id: id, name: id.hex, address: id.hex, version: "", isAlive: self.isAlive(id))
    }

    func overview(_ position: Int64) -> LogOverview {
        LogOverview(
            head: self.head,
            base: self.base,
            epoch: self.epoch,
            leader: self.leader.map(self.node),
            isLeaderSessionGone: self.leader.map { !self.sessions.contains($0) } ?? false,
            doubt: self.doubt,
            chainAtPosition: self.chain(at: position)
        )
    }

    func entries(after position: Int64) -> [LogEntry] {
        let first = Int(max(position, self.base) + 1)
        guard first < self.records.count else { return [] }
        return self.records[first...].prefix(Limits.logPageRecordsMax).map(\.entry)
    }

    // MARK: Operations of a cluster

    /// Another server takes over. Without replication it may lack the newest records, and the claims after them.
    func failOver(losing count: Int, losesClaims: Bool) {
        self.failoverCount += 1
        self.trace.append("failover to timeline \(self.server.timeline + 1), losing \(count) of \(self.head)")
        self.server.timeline += 1
        self.sessions = []
        // What was sent to the old server does not reach the new one.
        self.late = []
        guard !self.server.isReplicated else { return }
        let kept = max(self.records.count - count, Int(self.base) + 2)
        guard kept < self.records.count else { return }
        let lost = self.records[kept]
        self.records.removeSubrange(kept...)
        self.lossCount += 1
        if losesClaims { (self.epoch, self.leader) = lost.claim }
        self.snapshots.removeAll { $0.0.position.position >= Int64(kept) }
    }

    func add(_ snapshot: StoreSnapshot) {
        guard self.chain(at: snapshot.description.position.position) == snapshot.description.position.chain else {
            return
        }
        var description = snapshot.description
        description.made = self.now * 1_000
        // A node that is behind may be slow to upload an older one.
        let index = self.snapshots.firstIndex { $0.0.position.position <= description.position.position }
        self.snapshots.insert((description, snapshot), at: index ?? self.snapshots.count)
    }

    func truncate(through position: Int64, removing: [LogSnapshot]) {
        self.base = max(self.base, min(position, self.head.position - 1))
        self.snapshots.removeAll { snapshot in removing.contains { $0.position == snapshot.0.position } }
    }
}

/// What a node appends with. Loses answers, delays appends and refuses some.
final class SimulatedAppender: SharedLog, @unchecked Sendable {
    private let log: SimulatedLog
    private let node: Identifier128
    private var random: SeededRandom
    /// Whether the node cannot reach the log.
    var isCut = false
    var isFaulty = true
    enum Fate {
        case neverArrives
        case arrivesWithoutAnswer
        case refused(ErrorCode)
    }

    /// What becomes of the next append; for tests of one case.
    var nextFate: Fate?
    /// The appends that succeed before it.
    var appendsBeforeFate = 0
    /// The append without an answer.
    private(set) var open: SimulatedLog.Append?
    private(set) var unknownCount = 0

    init(_ log: SimulatedLog, _ node: Identifier128, _ random: SeededRandom) {
        self.log = log
        self.node = node
        self.random = random
    }

    func append(_ record: LogRecord, chain: Chain, after: LogPosition) -> AppendOutcome {
        if self.open != nil { self.log.violations.append("an append while another has no answer") }
        let append = SimulatedLog.Append(bytes: record.bytes, chain: chain, after: after)
        guard !self.isCut else { return self.lose(append) }
        self.log.sessions.insert(self.node)
        let isItsTurn = self.nextFate == nil || self.appendsBeforeFate == 0
        if !isItsTurn { self.appendsBeforeFate -= 1 }
        let fate = isItsTurn ? self.nextFate ?? self.randomFate(append) : nil
        if isItsTurn { self.nextFate = nil }
        switch fate {
        case .neverArrives: return self.lose(append)
        case .arrivesWithoutAnswer:
            _ = self.log.insert(append, of: self.node)
            return self.lose(append)
        case .refused(let code): return .refused(NestError(code, "the log takes no writes now"))
        case nil: return self.log.insert(append, of: self.node)
        }
    }

    private func randomFate(_ append: SimulatedLog.Append) -> Fate? {
        switch self.isFaulty ? self.random.below(20) : 20 {
        case 0: return .neverArrives
        case 1:
            self.log.late.append(append)
            return .neverArrives
        case 2: return .arrivesWithoutAnswer
        case 3: return .refused(.diskFull)
        case 4, 5: return .refused(.logUnavailable)
        default: return nil
        }
    }

    private func lose(_ append: SimulatedLog.Append) -> AppendOutcome {
        if self.log.mutant == .commitBeforeAppend { return .appended }
        self.unknownCount += 1
        self.open = append
        return .unknown
    }

    /// Sends the append without an answer again. `nil`: there is none, or there is no answer again.
    func retry() -> (LogPosition, AppendOutcome)? {
        guard !self.isCut, var append = self.open else { return nil }
        let position = append.position
        self.log.sessions.insert(self.node)
        if self.log.mutant == .reencodingRetry { append = self.reencoded(append) }
        if self.isFaulty, self.random.oneIn(4) {
            if self.random.oneIn(2) { self.log.late.append(append) } else { _ = self.log.insert(append, of: self.node) }
            return nil
        }
        self.open = nil
        return (position, self.log.insert(append, of: self.node))
    }

    private func reencoded(_ append: SimulatedLog.Append) -> SimulatedLog.Append {
        guard let record = try? LogRecord(decoding: append.bytes),
            let again = try? LogRecord(
                record.kind,
                writer: record.writer,
                time: record.time + 1,
                head: record.head,
                row: record.row,
                notes: record.notes,
                directory: "/tmp"
            ),
            let chain = try? append.after.chain.followed(by: again.bytes, at: append.after.position + 1)
        else { return append }
        return SimulatedLog.Append(bytes: again.bytes, chain: chain, after: append.after)
    }
}

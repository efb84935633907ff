import Foundation
import NIOConcurrencyHelpers
import NestModel
import NestStore
import NestTestSupport

/// The log of a cluster in memory, with faults that a test names.
final class ScriptedLog: ClusterLog, SharedLog {
    struct State {
        var entries: [LogEntry]
        var snapshots: [LogSnapshot] = []
        /// Parts of the snapshots, packed, by their position.
        var parts: [Int64: [[UInt8]]] = [:]
        var epoch: Int64 = 1
        /// The node that leads.
        var leader: LogNode?
        /// The other nodes that the log lists.
        var others: [LogNode] = []
        var doubt = false
        var server = LogServer(timeline: 1, isReplicated: false)
        /// How many questions for a part fail from now on.
        var failingParts = 0
        /// The parts that were asked for.
        var partCount = 0
        /// There are always more records to remove.
        var truncatesForEver = false
        /// Called at the next batch.
        var onTruncation: (@Sendable () -> Void)?
    }

    let node: LogNode
    let store: Int64 = 1
    let secret = TokenSecret(high: Identifier128(high: 1, low: 2), low: Identifier128(high: 3, low: 4))
    private let state: NIOLockedValueBox<State>

    init(_ entries: [LogEntry]) {
        self.node = LogNode(id: Identifier128(high: 9, low: 9), name: "n", address: "", version: "")
        self.state = NIOLockedValueBox(State(entries: entries))
    }

    func withState<Result>(_ body: (inout State) throws -> Result) rethrows -> Result {
        try self.state.withLockedValue(body)
    }

    var doubt: Bool { self.withState { $0.doubt } }

    /// The histories that the leader records name, oldest first.
    func histories() throws -> [Identifier128] {
        var histories: [Identifier128] = []
        for entry in self.withState({ $0.entries }) {
            for case .leader(_, let history) in try LogRecord(decoding: entry.bytes).notes { histories.append(history) }
        }
        return histories
    }

    func append(_ record: LogRecord, chain: Chain, after: LogPosition) -> AppendOutcome {
        self.withState { state in
            guard let last = state.entries.last, last.position == after else { return .taken }
            let position = LogPosition(position: after.position + 1, chain: chain)
            state.entries.append(LogEntry(position: position, bytes: record.bytes))
            return .appended
        }
    }

    // MARK: Questions

    func overview(position: Int64) throws(LogFailure) -> LogOverview {
        self.withState { state in
            LogOverview(
                head: state.entries[state.entries.count - 1].position,
                base: 0,
                epoch: state.epoch,
                leader: state.leader,
                isLeaderSessionGone: false,
                doubt: state.doubt,
                chainAtPosition: state.entries.first { $0.position.position == position }?.position.chain
            )
        }
    }

    func records(after position: Int64, countMax: Int, directory: String) throws(LogFailure) -> [LogEntry] {
        self.withState { state in Array(state.entries.filter { $0.position.position > position }.prefix(countMax)) }
    }

    func snapshots() throws(LogFailure) -> [LogSnapshot] { self.withState { $0.snapshots } }

    func part(_ index: Int, of snapshot: LogSnapshot) throws(LogFailure) -> [UInt8] {
        let part = self.withState { state -> [UInt8]? in
            state.partCount += 1
            guard state.failingParts == 0 else {
                state.failingParts -= 1
                return nil
            }
            return state.parts[snapshot.position.position]?[index]
        }
        guard let part else { throw .unavailable("the connection was lost") }
        return part
    }

    func server() throws(LogFailure) -> LogServer { self.withState { $0.server } }
    func nodes() throws(LogFailure) -> [LogNode] { self.withState { $0.others } }
    func secret(of node: Identifier128) throws(LogFailure) -> TokenSecret? { node == self.node.id ? self.secret : nil }
    func recordBytes(after position: Int64) throws(LogFailure) -> Int64 { 0 }
    func verifications(at position: Int64) throws(LogFailure) -> [LogVerification] { [] }
    func summary() throws(LogFailure) -> String { "" }

    // MARK: Changes

    func claim(isSessionGone: Bool) throws(LogFailure) -> Int64? {
        self.withState { state in
            state.epoch += 1
            state.leader = self.node
            return state.epoch
        }
    }

    func setDoubt(_ doubt: Bool) throws(LogFailure) { self.withState { $0.doubt = doubt } }

    func truncate(through position: Int64) throws(LogFailure) -> Bool {
        let (isEndless, onTruncation) = self.withState { state in
            defer { state.onTruncation = nil }
            return (state.truncatesForEver, state.onTruncation)
        }
        onTruncation?()
        return isEndless
    }

    func add(_ snapshot: LogSnapshot, part: (Int) throws(LogFailure) -> [UInt8]) throws(LogFailure) -> Bool {
        var parts: [[UInt8]] = []
        for index in 0..<snapshot.partCount { parts.append(try part(index)) }
        return self.withState { state in
            state.snapshots.insert(snapshot, at: 0)
            state.parts[snapshot.position.position] = parts
            return true
        }
    }

    func renewLease() throws(LogFailure) {}
    func release() throws(LogFailure) {}
    func release(to node: Identifier128) throws(LogFailure) -> Bool { false }
    func withdraw(_ node: Identifier128, epoch: Int64) throws(LogFailure) {}
    func deregister() throws(LogFailure) {}
    func note(position: Int64, isDrained: Bool) throws(LogFailure) {}
    func remove(_ snapshots: [LogSnapshot]) throws(LogFailure) {}
    func add(_ verification: LogVerification) throws(LogFailure) {}
}

/// A cluster's first file and snapshot, of which tests make nodes and logs.
struct ReplicaWorld {
    let directory = TemporaryDirectory(inMemory: true)
    let history: Identifier128
    private let first: LogEntry
    private let snapshot: LogSnapshot
    private let parts: [[UInt8]]

    init(history: UInt64 = 1) throws {
        self.history = Identifier128(high: 0, low: history)
        let configuration = Store.Configuration(location: .file("\(self.directory.path)/first"), model: .nestedList)
        let store = try Store(configuration, newHistoryID: self.history)
        let (record, position) = try store.enterCluster(
            store: 1,
            writer: Self.writer(0),
            server: LogServer(timeline: 1, isReplicated: false),
            now: 1
        )
        let snapshot = try store.reader.snapshot(bytesLeftMin: 0)
        self.first = LogEntry(position: position, bytes: record.bytes)
        self.snapshot = snapshot.description
        self.parts = try (0..<snapshot.description.partCount).map { try snapshot.part($0) }
        try store.close()
    }

    private static func writer(_ node: UInt64) -> LogRecord.Writer {
        LogRecord.Writer(node: Identifier128(high: 5, low: node), epoch: Int64(node))
    }

    /// A log with the first record and its snapshot.
    func log() -> ScriptedLog {
        let log = ScriptedLog([self.first])
        log.withState { state in
            state.snapshots = [self.snapshot]
            state.parts[0] = self.parts
        }
        return log
    }

    func path(_ name: String) -> String { "\(self.directory.path)/\(name).sqlite" }

    /// Makes the file of a node that is behind the first record and so many leader records of its own, which it appends
    /// to a log. Returns its path.
    func file(_ name: String, node: UInt64, leads count: Int, in log: ScriptedLog) throws -> String {
        let path = self.path(name)
        try FileManager.default.copyItem(atPath: "\(self.directory.path)/first", toPath: path)
        var configuration = Store.Configuration(location: .file(path), model: .nestedList)
        configuration.log = log
        let store = try Store(configuration, newHistoryID: self.history)
        let server = LogServer(timeline: 1, isReplicated: false)
        for _ in 0..<count {
            _ = try store.lead(as: Self.writer(node), server: server, historyID: self.history, now: 2)
        }
        try store.close()
        return path
    }

    /// Whether a file was set aside.
    func hasSetAside(_ name: String) throws -> Bool {
        try FileManager.default.contentsOfDirectory(atPath: self.directory.path)
            .contains { $0.hasPrefix("\(name).sqlite.diverged-") }
    }
}

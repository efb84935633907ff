import NIOConcurrencyHelpers
import NestEngine
import NestModel
import NestStore

/// The leader and a follower of a cluster in this process, with a log in memory: what a commit costs the one to execute
/// and the other to apply. Both have a file, and the settings of a cluster: SQLite does not sync their commits.
package final class ApplySubject {
    private let leader: EngineSubject
    private let follower: EngineSubject
    private let log: MemoryLog
    private var position: Int64

    /// `directory`: where the two files are created.
    package init(directory: String) throws {
        let paths = (leader: "\(directory)/leader.sqlite", follower: "\(directory)/follower.sqlite")
        var configuration = Store.Configuration(location: .file(paths.leader), model: .nestedList)
        let first = try Store(configuration, newHistoryID: Identifier128(high: 1, low: 1))
        let writer = LogRecord.Writer(node: Identifier128(high: 2, low: 1), epoch: 1)
        let server = LogServer(timeline: 1, isReplicated: false)
        let entered = try first.enterCluster(store: 1, writer: writer, server: server, now: 1)
        try Self.layDown(try first.reader.snapshot(bytesLeftMin: 0), at: paths.follower)
        try first.close()

        self.log = MemoryLog(LogEntry(position: entered.position, bytes: entered.record.bytes))
        configuration.log = self.log
        self.leader = try EngineSubject(store: Store(configuration, newHistoryID: Identifier128(high: 1, low: 2)))
        configuration.location = .file(paths.follower)
        self.follower = try EngineSubject(store: Store(configuration, newHistoryID: Identifier128(high: 1, low: 3)))
        self.position = 0
        self.leader.perform(.lead(LogRecord.Writer(node: writer.node, epoch: 2), server, renewsHistory: nil))
        self.leader.perform(.confirm)
        try self.catchUp()
    }

    /// The path is locked until this returns.
    private static func layDown(_ snapshot: StoreSnapshot, at path: String) throws {
        let download = try SnapshotDownload(snapshot.description, at: path)
        for index in 0..<snapshot.description.partCount { try download.add(try snapshot.part(index)) }
        try download.publish(store: 1)
    }

    package func close() throws {
        try self.leader.close()
        try self.follower.close()
    }

    /// Commits transactions one after the other at the leader, and applies them at the follower. Returns the time of
    /// each, in the clock's seconds.
    package func time(
        _ transactions: [[Mutation]],
        _ clock: () -> Double
    ) throws -> (executing: Double, applying: Double) {
        let start = clock()
        for transaction in transactions { try self.leader.write([transaction]) }
        let middle = clock()
        let count = try self.catchUp()
        let end = clock()
        guard count == transactions.count else {
            throw EngineSubject.Failure(description: "\(transactions.count) transactions made \(count) records")
        }
        return (middle - start, end - middle)
    }

    /// Applies what the follower does not have. Returns the number of records.
    @discardableResult
    private func catchUp() throws -> Int {
        let entries = self.log.entries(after: self.position)
        self.follower.perform(.entries(entries))
        self.position += Int64(entries.count)
        guard self.follower.position == self.position else {
            throw EngineSubject.Failure(description: "the follower stopped behind \(self.position)")
        }
        return entries.count
    }

    /// A log in memory with one writer.
    private final class MemoryLog: SharedLog {
        private let kept: NIOLockedValueBox<[LogEntry]>

        init(_ first: LogEntry) {
            self.kept = NIOLockedValueBox([first])
        }

        func entries(after position: Int64) -> [LogEntry] {
            self.kept.withLockedValue { Array($0[Int(position + 1)...]) }
        }

        func append(_ record: LogRecord, chain: Chain, after: LogPosition) -> AppendOutcome {
            self.kept.withLockedValue { entries in
                guard entries[entries.count - 1].position == after else { return .behind }
                let position = LogPosition(position: after.position + 1, chain: chain)
                entries.append(LogEntry(position: position, bytes: record.bytes))
                return .appended
            }
        }
    }
}

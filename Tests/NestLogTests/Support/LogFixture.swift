import Dispatch
import NIOConcurrencyHelpers
import NestModel
import NestProtocol
import NestStore
import NestTestSupport

@testable import NestLog

/// A server with a log that has one store, and the records that tests append to it.
struct LogFixture {
    let server: PostgresServer
    let directory = TemporaryDirectory()

    static let writer = LogRecord.Writer(node: Identifier128(high: 1, low: 1), epoch: 0)

    static func started() async throws -> LogFixture {
        let server = try await PostgresServer.started(isInMemory: true)
        let fixture = LogFixture(server: server)
        let setup = try PostgresLogSetup(fixture.settings("setup"))
        try setup.installSchema()
        try fixture.create(setup)
        return fixture
    }

    /// Creates the store with a snapshot of two parts and its first record.
    func create(_ setup: PostgresLogSetup, part: (Int) throws(LogFailure) -> [UInt8] = { [UInt8($0)] }) throws {
        let record = try self.record("first", kind: .leader)
        let snapshot = self.snapshot(at: try Self.first(record))
        try setup.createStore(record: record, chain: snapshot.position.chain, snapshot: snapshot, part: part)
    }

    func settings(_ node: String, url: String? = nil) -> PostgresLog.Settings {
        PostgresLog.Settings(url: url ?? self.server.url, node: node, address: "\(node).example:7000", version: "0.4")
    }

    /// A node that uses the log.
    func node(_ name: String, url: String? = nil) throws -> PostgresLog {
        try PostgresLog(self.settings(name, url: url))
    }

    /// A session locks the records, so that no append is executed until `unlock` ends it.
    @discardableResult
    func lock(_ mode: String = "SHARE") async throws -> Task<String, any Error> {
        let server = self.server
        let task = Task { try await server.sql("BEGIN; LOCK TABLE nest.log IN \(mode) MODE; SELECT pg_sleep(600)") }
        try await waitUntil("the lock") {
            try await server.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'") == "1"
        }
        return task
    }

    func unlock() async throws {
        try await self.server.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'")
    }

    func snapshot(at position: LogPosition, parts: Int = 2) -> LogSnapshot {
        LogSnapshot(
            position: position,
            revision: Revision(7),
            modelHash: .max - 1,
            byteCount: 1_234,
            checksum: Identifier128(high: 5, low: 6),
            partCount: parts
        )
    }

    // MARK: Records

    static func first(_ record: LogRecord) throws -> LogPosition {
        LogPosition(position: 0, chain: try Chain.empty.followed(by: record.bytes, at: 0))
    }

    /// A record that contains a text, and `size` bytes more.
    func record(_ text: String, size: Int = 0, kind: LogRecord.Kind = .group) throws -> LogRecord {
        let row = LogRecord.Row(
            first: Revision(1),
            last: Revision(1),
            nextObjectID: 1,
            time: 1,
            headers: Array(text.utf8),
            changes: Self.bytes(size)
        )
        return try LogRecord(
            kind,
            writer: Self.writer,
            time: 1,
            head: Revision(1),
            row: row,
            directory: self.directory.path
        )
    }

    /// Bytes of which no two blocks are equal.
    private static func bytes(_ count: Int) -> [UInt8] {
        let block = [UInt8](repeating: 7, count: 4_096)
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + block.count)
        while bytes.count < count {
            let start = bytes.count
            bytes += block
            withUnsafeBytes(of: UInt32(start)) { bytes.replaceSubrange(start..<start + 4, with: $0) }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    /// The records after a position, each checked against the chain.
    func records(_ log: PostgresLog, after start: LogPosition) throws -> [LogEntry] {
        var position = start
        var entries: [LogEntry] = []
        while true {
            let page = try log.records(after: position.position, countMax: 100, directory: self.directory.path)
            for entry in page {
                let chain = try position.chain.followed(by: entry.bytes, at: entry.position.position)
                guard chain == entry.position.chain, entry.position.position == position.position + 1 else {
                    throw ProcessFailure("the chain is broken at \(entry.position)")
                }
                position = entry.position
            }
            entries += page
            if page.isEmpty { return entries }
        }
    }

    /// The texts of the records after position 0.
    func texts(_ log: PostgresLog) throws -> [String] {
        try self.records(log, after: try self.start).map { entry in
            let record = try LogRecord(decoding: entry.bytes)
            return String(decoding: record.row?.headers ?? [], as: UTF8.self)
        }
    }

    /// The position of the first record.
    var start: LogPosition { get throws { try Self.first(try self.record("first", kind: .leader)) } }
}

/// A writer that appends one record after the other, as a leader does. Unchecked: one thread at a time uses it.
final class TestWriter: @unchecked Sendable {
    let log: PostgresLog
    let outcomes = ResolvedOutcomes()
    private(set) var position: LogPosition
    private let fixture: LogFixture
    private let shared: any SharedLog

    init(_ log: PostgresLog, _ fixture: LogFixture, at position: LogPosition? = nil) throws {
        self.log = log
        self.fixture = fixture
        self.position = try position ?? fixture.start
        let outcomes = self.outcomes
        self.shared = log.sharedLog { _, outcome in outcomes.add(outcome) }
    }

    /// Appends a record; goes on behind it if it is in the log.
    func append(_ text: String, size: Int = 0) throws -> AppendOutcome {
        let record = try self.fixture.record(text, size: size)
        return try self.append(record)
    }

    /// Appends a record. On a busy machine the answer may take longer than an append may.
    func appendAtLast(_ text: String, size: Int) async throws {
        let record = try self.fixture.record(text, size: size)
        let next = try self.next(record)
        let known = self.outcomes.now.count
        var outcome = try self.append(record)
        if outcome == .unknown {
            outcome = try await waitFor("the outcome of a record") { self.outcomes.now.dropFirst(known).first }
        }
        guard outcome == .appended else { throw ProcessFailure("the record was not appended: \(outcome)") }
        self.position = next
    }

    func append(_ record: LogRecord) throws -> AppendOutcome {
        let next = try self.next(record)
        let outcome = self.shared.append(record, chain: next.chain, after: self.position)
        if outcome == .appended { self.position = next }
        return outcome
    }

    /// The position of a record that is appended now.
    func next(_ record: LogRecord) throws -> LogPosition {
        let number = self.position.position + 1
        return LogPosition(
            position: number,
            chain: try self.position.chain.followed(by: record.bytes, at: number)
        )
    }

    /// Reads what others have appended, and goes on behind it.
    func follow() throws {
        if let last = try self.fixture.records(self.log, after: self.position).last { self.position = last.position }
    }
}

/// What was reported after an unknown outcome.
final class ResolvedOutcomes: Sendable {
    private let all = NIOLockedValueBox<[AppendOutcome]>([])

    func add(_ outcome: AppendOutcome) { self.all.withLockedValue { $0.append(outcome) } }

    var now: [AppendOutcome] { self.all.withLockedValue { $0 } }

    /// Waits until there is an outcome.
    func first() async throws -> AppendOutcome {
        try await waitFor("the outcome of a record") { self.now.first }
    }
}

/// Runs something that blocks on a thread of its own.
func blocking<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Result(catching: body)) }
    }
}

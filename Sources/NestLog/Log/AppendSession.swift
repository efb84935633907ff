import NestModel
import NestProtocol
import NestStore

/// The session with which a node appends, and the rules for what an answer means. One thread uses it at a time.
///
/// A record whose sending was begun and not answered is *open*: PostgreSQL may execute it until another record has its
/// position. Only the row at its position decides, never an error of a later attempt.
struct AppendSession {
    /// A record on its way into the log.
    struct Attempt: Sendable {
        /// Counts the records of a session.
        let number: Int
        let record: LogRecord
        let chain: Chain
        let after: LogPosition

        var position: Int64 { self.after.position + 1 }
        var place: LogPosition { LogPosition(position: self.position, chain: self.chain) }
    }

    /// What is known after a step.
    enum Step {
        case known(AppendOutcome)
        /// Take the next step after this time.
        case again(Duration)
        /// The answer has not arrived yet.
        case waiting
        /// The log was truncated beyond the record, so that its fate cannot be found out any more.
        case unresolvable
    }

    /// A statement that was sent and is not answered. Its session is kept while it lives: a statement that waits for a
    /// standby must not be cancelled, and dropping its connection would leave it waiting in the server.
    private enum Pending {
        case append
        /// The end of the transaction of a large record.
        case commit
        case barrier
        case claim
    }

    private let store: Int64
    private let node: Identifier128
    private var connector: PostgresConnector
    private var connection: PostgresConnection?
    /// The timeline of the server when this node claimed the lead.
    private var claimedTimeline: UInt32?
    private var pending: Pending? {
        didSet { self.silence = Deadline(after: Self.silenceTime) }
    }
    /// When to ask whether the server still executes what is pending.
    private var silence = Deadline(after: .zero)
    /// The number of the record on its way.
    private var current: Int?
    /// An attempt with this record may still be executed.
    private var isOpen = false
    /// The row at the record's position must be read before anything is sent again.
    private var mustLook = false

    /// Time for a statement that does not wait for a standby.
    private static let answerTime = Duration.seconds(5)
    /// Time without an answer after which it may have been lost on the way, although the connection has not ended.
    private static let silenceTime = Duration.seconds(2 * Limits.logCommitSeconds)
    /// Time for a part of a large record, which may be slow to send.
    private static let partTime = Duration.seconds(30)
    /// Other nodes take the lead when they have not seen the leader's session for a moment. After a restart of the
    /// server it should be back before they are.
    private static let connectPause = Duration.milliseconds(100)
    private static let shortPause = Duration.milliseconds(10)
    private static let longPause = Duration.milliseconds(200)

    init(_ address: PostgresAddress, store: Int64, node: Identifier128) {
        self.connector = PostgresConnector(address, commit: .everywhere, pauseMax: Self.connectPause)
        self.store = store
        self.node = node
    }

    // MARK: Connecting

    var isConnected: Bool { self.pending != nil || (self.connection?.isAlive() ?? false) }

    /// Whether a step sends a record without connecting or reading first, and so waits no longer than its deadline.
    var canAppendAtOnce: Bool {
        guard self.pending == nil, let connection, connection.isAlive() else { return false }
        return self.claimedTimeline.map { $0 == connection.server.timeline } ?? true
    }

    /// Connects if the session has ended. `isLeaderSessionGone` of other nodes depends on the lock that it takes.
    mutating func connect() throws(PostgresFailure) {
        guard !self.isConnected else { return }
        self.drop()
        let connection = try self.connector.connect()
        let deadline = Deadline(after: Self.answerTime)
        try connection.perform(LogStatements.holdLock, [.long(self.store), .uuid(self.node)], until: deadline)
        for statement in [LogStatements.append, LogStatements.look, LogStatements.barrier] {
            try connection.prepare(statement, until: deadline)
        }
        self.connection = connection
    }

    mutating func drop() {
        self.connection = nil
        self.pending = nil
    }

    // MARK: Claiming

    enum Claim {
        case leading(epoch: Int64)
        case refused
        /// PostgreSQL has not answered in time: the next call waits for the same answer.
        case waiting
    }

    /// Which leader a claim may replace.
    enum Claimed {
        /// A leader whose lease has ended, or none.
        case free
        /// Also this leader, whose session has ended.
        case from(Identifier128)
        /// Any leader.
        case any
    }

    /// Claims the lead.
    mutating func claim(_ claimed: Claimed) throws(PostgresFailure) -> Claim {
        guard self.pending == nil || self.pending == .claim else {
            throw .lost("the fate of a record of this node is not known yet")
        }
        do throws(PostgresFailure) {
            try self.connect()
            let connection = self.connection!
            let deadline = Deadline(after: Self.answerTime)
            if self.pending == nil {
                try connection.prepare(LogStatements.claim, until: deadline)
                var gone = PostgresValue.null
                if case .from(let leader) = claimed { gone = .uuid(leader) }
                var isForced = false
                if case .any = claimed { isForced = true }
                let values: [PostgresValue] = [.long(self.store), .uuid(self.node), gone, .bool(isForced)]
                try connection.send(LogStatements.claim, values)
                self.pending = .claim
            }
            guard let result = try connection.result(until: deadline) else {
                try self.checkSilence()
                return .waiting
            }
            self.pending = nil
            guard !result.hasWarning, let epoch = try result.rows.first?.long(0) else { return .refused }
            self.claimedTimeline = connection.server.timeline
            return .leading(epoch: epoch)
        } catch {
            self.note(error)
            throw error
        }
    }

    // MARK: Appending

    private mutating func begin(_ number: Int) {
        // The answer to a claim that is of no use any more.
        if self.pending == .claim { self.drop() }
        precondition(self.pending == nil, "the record before is not resolved")
        self.current = number
        self.isOpen = false
        self.mustLook = false
    }

    /// Does the next thing for a record, and waits for the answer of an append until the deadline.
    mutating func step(_ attempt: Attempt, until deadline: Deadline) -> Step {
        if self.current != attempt.number { self.begin(attempt.number) }
        do throws(PostgresFailure) {
            try self.connect()
            return try self.step(attempt, on: self.connection!, until: deadline)
        } catch {
            return self.step(after: error)
        }
    }

    private mutating func step(
        _ attempt: Attempt,
        on connection: PostgresConnection,
        until deadline: Deadline
    ) throws(PostgresFailure) -> Step {
        if self.pending == nil {
            let timeline = self.claimedTimeline ?? connection.server.timeline
            self.claimedTimeline = timeline
            // After a failover only a leader that has claimed again may append: it decides about a new history.
            let mayAppend = timeline == connection.server.timeline && attempt.record.mayFollow(timeline)
            if self.mustLook || !mayAppend {
                if let step = try self.look(attempt, on: connection, mayAppend: mayAppend) { return step }
            } else if attempt.record.bytes.isBody {
                try connection.send(LogStatements.append, try self.values(attempt, parts: 0))
                self.pending = .append
            } else if try self.sendParts(attempt, on: connection) {
                self.pending = .commit
            } else {
                self.mustLook = true
                return .again(.zero)
            }
        }
        guard let result = try connection.result(until: deadline) else {
            try self.checkSilence()
            return .waiting
        }
        return self.step(after: result)
    }

    /// Throws `lost` if no answer will come: the connection lives, and has lost what was sent or what was answered.
    private mutating func checkSilence() throws(PostgresFailure) {
        guard self.silence.isOver else { return }
        self.silence = Deadline(after: Self.silenceTime)
        if self.isAnswerLost() { throw .lost("PostgreSQL has answered, or got nothing, and no answer has arrived") }
    }

    /// Asks in another session whether the server still executes what is pending. If it does, its answer counts: what
    /// waits for a standby or a lock is neither cancelled nor sent again, and holds no more than its one session.
    mutating func isAnswerLost() -> Bool {
        guard self.pending != nil, let server = self.connection?.server else { return false }
        do throws(PostgresFailure) {
            let other = try self.connector.connect()
            if other.server.timeline != server.timeline { return true }
            let deadline = Deadline(after: Self.answerTime)
            let result = try other.perform(LogStatements.isExecuting, [.int(server.processID)], until: deadline)
            return try result.rows.first.map { (row) throws(PostgresFailure) in try !row.bool(0) } ?? false
        } catch {
            return false
        }
    }

    /// The answer to what was pending.
    private mutating func step(after result: PostgresResult) -> Step {
        let pending = self.pending
        self.pending = nil
        switch pending {
        case .append where !result.hasWarning && !result.rows.isEmpty: return .known(.appended)
        case .commit where !result.hasWarning && result.tag == "COMMIT": return .known(.appended)
        case .barrier where !result.hasWarning && result.affected == 1: return .known(.appended)
        default: break
        }
        // With a warning: an operator has cancelled the wait for the standby. The row is there, perhaps not for good.
        self.isOpen = self.isOpen || result.hasWarning
        self.mustLook = true
        return .again(pending == .append && !result.hasWarning ? .zero : Self.longPause)
    }

    private mutating func step(after failure: PostgresFailure) -> Step {
        self.note(failure)
        switch failure {
        case .lost, .unusable:
            return .again(max(self.connector.waitTime, Self.shortPause))
        case .refused(let state, _) where state.isTransient:
            return .again(Self.shortPause)
        case .refused(let state, let message):
            return self.isOpen ? .again(Self.longPause) : .known(.refused(state.refusal(message)))
        case .damaged(let reason):
            let error = NestError(.logUnavailable, "the cluster's log did not take the write: \(reason)")
            return self.isOpen ? .again(Self.longPause) : .known(.refused(error))
        }
    }

    /// Remembers what a failure leaves open.
    private mutating func note(_ failure: PostgresFailure) {
        switch failure {
        case .lost:
            self.isOpen = self.isOpen || self.pending == .append || self.pending == .commit
            self.drop()
        case .unusable:
            self.drop()
        case .refused, .damaged:
            self.pending = nil
        }
    }

    /// Finds out what the log has at the record's position. Returns `nil` when the record is there: then a commit is
    /// pending that a standby must confirm.
    private mutating func look(
        _ attempt: Attempt,
        on connection: PostgresConnection,
        mayAppend: Bool
    ) throws(PostgresFailure) -> Step? {
        let values: [PostgresValue] = [.long(self.store), .long(attempt.position)]
        let result = try connection.perform(LogStatements.look, values, until: Deadline(after: Self.answerTime))
        guard let row = result.rows.first else { throw .damaged("a SELECT without a row") }
        self.mustLook = false
        if !row.isNull(0) {
            guard try row.bytes(0) == attempt.chain.bytes else { return .known(.taken) }
            try connection.send(LogStatements.barrier, [])
            self.pending = .barrier
            return nil
        }
        guard !row.isNull(2) else { return .known(.behind) }
        // Records up to here are gone. What was sent and not answered may be one of them.
        guard try row.long(2) < attempt.position else { return self.isOpen ? .unresolvable : .known(.taken) }
        guard !row.isNull(1), try row.bytes(1) == attempt.after.chain.bytes else { return .known(.behind) }
        return mayAppend ? .again(Self.shortPause) : .known(.taken)
    }

    private func values(_ attempt: Attempt, parts: Int) throws(PostgresFailure) -> [PostgresValue] {
        let record = attempt.record
        return [
            .long(self.store), .long(attempt.position), .bytes(attempt.chain.bytes), .long(record.writer.epoch),
            .short(Int16(record.kind.rawValue)), .long(Int64(record.head.rawValue)),
            .bytes(parts == 0 ? try Self.read(record) { (bytes) throws(StoreError) in try bytes.all() } : []),
            .bytes(attempt.after.chain.bytes), .int(Int32(parts)),
        ]
    }

    // MARK: Large records

    /// Sends the parts of a large record and then its row, in one transaction, a part in memory at a time, and begins
    /// to commit. Returns `false` if another record has the position or the one before is not in the log.
    private func sendParts(_ attempt: Attempt, on connection: PostgresConnection) throws(PostgresFailure) -> Bool {
        do throws(PostgresFailure) {
            guard try self.insertParts(attempt, on: connection) else {
                try connection.run("ROLLBACK", until: Deadline(after: Self.answerTime))
                return false
            }
            try connection.send("COMMIT")
            return true
        } catch {
            if case .lost = error { throw error }
            try connection.run("ROLLBACK", until: Deadline(after: Self.answerTime))
            throw error
        }
    }

    private func insertParts(_ attempt: Attempt, on connection: PostgresConnection) throws(PostgresFailure) -> Bool {
        let place: [PostgresValue] = [.long(self.store), .long(attempt.position)]
        try connection.run("BEGIN", until: Deadline(after: Self.answerTime))
        // A lost race need not send everything first.
        let found = try connection.perform(LogStatements.look, place, until: Deadline(after: Self.answerTime))
        guard let row = found.rows.first, row.isNull(0), !row.isNull(1),
            try row.bytes(1) == attempt.after.chain.bytes
        else { return false }
        try connection.perform(LogStatements.clearParts, place, until: Deadline(after: Self.answerTime))
        let parts = attempt.record.bytes.partCount
        for part in 0..<parts {
            let bytes = try Self.read(attempt.record) { (bytes) throws(StoreError) in try bytes.part(part) }
            let added = try connection.perform(
                LogStatements.addPart,
                place + [.int(Int32(part)), .bytes(bytes)],
                until: Deadline(after: Self.partTime)
            )
            guard added.affected == 1 else { return false }
        }
        let values = try self.values(attempt, parts: parts)
        return
            !(try connection.perform(LogStatements.append, values, until: Deadline(after: Self.partTime)).rows.isEmpty)
    }

    /// Reads bytes of a record, whose spool file may fail.
    private static func read(
        _ record: LogRecord,
        _ body: (LogBytes) throws(StoreError) -> [UInt8]
    ) throws(PostgresFailure) -> [UInt8] {
        do throws(StoreError) {
            return try body(record.bytes)
        } catch {
            throw .damaged("\(error)")
        }
    }
}

extension LogRecord {
    /// Whether the record may be appended to the log of a server on a timeline. What a leader record says about its
    /// server was read in another session, which may have reached another primary: then the node claims again.
    fileprivate func mayFollow(_ timeline: UInt32) -> Bool {
        self.notes.allSatisfy { note in
            guard case .leader(let server, _) = note else { return true }
            return server.timeline == timeline
        }
    }
}

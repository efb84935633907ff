import CPQ
import Glibc
import NestModel

/// One connection to PostgreSQL. It never blocks longer than its caller allows. One thread uses it at a time.
final class PostgresConnection {
    private let connection: OpaquePointer
    private let notices = Notices()
    private var prepared: Set<String> = []
    /// The result that is arriving.
    private var arriving = PostgresResult()
    private var failure: PostgresFailure?
    private let scrub: (String) -> String
    /// What the server is; known as soon as the connection is open.
    private(set) var server = PostgresServerFacts()

    /// Begins to connect; `establish` ends it.
    private init(_ parameters: [String: String], _ scrub: @escaping (String) -> String) throws(PostgresFailure) {
        let names = parameters.keys.sorted()
        let keywords: [UnsafeMutablePointer<CChar>?] = names.map { strdup($0) } + [nil]
        let values: [UnsafeMutablePointer<CChar>?] = names.map { strdup(parameters[$0]!) } + [nil]
        defer { for pointer in keywords + values { free(pointer) } }
        guard
            let connection = PQconnectStartParams(
                keywords.map { UnsafePointer($0) },
                values.map { UnsafePointer($0) },
                0
            )
        else { throw .lost("no memory for a connection") }
        self.connection = connection
        self.scrub = scrub
        // The receiver lives as long as the connection, which its owner ends.
        PQsetNoticeReceiver(
            connection,
            { context, result in
                guard let context, let result else { return }
                Unmanaged<Notices>.fromOpaque(context).takeUnretainedValue().add(result)
            },
            Unmanaged.passUnretained(self.notices).toOpaque()
        )
    }

    deinit { PQfinish(self.connection) }

    /// Connects to one server and prepares the session. Throws if the server must not have the log.
    static func open(
        _ address: PostgresAddress,
        host: Int,
        commit: PostgresServerFacts.Commit
    ) throws(PostgresFailure) -> PostgresConnection {
        let connection = try PostgresConnection(address.hosts[host]) { address.scrubbed($0) }
        try connection.establish(until: Deadline(after: address.connectTime))
        try connection.configure(commit, until: Deadline(after: address.connectTime))
        return connection
    }

    private func establish(until deadline: Deadline) throws(PostgresFailure) {
        // With the codes of errors, which say whether to try again.
        PQsetErrorVerbosity(self.connection, PQERRORS_VERBOSE)
        var status = PQstatus(self.connection) == CONNECTION_BAD ? PGRES_POLLING_FAILED : PGRES_POLLING_WRITING
        while status != PGRES_POLLING_OK {
            guard status != PGRES_POLLING_FAILED else { throw self.connectFailure() }
            let events = status == PGRES_POLLING_READING ? POLLIN : POLLOUT
            guard self.wait(for: Int16(events), until: deadline) else {
                throw .lost("\(self.place) does not answer a new connection")
            }
            status = PQconnectPoll(self.connection)
        }
        PQsetErrorVerbosity(self.connection, PQERRORS_DEFAULT)
        PQsetnonblocking(self.connection, 1)
    }

    private func connectFailure() -> PostgresFailure {
        // With addresses, the same reason comes once for each: the first says enough.
        let lines = self.message.split(whereSeparator: \.isNewline).filter { !$0.hasPrefix("LOCATION:") }
        let text = lines.joined(separator: "\n").trimmed
        guard let code = text.firstMatch(of: #/[A-Z]+: +([0-9A-Z]{5}): /#) else {
            return PQconnectionNeedsPassword(self.connection) == 1
                ? .unusable("\(text): give the password in the file that PGPASSFILE names, or in ~/.pgpass")
                : .lost(text)
        }
        return .refused(SQLState(String(code.1)), text.replacing("\(code.1): ", with: ""))
    }

    private var place: String {
        let host = PQhost(self.connection).map { String(cString: $0) } ?? ""
        let port = PQport(self.connection).map { String(cString: $0) } ?? ""
        return "PostgreSQL at \(host):\(port)"
    }

    private var message: String {
        self.scrub(PQerrorMessage(self.connection).map { String(cString: $0) } ?? "")
    }

    // MARK: The session

    private func configure(_ commit: PostgresServerFacts.Commit, until deadline: Deadline) throws(PostgresFailure) {
        let version = Int(PQserverVersion(self.connection))
        guard version >= PostgresServerFacts.versionMin else {
            throw .unusable("\(self.place) is version \(version / 10_000): the log needs 14 or newer")
        }
        let result = try self.run(PostgresServerFacts.script(commit), until: deadline)
        guard let row = result.rows.first else { throw .lost("\(self.place) does not describe itself") }
        self.server = try PostgresServerFacts(row, place: String(self.place.dropFirst("PostgreSQL at ".count)))
        if let reason = self.server.whyUnusable { throw .unusable("\(self.place) \(reason)") }
        guard !self.server.isInRecovery else {
            throw .lost("\(self.place) is a standby: the log is on the primary only")
        }
    }

    /// Whether the connection is open, as far as this side can know without asking.
    func isAlive() -> Bool {
        // A server that has ended the session has sent why, and then closed it.
        var reads = 0
        while reads < 4, self.wait(for: Int16(POLLIN), until: Deadline(after: .zero)) {
            guard PQconsumeInput(self.connection) == 1 else { return false }
            reads += 1
        }
        return PQstatus(self.connection) == CONNECTION_OK
    }

    // MARK: Statements

    /// Performs one statement and waits for its result.
    @discardableResult
    func perform(
        _ statement: PostgresStatement,
        _ values: [PostgresValue],
        until deadline: Deadline
    ) throws(PostgresFailure) -> PostgresResult {
        try self.prepare(statement, until: deadline)
        try self.send(statement, values)
        return try self.finish(until: deadline)
    }

    /// Performs statements without parameters in one round trip; returns the last result, as text.
    @discardableResult
    func run(_ script: String, until deadline: Deadline) throws(PostgresFailure) -> PostgresResult {
        try self.send(script)
        return try self.finish(until: deadline)
    }

    /// Sends statements without parameters; `result` returns the last result.
    func send(_ script: String) throws(PostgresFailure) {
        try self.sent(PQsendQuery(self.connection, script))
    }

    /// Prepares a statement once.
    func prepare(_ statement: PostgresStatement, until deadline: Deadline) throws(PostgresFailure) {
        guard !self.prepared.contains(statement.name) else { return }
        let types = statement.types.map(\.rawValue)
        try self.sent(
            PQsendPrepare(self.connection, statement.name, statement.sql, Int32(types.count), types)
        )
        _ = try self.finish(until: deadline)
        self.prepared.insert(statement.name)
    }

    /// Sends a prepared statement; `result` returns its result.
    func send(_ statement: PostgresStatement, _ values: [PostgresValue]) throws(PostgresFailure) {
        precondition(values.count == statement.types.count, "\(statement.name) takes \(statement.types.count) values")
        var writer = ByteWriter(capacity: values.reduce(0) { $0 + $1.size })
        var ranges: [Range<Int>?] = []
        for value in values {
            let start = writer.count
            ranges.append(value.write(to: &writer) ? start..<writer.count : nil)
        }
        // A pointer to an empty value must not be nil: nil is NULL.
        writer.write(byte: 0)
        let result = writer.bytes.withUnsafeBytes { buffer in
            let base = buffer.baseAddress!.assumingMemoryBound(to: CChar.self)
            return PQsendQueryPrepared(
                self.connection,
                statement.name,
                Int32(values.count),
                ranges.map { range in range.map { base + $0.lowerBound } },
                ranges.map { Int32($0?.count ?? 0) },
                [Int32](repeating: 1, count: values.count),
                1
            )
        }
        try self.sent(result)
    }

    private func sent(_ result: Int32) throws(PostgresFailure) {
        self.arriving = PostgresResult()
        self.failure = nil
        self.notices.warnings = 0
        guard result == 1 else { throw .lost(self.message.trimmed) }
    }

    private func finish(until deadline: Deadline) throws(PostgresFailure) -> PostgresResult {
        guard let result = try self.result(until: deadline) else { throw .lost("\(self.place) does not answer") }
        return result
    }

    /// Returns the result of what was sent, or `nil` at the deadline: then call again, or drop the connection.
    func result(until deadline: Deadline) throws(PostgresFailure) -> PostgresResult? {
        while true {
            guard try self.isReady(until: deadline) else { return nil }
            guard let part = PQgetResult(self.connection) else { break }
            defer { PQclear(part) }
            self.collect(part)
        }
        if let failure = self.failure {
            self.failure = nil
            throw failure
        }
        self.arriving.hasWarning = self.notices.warnings > 0
        return self.arriving
    }

    /// Sends what is left to send, and waits until a result is there.
    private func isReady(until deadline: Deadline) throws(PostgresFailure) -> Bool {
        while true {
            let unsent = PQflush(self.connection)
            guard unsent >= 0 else { throw .lost(self.message.trimmed) }
            if PQisBusy(self.connection) == 0 { return true }
            let events = unsent == 1 ? POLLIN | POLLOUT : POLLIN
            guard self.wait(for: Int16(events), until: deadline) else { return false }
            guard PQconsumeInput(self.connection) == 1 else { throw .lost(self.message.trimmed) }
        }
    }

    private func collect(_ result: OpaquePointer) {
        switch PQresultStatus(result) {
        case PGRES_TUPLES_OK:
            self.arriving = PostgresResult(rows: Self.rows(result), tag: Self.tag(result))
            self.arriving.affected = self.arriving.rows.count
        case PGRES_COMMAND_OK:
            self.arriving.tag = Self.tag(result)
            self.arriving.affected = Int(String(cString: PQcmdTuples(result))) ?? 0
        case PGRES_EMPTY_QUERY:
            break
        default:
            self.failure = self.failure ?? self.failure(of: result)
        }
    }

    private func failure(of result: OpaquePointer) -> PostgresFailure {
        func field(_ code: Int32) -> String? { PQresultErrorField(result, code).map { String(cString: $0) } }
        let message = self.scrub(field(Self.primaryMessage) ?? self.message.trimmed)
        // After FATAL and PANIC the session is over, and a statement may have been committed before.
        guard PQstatus(self.connection) == CONNECTION_OK, let state = field(Self.state), field(Self.severity) == "ERROR"
        else { return .lost(message) }
        return .refused(SQLState(state), message)
    }

    private static func tag(_ result: OpaquePointer) -> String {
        PQcmdStatus(result).map { String(cString: $0) } ?? ""
    }

    private static func rows(_ result: OpaquePointer) -> [PostgresRow] {
        let columns = PQnfields(result)
        return (0..<PQntuples(result)).map { row in
            PostgresRow(
                fields: (0..<columns).map { column in
                    guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column) else {
                        return nil
                    }
                    let count = Int(PQgetlength(result, row, column))
                    return [UInt8](UnsafeRawBufferPointer(start: value, count: count))
                }
            )
        }
    }

    /// Waits for the socket; `false` at the deadline.
    private func wait(for events: Int16, until deadline: Deadline) -> Bool {
        let descriptor = PQsocket(self.connection)
        // libpq reports the error of a socket that is gone.
        guard descriptor >= 0 else { return true }
        while true {
            var waiting = pollfd(fd: descriptor, events: events, revents: 0)
            let count = poll(&waiting, 1, deadline.milliseconds)
            if count > 0 { return true }
            if count < 0, errno != EINTR { return true }
            if deadline.isOver { return false }
        }
    }

    // The fields of an error: PG_DIAG_SEVERITY_NONLOCALIZED, PG_DIAG_SQLSTATE, PG_DIAG_MESSAGE_PRIMARY.
    fileprivate static let severity = Int32(UInt8(ascii: "V"))
    private static let state = Int32(UInt8(ascii: "C"))
    private static let primaryMessage = Int32(UInt8(ascii: "M"))
}

/// Counts the warnings of a statement. Its notices and log lines say nothing about its outcome.
private final class Notices {
    var warnings = 0

    func add(_ result: OpaquePointer) {
        let severity = PQresultErrorField(result, PostgresConnection.severity).map { String(cString: $0) }
        if severity == "WARNING" { self.warnings += 1 }
    }
}

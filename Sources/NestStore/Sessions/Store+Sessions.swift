import NestModel
import NestSchema

/// The store's records of sessions, without their transactions.
extension Store {
    /// A known session: its public number, its secret id, and the approximate time of its last write.
    package struct Session: Sendable {
        package var number: UInt64
        package var id: Identifier128
        /// Microseconds since 1970-01-01 UTC.
        package var written: Int64

        package init(number: UInt64, id: Identifier128, written: Int64) {
            self.number = number
            self.id = id
            self.written = written
        }
    }

    package func sessions() throws(StoreError) -> [Session] { try Self.sessions(self.connection) }

    static func sessions(_ connection: Connection) throws(StoreError) -> [Session] {
        let statement = try connection.statement("SELECT number, id, written FROM nest_session ORDER BY number")
        defer { statement.reset() }
        var sessions: [Session] = []
        while try statement.step() {
            let bytes = statement.blob(1)
            guard
                let id = try? ByteReader.read(
                    bytes,
                    { (reader) throws(DecodingFailure) in try reader.identifier("session") }
                )
            else { throw .corrupt(path: connection.path, reason: "a session id is damaged") }
            sessions.append(
                Session(number: UInt64(clamping: statement.integer(0)), id: id, written: statement.integer(2))
            )
        }
        return sessions
    }

    /// Saves a session and the time of its last write. Call it inside a group.
    package func saveSession(_ session: Session) throws(StoreError) {
        try self.write(session)
        self.membership?.notes.append(.session(session))
    }

    func write(_ session: Session) throws(StoreError) {
        let statement = try self.connection.statement(
            """
            INSERT INTO nest_session (number, id, written) VALUES (?1, ?2, ?3)
            ON CONFLICT (number) DO UPDATE SET written = excluded.written
            """
        )
        var writer = ByteWriter()
        writer.write(identifier: session.id)
        statement.bind(1, Int64(session.number))
        statement.bind(2, blob: writer.bytes)
        statement.bind(3, session.written)
        try statement.run()
    }

    /// Deletes sessions. Their numbers are not assigned again: the caller keeps the newest session. Call it outside a
    /// transaction. Throws `overtaken` on a follower, which forgets what the leader forgets.
    package func forgetSessions(_ numbers: [UInt64]) throws(StoreError) {
        guard self.membership != nil else { return try self.deleteSessions(numbers) }
        try self.commitNotes { () throws(StoreError) in
            try self.deleteSessions(numbers)
            return [.forgetSessions(numbers)]
        }
    }

    func deleteSessions(_ numbers: [UInt64]) throws(StoreError) {
        for number in numbers {
            let statement = try self.connection.statement("DELETE FROM nest_session WHERE number = ?1")
            statement.bind(1, Int64(number))
            try statement.run()
            try ReservedIDs.forget(number, self.connection)
            if self.layout.hasLargeValues { try self.values.drop(stagedBy: number) }
        }
    }

    /// Blocked undo entries by their newest revision, with the stored reply for idempotent retries.
    package func blocked() throws(StoreError) -> [(revision: Revision, answer: JournalHeader?)] {
        try Self.blocked(self.connection)
    }

    static func blocked(_ connection: Connection) throws(StoreError) -> [(revision: Revision, answer: JournalHeader?)] {
        let statement = try connection.statement("SELECT revision, answer FROM nest_blocked ORDER BY revision")
        defer { statement.reset() }
        var blocked: [(revision: Revision, answer: JournalHeader?)] = []
        while try statement.step() {
            let bytes = statement.blob(1)
            let answer: JournalHeader?
            do {
                answer =
                    try bytes.isEmpty
                    ? nil : ByteReader.read(bytes) { (reader) throws(DecodingFailure) in try reader.header() }
            } catch {
                throw .corrupt(path: connection.path, reason: "the stored reply of a blocked undo is damaged")
            }
            blocked.append((Revision(UInt64(clamping: statement.integer(0))), answer))
        }
        return blocked
    }

    /// Saves that undo skips an entry. `answer`: an encoded header, or nothing.
    func block(_ revision: Revision, answer: [UInt8]) throws(StoreError) {
        let statement = try self.connection.statement(
            "INSERT OR IGNORE INTO nest_blocked (revision, answer) VALUES (?1, ?2)"
        )
        statement.bind(1, Int64(revision.rawValue))
        statement.bind(2, blob: answer)
        try statement.run()
    }

    func forgetBlocked(through revision: Revision) throws(StoreError) {
        let statement = try self.connection.statement("DELETE FROM nest_blocked WHERE revision <= ?1")
        statement.bind(1, Int64(revision.rawValue))
        try statement.run()
    }
}

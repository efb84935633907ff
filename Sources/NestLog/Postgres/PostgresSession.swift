import NestModel
import NestStore
import Synchronization

/// A session that connects again by itself. Threads take turns for each statement.
final class PostgresSession: Sendable {
    private struct State {
        var connector: PostgresConnector
        var connection: PostgresConnection?
    }

    private let state: Mutex<State>

    private static let answerSeconds = 5
    private static let transactionSeconds = 20

    init(_ address: PostgresAddress, commit: PostgresServerFacts.Commit = .here) {
        let connector = PostgresConnector(address, commit: commit, pauseMax: .seconds(1))
        self.state = Mutex(State(connector: connector, connection: nil))
    }

    /// Performs one statement. If this throws `unavailable`, it may have been executed.
    @discardableResult
    func perform(
        _ statement: PostgresStatement,
        _ values: [PostgresValue]
    ) throws(LogFailure) -> PostgresResult {
        try self.use { (connection) throws(PostgresFailure) in
            try connection.perform(statement, values, until: Deadline(after: .seconds(Self.answerSeconds)))
        }
    }

    /// Runs statements as one transaction, under an advisory lock.
    func transaction(
        lock: Int,
        _ body: (PostgresConnection, Deadline) throws(PostgresFailure) -> Void
    ) throws(LogFailure) {
        try self.use { (connection) throws(PostgresFailure) in
            let deadline = Deadline(after: .seconds(Self.transactionSeconds))
            try connection.run("BEGIN; SELECT pg_advisory_xact_lock(\(lock))", until: deadline)
            do throws(PostgresFailure) {
                try body(connection, deadline)
                try connection.run("COMMIT", until: deadline)
            } catch {
                if case .lost = error { throw error }
                try connection.run("ROLLBACK", until: deadline)
                throw error
            }
        }
    }

    /// What the server said when the session began. Connects if it must.
    func server() throws(LogFailure) -> PostgresServerFacts {
        try self.use { (connection) throws(PostgresFailure) in connection.server }
    }

    /// Ends the session; the next statement begins another.
    func close() { self.state.withLock { $0.connection = nil } }

    private func use<Result: Sendable>(
        _ body: (PostgresConnection) throws(PostgresFailure) -> Result
    ) throws(LogFailure) -> Result {
        try self.state.withLock { (state) throws(LogFailure) in
            do throws(PostgresFailure) {
                // A server that was restarted since the last statement has ended the session.
                if let connection = state.connection, !connection.isAlive() { state.connection = nil }
                if let connection = state.connection { return try body(connection) }
                let connection = try state.connector.connect()
                state.connection = connection
                return try body(connection)
            } catch {
                if case .lost = error { state.connection = nil }
                throw error.logFailure
            }
        }
    }
}

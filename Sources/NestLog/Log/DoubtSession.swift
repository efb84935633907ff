import NestStore
import Synchronization

/// Writes whether a node was ahead of the log, which a failover must not lose. Its session lasts until the synchronous
/// standby has confirmed that.
///
/// The row is written without a wait for the standby, because the wait would lock it. What waits is a commit behind it.
final class DoubtSession: Sendable {
    private struct State {
        var connector: PostgresConnector
        var connection: PostgresConnection?
        /// A commit was sent and is not answered. Its session is kept, so that repeated calls wait for one only.
        var isWaiting = false

        mutating func drop() {
            self.connection = nil
            self.isWaiting = false
        }
    }

    private let state: Mutex<State>

    private static let answerTime = Duration.seconds(5)

    init(_ address: PostgresAddress) {
        self.state = Mutex(State(connector: PostgresConnector(address, commit: .here, pauseMax: .seconds(1))))
    }

    /// Throws `unavailable` if the standby has not confirmed it in time: then call again.
    func set(_ doubt: Bool, of store: Int64) throws(LogFailure) {
        try self.state.withLock { (state) throws(LogFailure) in
            let isConfirmed: Bool
            do throws(PostgresFailure) {
                isConfirmed = try Self.set(doubt, of: store, &state)
            } catch {
                state.drop()
                throw error.logFailure
            }
            guard isConfirmed else { throw .unavailable("PostgreSQL waits for its standby") }
            state.drop()
        }
    }

    private static func set(_ doubt: Bool, of store: Int64, _ state: inout State) throws(PostgresFailure) -> Bool {
        let deadline = Deadline(after: Self.answerTime)
        if let connection = state.connection, !connection.isAlive() { state.drop() }
        let connection: PostgresConnection
        if let open = state.connection { connection = open } else { connection = try state.connector.connect() }
        state.connection = connection
        if state.isWaiting {
            // It may have been sent for another value.
            guard try connection.result(until: deadline) != nil else { return false }
            state.isWaiting = false
        }
        try connection.perform(Self.update, [.long(store), .bool(doubt)], until: deadline)
        try connection.send(Self.confirmation)
        state.isWaiting = true
        guard let result = try connection.result(until: deadline) else { return false }
        state.isWaiting = false
        // With a warning: an operator has cancelled the wait for the standby.
        return !result.hasWarning
    }

    /// Ends the session.
    func close() { self.state.withLock { $0.drop() } }

    private static let update = PostgresStatement(
        "doubt",
        [.long, .bool],
        "UPDATE nest.store SET doubt = $2 WHERE store = $1"
    )

    /// A commit behind the row, which the standby must have; see `LogStatements.barrier`.
    private static let confirmation = """
        BEGIN; SET LOCAL synchronous_commit = on; SELECT pg_logical_emit_message(true, 'nest', ''); COMMIT
        """
}

import GRDBSQLite
import NIOConcurrencyHelpers

/// Ends the writer's work early: the transaction under way is rolled back, and no other begins.
///
/// Any thread may raise it, once. The thread that writes looks at it as it works; a statement or checkpoint that SQLite
/// is in the middle of is interrupted.
package final class StopSignal: Sendable {
    private struct State {
        var isRaised = false
        /// The writer's connection, as long as it is open.
        var connection: UInt = 0
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    package var isRaised: Bool { self.state.withLockedValue { $0.isRaised } }

    package func raise() {
        self.state.withLockedValue { state in
            state.isRaised = true
            // Under the lock: the connection cannot be closed meanwhile.
            if let handle = OpaquePointer(bitPattern: state.connection) { sqlite3_interrupt(handle) }
        }
    }

    func attach(_ handle: OpaquePointer?) {
        self.state.withLockedValue { $0.connection = UInt(bitPattern: handle) }
    }

    /// Call it before the connection is closed.
    func detach() {
        self.state.withLockedValue { $0.connection = 0 }
    }
}

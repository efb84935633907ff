import GRDBSQLite
import NIOConcurrencyHelpers

/// Ends the writer's work early: the open transaction is rolled back, and no new one begins.
///
/// Any thread may raise it, once. The writing thread checks it while it works; a running statement or checkpoint is
/// interrupted.
package final class StopSignal: Sendable {
    private struct State {
        var isRaised = false
        /// The writer's connection while it is open, otherwise 0.
        var connection: UInt = 0
    }

    private let state = NIOLockedValueBox(State())

    package init() {}

    package var isRaised: Bool { self.state.withLockedValue { $0.isRaised } }

    package func raise() {
        self.state.withLockedValue { state in
            state.isRaised = true
            // Under the lock, so that the connection cannot be closed at the same time.
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

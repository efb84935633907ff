import GRDBSQLite
import NIOConcurrencyHelpers
import Synchronization

/// Ends the writer's work early: the open transaction is rolled back, and no new one begins.
///
/// Any thread may raise it, once. The writing thread checks it while it works; a running statement or checkpoint is
/// interrupted.
package final class StopSignal: Sendable {
    /// Apart from the lock, because every request asks for it.
    private let raised = Atomic(false)
    /// The writer's connection while it is open, otherwise 0.
    private let connection = NIOLockedValueBox<UInt>(0)

    package init() {}

    package var isRaised: Bool { self.raised.load(ordering: .acquiring) }

    package func raise() {
        self.raised.store(true, ordering: .releasing)
        self.connection.withLockedValue { connection in
            // Under the lock, so that the connection cannot be closed at the same time.
            if let handle = OpaquePointer(bitPattern: connection) { sqlite3_interrupt(handle) }
        }
    }

    func attach(_ handle: OpaquePointer?) {
        self.connection.withLockedValue { $0 = UInt(bitPattern: handle) }
    }

    /// Call it before the connection is closed.
    func detach() {
        self.connection.withLockedValue { $0 = 0 }
    }
}

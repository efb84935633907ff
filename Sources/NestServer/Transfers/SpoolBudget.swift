import NIOConcurrencyHelpers
import NestModel

/// The bytes that all transfers of the server may hold in their spool files.
package final class SpoolBudget: Sendable {
    private let state: NIOLockedValueBox<(max: Int, used: Int)>

    package init(bytesMax: Int) {
        self.state = NIOLockedValueBox((bytesMax, 0))
    }

    package var byteCount: Int { self.state.withLockedValue { $0.used } }

    /// The maximum. Lowering it does not release bytes that are held already.
    package var bytesMax: Int {
        get { self.state.withLockedValue { $0.max } }
        set { self.state.withLockedValue { $0.max = newValue } }
    }

    fileprivate func take(_ bytes: Int) -> Bool {
        self.state.withLockedValue { state in
            guard bytes <= state.max - state.used else { return false }
            state.used += bytes
            return true
        }
    }

    fileprivate func giveBack(_ bytes: Int) {
        self.state.withLockedValue { $0.used -= bytes }
    }
}

/// The share of the budget that one transfer holds until it is released.
package final class SpoolReservation: Sendable {
    private let budget: SpoolBudget
    private let held = NIOLockedValueBox(0)

    package init(_ budget: SpoolBudget) {
        self.budget = budget
    }

    deinit {
        self.budget.giveBack(self.held.withLockedValue { $0 })
    }

    package func take(_ bytes: Int) throws(NestError) {
        guard self.budget.take(bytes) else {
            throw NestError(.busy, "the server's transfers hold their maximum number of bytes: try again later")
        }
        self.held.withLockedValue { $0 += bytes }
    }
}

import NIOConcurrencyHelpers
import NestModel

/// The bytes that transfers of the whole server may hold in their spool files.
package final class SpoolBudget: Sendable {
    private let state: NIOLockedValueBox<(max: Int, used: Int)>

    package init(bytesMax: Int) {
        self.state = NIOLockedValueBox((bytesMax, 0))
    }

    package var byteCount: Int { self.state.withLockedValue { $0.used } }

    /// What is held already stays held when it becomes less.
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

/// What one transfer holds of the budget, given back when the transfer is gone.
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
            throw NestError(.busy, "the server's transfers hold as many bytes as they may: try again later")
        }
        self.held.withLockedValue { $0 += bytes }
    }
}

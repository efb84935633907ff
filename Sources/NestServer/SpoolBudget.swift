import NIOConcurrencyHelpers
import NestModel

/// The bytes that transfers of the whole server may hold in their spool files.
package final class SpoolBudget: Sendable {
    private let max: Int
    private let used = NIOLockedValueBox(0)

    package init(bytesMax: Int) {
        self.max = bytesMax
    }

    package var byteCount: Int { self.used.withLockedValue { $0 } }

    fileprivate func take(_ bytes: Int) -> Bool {
        self.used.withLockedValue { used in
            guard bytes <= self.max - used else { return false }
            used += bytes
            return true
        }
    }

    fileprivate func giveBack(_ bytes: Int) {
        self.used.withLockedValue { $0 -= bytes }
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

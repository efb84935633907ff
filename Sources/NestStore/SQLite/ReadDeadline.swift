import GRDBSQLite
import NestModel

/// The conditions under which a read transaction must end: while it is open, the write-ahead log cannot be reset. The
/// reading thread checks them regularly; the caller, which has a clock, provides them.
package struct ReadDeadline: Sendable {
    /// Whether the client has left. Once true it stays true.
    package let isCancelled: @Sendable () -> Bool
    /// Whether the transaction has lasted for the longest time allowed. Once true it stays true.
    package let isLate: @Sendable () -> Bool

    package init(isCancelled: @escaping @Sendable () -> Bool, isLate: @escaping @Sendable () -> Bool) {
        self.isCancelled = isCancelled
        self.isLate = isLate
    }

    /// No deadline.
    package static let none = ReadDeadline(isCancelled: { false }, isLate: { false })

    var isOver: Bool { self.isCancelled() || self.isLate() }

    /// Throws the error of the read if it must end. For work between two rows, of which SQLite knows nothing.
    package func check() throws(StoreError) {
        guard self.isOver else { return }
        throw self.reason(Self.advice)
    }

    /// What a client can do instead of a read that takes too long.
    static let advice = "request less data"

    /// Returns the error of a read that was ended. `advice`: what the client can do instead of a read that takes too
    /// long.
    func reason(_ advice: String) -> StoreError {
        self.isCancelled()
            ? .refused(.cancelled, "the client has left")
            : .refused(.limitExceeded, "the read takes too long at one revision: \(advice)")
    }
}

extension Connection {
    /// The number of SQLite's instructions between two checks of the deadline.
    private static let instructionsBetweenChecks: Int32 = 10_000

    private final class DeadlineBox {
        let deadline: ReadDeadline

        init(_ deadline: ReadDeadline) {
            self.deadline = deadline
        }
    }

    /// Runs statements, and interrupts them soon after the deadline with the error of the deadline. SQLite before 3.41
    /// does not check the deadline during the first step of an integrity check.
    func limited<Result>(
        by deadline: ReadDeadline,
        _ advice: String,
        _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let box = DeadlineBox(deadline)
        let handler: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { box in
            Unmanaged<DeadlineBox>.fromOpaque(box!).takeUnretainedValue().deadline.isOver ? 1 : 0
        }
        let context = Unmanaged.passUnretained(box).toOpaque()
        sqlite3_progress_handler(self.handle, Self.instructionsBetweenChecks, handler, context)
        defer {
            sqlite3_progress_handler(self.handle, 0, nil, nil)
            withExtendedLifetime(box) {}
        }
        guard !deadline.isOver else { throw deadline.reason(advice) }
        do throws(StoreError) {
            return try body()
        } catch {
            guard case .sqlite(let code, _) = error, code & 0xff == SQLITE_INTERRUPT else { throw error }
            throw deadline.reason(advice)
        }
    }
}

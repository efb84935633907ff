import GRDBSQLite
import NestModel

/// When a read transaction must end: while it is open, the write-ahead log cannot be reset. The reading thread checks
/// it again and again; the caller, who has a clock, makes it.
package struct ReadDeadline: Sendable {
    /// The client has left. Stays true.
    package let isCancelled: @Sendable () -> Bool
    /// The transaction has lasted as long as one may. Stays true.
    package let isLate: @Sendable () -> Bool

    package init(isCancelled: @escaping @Sendable () -> Bool, isLate: @escaping @Sendable () -> Bool) {
        self.isCancelled = isCancelled
        self.isLate = isLate
    }

    /// Lets the work take its time.
    package static let none = ReadDeadline(isCancelled: { false }, isLate: { false })

    var isOver: Bool { self.isCancelled() || self.isLate() }

    /// Why the read ended. `advice`: what the client can do instead of a read that takes too long.
    func reason(_ advice: String) -> StoreError {
        self.isCancelled()
            ? .refused(.cancelled, "the client has left")
            : .refused(.limitExceeded, "takes too long to read at one revision: \(advice)")
    }
}

extension Connection {
    /// SQLite's instructions between two looks.
    private static let instructionsBetweenLooks: Int32 = 10_000

    private final class Looker {
        let deadline: ReadDeadline

        init(_ deadline: ReadDeadline) {
            self.deadline = deadline
        }
    }

    /// Runs statements, and ends them soon after the deadline, with its reason. SQLite before 3.41 does not check it
    /// during the first step of an integrity check.
    func limited<Result>(
        by deadline: ReadDeadline,
        _ advice: String,
        _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let looker = Looker(deadline)
        let handler: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { looker in
            Unmanaged<Looker>.fromOpaque(looker!).takeUnretainedValue().deadline.isOver ? 1 : 0
        }
        let looking = Unmanaged.passUnretained(looker).toOpaque()
        sqlite3_progress_handler(self.handle, Self.instructionsBetweenLooks, handler, looking)
        defer {
            sqlite3_progress_handler(self.handle, 0, nil, nil)
            withExtendedLifetime(looker) {}
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

import GRDBSQLite
import NestModel

/// Says when work in one read transaction has to end: such a transaction keeps the write-ahead log from being reset. Asked again
/// and again, from the thread that reads; made by whoever has a clock.
package struct ReadWatch: Sendable {
    /// Nobody waits for it any more. Stays true.
    package let isCancelled: @Sendable () -> Bool
    /// The transaction has lasted as long as one may. Stays true.
    package let isLate: @Sendable () -> Bool

    package init(isCancelled: @escaping @Sendable () -> Bool, isLate: @escaping @Sendable () -> Bool) {
        self.isCancelled = isCancelled
        self.isLate = isLate
    }

    /// Lets the work take its time.
    package static let none = ReadWatch(isCancelled: { false }, isLate: { false })

    var isOver: Bool { self.isCancelled() || self.isLate() }

    /// Why work was ended. `advice`: what else can be done by who asked for what takes too long.
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
        let watch: ReadWatch

        init(_ watch: ReadWatch) {
            self.watch = watch
        }
    }

    /// Runs statements that end soon after `watch` has said so, with its reason. SQLite before 3.41 looks at the structure of
    /// all pages (the first step of a check) without asking.
    func watched<Result>(
        by watch: ReadWatch,
        _ advice: String,
        _ body: () throws(StoreError) -> Result
    ) throws(StoreError) -> Result {
        let looker = Looker(watch)
        let handler: @convention(c) (UnsafeMutableRawPointer?) -> Int32 = { looker in
            Unmanaged<Looker>.fromOpaque(looker!).takeUnretainedValue().watch.isOver ? 1 : 0
        }
        let looking = Unmanaged.passUnretained(looker).toOpaque()
        sqlite3_progress_handler(self.handle, Self.instructionsBetweenLooks, handler, looking)
        defer {
            sqlite3_progress_handler(self.handle, 0, nil, nil)
            withExtendedLifetime(looker) {}
        }
        guard !watch.isOver else { throw watch.reason(advice) }
        do throws(StoreError) {
            return try body()
        } catch {
            guard case .sqlite(let code, _) = error, code & 0xff == SQLITE_INTERRUPT else { throw error }
            throw watch.reason(advice)
        }
    }
}
